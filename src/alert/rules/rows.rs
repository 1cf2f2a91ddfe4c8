//! The state of a VM, a container or a site, as each kind of incident judges it. Pure.

use std::time::Duration;

use crate::alert::finding::{Value, Verdict};
use crate::alert::kind::Kind;
use crate::alert::settings::AlertSettings;
use crate::model::{Container, ContainerState, Site, SiteState, Stated, Vm, VmState};

/// A VM that is restarted is stopped for a while.
const STOPPED_FOR: Duration = Duration::from_secs(10 * 60);

/// A site is backed up and restored for longer than other passing states last.
const BACKUP_MAY_TAKE: Duration = Duration::from_secs(6 * 3600);

/// A row that rules judge.
pub(super) trait Watched: Stated {
    const KINDS: &'static [Kind];
    fn verdict(&self, kind: Kind, settings: &AlertSettings) -> Verdict;
}

impl Watched for Vm {
    const KINDS: &'static [Kind] = &[Kind::VmError, Kind::VmBlocked, Kind::VmStopped, Kind::VmStuck];

    #[allow(clippy::wildcard_enum_match_arm)] // only its own kinds are asked for
    fn verdict(&self, kind: Kind, settings: &AlertSettings) -> Verdict {
        use VmState as S;
        let now = |bad: bool, good: bool| pick(bad, good, Duration::ZERO, "");
        match kind {
            Kind::VmError => now(self.state == S::Error, matches!(self.state, S::Active | S::Stopped)),
            Kind::VmBlocked => now(self.state == S::Blocked, matches!(self.state, S::Active | S::Stopped)),
            Kind::VmStopped => {
                pick(self.state == S::Stopped, self.state == S::Active, STOPPED_FOR, self.state.as_str())
            }
            Kind::VmStuck => pick(
                matches!(self.state, S::Pending | S::Building),
                self.state.is_known(),
                settings.stuck_after,
                self.state.as_str(),
            ),
            _ => Verdict::Frozen,
        }
    }
}

impl Watched for Container {
    const KINDS: &'static [Kind] = &[Kind::ContainerDisabled];

    fn verdict(&self, _kind: Kind, _settings: &AlertSettings) -> Verdict {
        let good = self.state == ContainerState::Enabled;
        pick(!good && self.state.is_known(), good, Duration::ZERO, self.state.as_str())
    }
}

impl Watched for Site {
    const KINDS: &'static [Kind] = &[Kind::SiteError, Kind::SiteBlocked, Kind::SiteStuck];

    #[allow(clippy::wildcard_enum_match_arm)] // only its own kinds are asked for
    fn verdict(&self, kind: Kind, settings: &AlertSettings) -> Verdict {
        use SiteState as S;
        let right = matches!(self.state, S::Active | S::Stopped);
        let blocked = matches!(self.state, S::StoppedByAdmin | S::StoppedByService | S::StoppedByQuota);
        match kind {
            Kind::SiteError => pick(self.state == S::Error, right, Duration::ZERO, ""),
            Kind::SiteBlocked => pick(blocked, right, Duration::ZERO, ""),
            Kind::SiteStuck => {
                let backup = matches!(self.state, S::Backuping | S::Restoring);
                let hold = settings.stuck_after.max(if backup { BACKUP_MAY_TAKE } else { Duration::ZERO });
                let passing = backup
                    || matches!(
                        self.state,
                        S::Building | S::Starting | S::Stopping | S::Restarting | S::Updating
                    );
                pick(passing, self.state.is_known(), hold, self.state.as_str())
            }
            _ => Verdict::Frozen,
        }
    }
}

fn pick(bad: bool, good: bool, hold: Duration, held: &str) -> Verdict {
    match (bad, good) {
        (true, _) if held.is_empty() => Verdict::Bad { hold, value: Value::None },
        (true, _) => Verdict::Bad { hold, value: Value::State(held.to_owned()) },
        (false, true) => Verdict::Good,
        (false, false) => Verdict::Frozen,
    }
}
