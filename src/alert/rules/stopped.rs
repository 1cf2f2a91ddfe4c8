//! A container whose sites the service stopped, all of them: one incident of the container. Pure.

use std::time::Duration;

use super::{Judge, clean, name_of};
use crate::alert::finding::{Finding, Value, Verdict};
use crate::alert::key::Key;
use crate::alert::kind::Kind;
use crate::alert::subject::{Detail, Subject};
use crate::model::{ContainerId, ContainerState, Seen, Site, SiteState, Sort};

impl Judge<'_> {
    /// The finding about a container's sites: it begins when every site is stopped and ends when one is right again.
    pub(super) fn stopped_sites(&self, container: ContainerId, seen: &Seen) -> Option<Finding> {
        let row = self.state.containers.get(container)?;
        let listing = self.state.sites.get(&container).filter(|listing| listing.complete)?;
        if is_disabled(&row.state) {
            // The container's own state shows it.
            return None;
        }
        let kind = Kind::ContainerDisabled;
        let key = Key::new(&self.state.profile.name, kind, container.get());
        let held = self.open.get(&key).filter(|known| known.goes_on() && known.is_held_by_sites());
        let is_stopped =
            |site: &&Site| site.state == SiteState::StoppedByService && seen.shown.contains(&site.id.get());
        let (stopped, sites) = (listing.rows.iter().filter(is_stopped).count(), listing.rows.len());
        let all = stopped > 0 && stopped == sites;
        let is_right = |site: &Site| matches!(site.state, SiteState::Active | SiteState::Stopped);
        let is_back = stopped == 0 || listing.rows.iter().any(is_right);
        let name = name_of(row.name.as_deref(), container);
        let (verdict, detail) = match held {
            Some(held) if is_back || (!all && !held.explains()) => (Verdict::Good, Detail::SitesBack),
            Some(_) | None if !self.settings.wants(kind, &name) => return None,
            None if !all => return None,
            Some(_) | None => {
                let bad = Verdict::Bad { hold: Duration::ZERO, value: Value::SitesStopped };
                let unnamed = Some(&row.state).filter(|state| !state.is_known());
                let unnamed = unnamed.map(|state| clean(state.as_str(), 40));
                (bad, Detail::SitesStopped { stopped, sites, unnamed })
            }
        };
        let subject = Subject::Resource { sort: Sort::Container, name: clean(&name, 60) };
        Some(Finding { key, verdict, subject, detail })
    }
}

fn is_disabled(state: &ContainerState) -> bool {
    use ContainerState as S;
    matches!(state, S::DisabledByService | S::DisabledByAdmin | S::DisabledByQuota)
}
