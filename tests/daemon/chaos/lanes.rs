//! Carries out a lane's acts, one step at each sample.

use std::time::{Duration, Instant};

use hostwatch_sim::{Command, Fault};

use super::lives::{family, life};
use super::money::money;
use super::operator::operator;
use super::script::{Act, Lane};
use super::weather::{fault, mail};
use super::world::{Page, World};

/// No act takes longer. A group whose credentials were refused five times is asked once in five minutes.
const PATIENCE: Duration = Duration::from_secs(420);

/// A lane on its way.
pub struct Runner {
    lane: Lane,
    next: usize,
    doing: Option<Box<dyn Doing>>,
    /// The end of the last step, or the beginning of this one.
    since: Instant,
}

/// An act that is under way.
pub trait Doing {
    /// Continues as far as possible; true once it is over.
    fn go(&mut self, world: &mut World, page: Option<&Page>) -> bool;
}

impl Runner {
    pub fn new(lane: Lane) -> Self {
        Self { lane, next: 0, doing: None, since: Instant::now() }
    }

    /// A lane of one act that starts now.
    pub fn once(name: &str, account: usize, act: Act) -> Self {
        let step = super::script::Step { pause: Duration::ZERO, act };
        Self::new(Lane { name: name.to_owned(), account, steps: vec![step] })
    }

    /// False once there are no more acts.
    pub fn go(&mut self, world: &mut World, page: Option<&Page>, more: bool) -> bool {
        let name = &self.lane.name;
        if self.doing.is_none() {
            let Some(step) = self.lane.steps.get(self.next).filter(|_| more) else { return false };
            if self.since.elapsed() < step.pause {
                return true;
            }
            world.note(&format!("{name} #{}: {:?}", self.next, step.act));
            self.doing = Some(begin(&step.act, self.lane.account, name));
            self.since = Instant::now();
        }
        let done = self.doing.as_mut().is_some_and(|doing| doing.go(world, page));
        if done {
            world.note(&format!("{name} #{} is over", self.next));
            (self.doing, self.since) = (None, Instant::now());
            self.next += 1;
        }
        assert!(self.since.elapsed() < PATIENCE, "{name} #{} is not over after {PATIENCE:?}", self.next);
        true
    }
}

fn begin(act: &Act, account: usize, lane: &str) -> Box<dyn Doing> {
    match act.clone() {
        Act::Life(of) => life(account, of),
        Act::Family(of) => family(account, of),
        Act::Money(of) => money(account, of),
        Act::Fault { fault: of, hold } => {
            let named = Fault { name: Some(lane.to_owned()), ..of };
            fault(account, Some(named), hold)
        }
        Act::ReportError { hold } => fault(account, None, hold),
        Act::Mail { .. } | Act::MailServerAway { .. } => mail(act.clone()),
        Act::Operator(of) => operator(of),
    }
}

pub fn is_past(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

/// Sends a command to an account's provider.
pub fn control(world: &World, account: usize, name: &str, body: &serde_json::Value) {
    let command = Command::parse(name, body.to_string().as_bytes()).unwrap();
    world.accounts[account].provider.simulator.control(&command).unwrap();
}
