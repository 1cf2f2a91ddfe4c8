//! Acts on the daemon: signals and reloads.

use std::time::{Duration, Instant};

use super::lanes::{Doing, is_past};
use super::script::{ACCOUNTS, Operator};
use super::world::{Page, World};

/// The wait for a step on the way to "sent".
const REACHES_WITHIN: Duration = Duration::from_secs(5);

/// An act on the daemon.
pub fn operator(operator: Operator) -> Box<dyn Doing> {
    Box::new(OperatorRun { operator, phase: 0, until: None })
}

struct OperatorRun {
    operator: Operator,
    phase: u32,
    until: Option<Instant>,
}

impl OperatorRun {
    fn after(&mut self, time: Duration) -> bool {
        self.until = Some(Instant::now() + time);
        self.phase += 1;
        false
    }

    /// Waits while it is down, and starts it once the time is over.
    fn comes_back(&self, world: &mut World) -> bool {
        let back = is_past(self.until);
        if back {
            world.start();
        }
        back
    }

    fn reload(world: &mut World, accounts: &[&str], extra: &str) {
        world.configure(accounts, extra);
        world.daemon.signal("HUP");
    }
}

const RELOADED: &str = "hostwatch_config_last_reload_successful";

impl Doing for OperatorRun {
    fn go(&mut self, world: &mut World, page: Option<&Page>) -> bool {
        match (self.operator.clone(), self.phase) {
            (Operator::Kill { away }, 0) => {
                world.count("SIGKILL at any moment");
                world.kill();
                self.after(away)
            }
            (Operator::KillAt { point, .. }, 0) => {
                world.daemon.arm(point);
                self.after(REACHES_WITHIN)
            }
            (Operator::KillAt { point, away }, 1) => {
                let file = world.daemon.directory.path().join("failpoint");
                let reached =
                    std::fs::read_to_string(file).is_ok_and(|text| text == format!("reached {point}"));
                if !reached && !is_past(self.until) {
                    return false;
                }
                world.count(&format!("SIGKILL at {}", if reached { point } else { "any moment" }));
                world.kill();
                self.after(away)
            }
            (Operator::KillTwice { between }, 0) => {
                world.count("SIGKILL at any moment");
                world.kill();
                world.start();
                self.after(between)
            }
            (Operator::KillTwice { .. }, 1) => {
                if is_past(self.until) {
                    world.count("SIGKILL just after the start");
                    world.kill();
                    return self.after(Duration::ZERO);
                }
                false
            }
            (Operator::Restart { away }, 0) => {
                world.count("SIGTERM");
                world.stop();
                self.after(away)
            }
            (
                Operator::Kill { .. }
                | Operator::KillAt { .. }
                | Operator::KillTwice { .. }
                | Operator::Restart { .. },
                _,
            ) => self.comes_back(world),
            (Operator::WithoutAccount { .. }, 0) => {
                world.count("reload without an account");
                let now = world.now();
                world.history.away.push(now);
                Self::reload(world, &ACCOUNTS[..1], "");
                self.after(Duration::ZERO)
            }
            (Operator::WithoutAccount { hold }, 1) => {
                let gone = |page: &&Page| !page.begins("hosting_account_info{account=\"beta\"");
                if page.filter(gone).is_some() { self.after(hold) } else { false }
            }
            (Operator::Broken { .. }, 0) => {
                world.count("reload of what is wrong");
                Self::reload(world, &ACCOUNTS, "nonsense = 1");
                self.after(Duration::ZERO)
            }
            (Operator::Broken { hold }, 1) => {
                let refused = |page: &&Page| page.has(&format!("{RELOADED} 0"));
                if page.filter(refused).is_some() { self.after(hold) } else { false }
            }
            (Operator::WithoutAccount { .. } | Operator::Broken { .. }, 2) => {
                if is_past(self.until) {
                    Self::reload(world, &ACCOUNTS, "");
                    return self.after(Duration::ZERO);
                }
                false
            }
            (Operator::WithoutAccount { .. } | Operator::Broken { .. }, _) => {
                let whole = |page: &&Page| {
                    page.has(&format!("{RELOADED} 1")) && page.begins("hosting_account_info{account=\"beta\"")
                };
                page.filter(whole).is_some()
            }
            (Operator::Changed, 0) => {
                world.count("reload of another schedule");
                Self::reload(world, &ACCOUNTS, "[alerts]\nstuck_after = \"31m\"");
                self.after(Duration::from_millis(500))
            }
            (Operator::Changed, 1) => {
                if is_past(self.until) {
                    Self::reload(world, &ACCOUNTS, "");
                    return self.after(Duration::from_millis(500));
                }
                false
            }
            (Operator::Changed, _) => is_past(self.until),
        }
    }
}
