//! A container all of whose sites the service stopped: one incident of that container. Pure.

use std::time::Duration;

use super::{Finding, Judge, Verdict, clean};
use crate::alert::incident::Phase;
use crate::alert::key::{Key, Sort};
use crate::alert::kind::Kind;
use crate::model::{ContainerId, ContainerState, Seen, Site, SiteState};

/// What holds a container's incident open where its sites show that it is off, and not its own state.
pub(crate) const SITES_STOPPED: &str = "StoppedByService";

impl Judge<'_> {
    /// Begins when every site is stopped, ends when none is.
    pub(super) fn stopped_sites(&self, container: ContainerId, seen: &Seen) -> Option<Finding> {
        let row = self.state.containers.get(container)?;
        let listing = self.state.sites.get(&container).filter(|listing| listing.complete)?;
        if is_disabled(&row.state) {
            // Its own listing says so.
            return None;
        }
        let key = Key::new(&self.state.profile.name, Kind::ContainerDisabled, container.get());
        let known = self.open.get(&key);
        let known = known.filter(|known| known.phase.is_open() || known.phase == Phase::Pending);
        let held = known.filter(|known| known.held == SITES_STOPPED);
        let is_stopped =
            |site: &&Site| site.state == SiteState::StoppedByService && seen.shown.has(site.id.get());
        let (stopped, sites) = (listing.rows.iter().filter(is_stopped).count(), listing.rows.len());
        let all = stopped > 0 && stopped == sites;
        let name = row.name.as_deref().map_or_else(|| container.to_string(), str::to_owned);
        let (verdict, detail) = match held {
            Some(held) if stopped == 0 || (!all && !held.explains()) => {
                (Verdict::Good, "its sites are no longer stopped by the service".to_owned())
            }
            None if !all || known.is_some() || !self.wants_container(&name) => return None,
            Some(_) | None => {
                let bad = Verdict::Bad { hold: Duration::ZERO, held: SITES_STOPPED.to_owned() };
                let unnamed = Some(&row.state).filter(|state| !state.is_known());
                let unnamed = unnamed.map_or_else(String::new, |state| {
                    let state = clean(state.as_str(), 40);
                    format!("; its own state \"{state}\" has no name in container_states")
                });
                (bad, format!("{stopped} of its {sites} sites are {SITES_STOPPED}{unnamed}"))
            }
        };
        let subject = format!("{} {}", Sort::Container.noun(), clean(&name, 60));
        Some(Finding { key, verdict, subject, detail })
    }

    /// Is a container off, as its sites show, whose own state has no name?
    pub(super) fn is_off_in_unnamed_state(&self) -> bool {
        self.open_of(&[Kind::ContainerDisabled]).any(|incident| {
            let row = incident.key.id().and_then(|id| self.state.containers.get(id.into()));
            incident.held == SITES_STOPPED && row.is_some_and(|row| !row.state.is_known())
        })
    }

    fn wants_container(&self, name: &str) -> bool {
        let kind = Kind::ContainerDisabled;
        self.settings.enabled(kind) && self.settings.covers(kind, name)
    }
}

fn is_disabled(state: &ContainerState) -> bool {
    use ContainerState as S;
    matches!(state, S::DisabledByService | S::DisabledByAdmin | S::DisabledByQuota)
}
