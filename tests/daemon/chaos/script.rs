//! From a seed to a timetable: lanes that run side by side, each a row of acts with pauses. The daemon decides
//! how long an act takes, since many acts wait until it has seen their effect. The acts, their order and the
//! pauses depend on the seed alone.

use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use hostwatch_sim::{Fault, FaultKind};

use crate::common::smtp::{Act as Reply, Stage};

pub const ACCOUNTS: [&str; 2] = ["alpha", "beta"];
/// The number of resources of an account that break and recover at the same time.
const LIVES_AT_ONCE: usize = 4;

/// Acts that run at the same time as other lanes.
#[derive(Debug)]
pub struct Lane {
    pub name: String,
    /// The account of the lane, if it has one.
    pub account: usize,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub struct Step {
    /// The pause after the end of the step before.
    pub pause: Duration,
    pub act: Act,
}

#[derive(Clone, Debug)]
pub enum Act {
    Life(Life),
    Family(Family),
    Money(Money),
    Fault { fault: Fault, hold: Duration },
    ReportError { hold: Duration },
    Mail { stage: Stage, reply: Reply, to: &'static str, times: usize, hold: Duration },
    MailServerAway { hold: Duration },
    Operator(Operator),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Vm,
    Site,
    Container,
}

/// A resource breaks, once or several times, and recovers or vanishes.
#[derive(Clone, Debug)]
pub struct Life {
    pub sort: Sort,
    pub bad: &'static str,
    pub episodes: Vec<Episode>,
    /// Whether it is removed while it is wrong, in the last episode.
    pub vanishes: bool,
}

#[derive(Clone, Debug)]
pub enum Episode {
    /// Wrong until the daemon has seen it, and this much longer; then right until that was seen.
    Held(Duration),
    /// Wrong for this long, seen or not; then right until that was seen.
    Glimpse(Duration),
}

/// A container and its sites break: one mail has all of them.
#[derive(Clone, Debug)]
pub struct Family {
    pub hold: Duration,
    /// Whether the container recovers before its sites, which are then mailed themselves.
    pub cause_ends_first: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Money {
    /// The balance lasts for this number of days, and not for one more.
    Lasts(u32),
    /// The balance lasts longer than the report covers.
    Plenty,
    /// The balance is below zero until everything is off and that was seen; then there is plenty.
    CutOff,
    Suspended(Duration),
}

#[derive(Clone, Debug)]
pub enum Operator {
    /// SIGKILL, and a start after a pause.
    Kill { away: Duration },
    /// SIGKILL at a step on the way to "sent" (src/failpoint.rs), or after five seconds without it.
    KillAt { point: &'static str, away: Duration },
    /// SIGKILL, a start, and SIGKILL again before its first poll.
    KillTwice { between: Duration },
    /// SIGTERM and a start.
    Restart { away: Duration },
    /// A reload without the second account, and one with it.
    WithoutAccount { hold: Duration },
    /// A reload of a broken file, and one of a good file.
    Broken { hold: Duration },
    /// A reload that changes a limit of calls.
    Changed,
}

/// The steps from a reading to "sent". tests/daemon/crash.rs compares them with the code.
const POINTS: [&str; 12] = [
    "reading-applied",
    "decided",
    "committing",
    "committed",
    "claimed",
    "connected",
    "sender-taken",
    "recipient-taken",
    "before-dot",
    "dot-written",
    "replied",
    "recorded",
];

/// The whole plan of a seed.
#[derive(Debug)]
pub struct Script {
    pub seed: u64,
    pub seconds: u64,
    pub lanes: Vec<Lane>,
}

impl Script {
    pub fn new(seed: u64, seconds: u64) -> Self {
        let mut lanes = Vec::new();
        let mut add = |name: String, account: usize, make: &dyn Fn(&mut Rng) -> (f64, Act)| {
            // A lane does not depend on the number of lanes.
            let salt = name.bytes().fold(seed, |sum, byte| sum.wrapping_mul(1_000_003) ^ u64::from(byte));
            let mut rng = Rng::with_seed(salt);
            // No lane can use more: each step takes longer than half a second.
            let steps = (0..seconds * 2).map(|_| {
                let (pause, act) = make(&mut rng);
                Step { pause: Duration::from_secs_f64(pause), act }
            });
            let steps = steps.collect();
            lanes.push(Lane { name, account, steps });
        };
        let long = seconds >= 120;
        for (account, name) in ACCOUNTS.iter().enumerate() {
            for lane in 0..LIVES_AT_ONCE {
                add(format!("{name}/life-{lane}"), account, &|rng| (between(rng, 0.0, 2.0), life(rng)));
            }
            add(format!("{name}/family"), account, &|rng| (between(rng, 20.0, 60.0), family(rng)));
            add(format!("{name}/money"), account, &|rng| (between(rng, 0.5, 6.0), money(rng, long)));
            for group in ["vm", "hosting", "billing"] {
                add(format!("{name}/faults-{group}"), account, &|rng| {
                    (between(rng, 2.5, 7.0), fault(rng, group, long))
                });
            }
        }
        add("mail".to_owned(), 0, &|rng| (between(rng, 0.5, 5.0), mail(rng, long)));
        add("operator".to_owned(), 0, &|rng| (between(rng, 1.0, 8.0), operator(rng)));
        Self { seed, seconds, lanes }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HOSTWATCH_CHAOS_SEED={} HOSTWATCH_CHAOS_SECONDS={}", self.seed, self.seconds)
    }
}

fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least + (most - least) * rng.f64()
}

fn span(rng: &mut Rng, least: f64, most: f64) -> Duration {
    Duration::from_secs_f64(between(rng, least, most))
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

fn life(rng: &mut Rng) -> Act {
    let (sort, bad) = match rng.u32(0..100) {
        0..45 => (Sort::Vm, pick(rng, &["error", "error", "blocked"])),
        45..95 => (Sort::Site, pick(rng, &["Error", "Error", "StoppedByAdmin", "StoppedByQuota"])),
        _ => (Sort::Container, pick(rng, &["DISABLED_BY_ADMIN", "DISABLED_BY_QUOTA"])),
    };
    // One in twelve flaps: from the fourth change on it stays open.
    let episodes = if rng.u32(0..12) == 0 { 3 } else { 1 };
    let episodes = (0..episodes).map(|_| match rng.u32(0..5) {
        0 => Episode::Glimpse(span(rng, 0.1, 2.0)),
        _ => Episode::Held(span(rng, 0.0, 4.0)),
    });
    Act::Life(Life { sort, bad, episodes: episodes.collect(), vanishes: rng.u32(0..6) == 0 })
}

fn family(rng: &mut Rng) -> Act {
    Act::Family(Family { hold: span(rng, 0.0, 4.0), cause_ends_first: rng.bool() })
}

fn money(rng: &mut Rng, long: bool) -> Act {
    Act::Money(match rng.u32(0..100) {
        0..60 => Money::Lasts(pick(rng, &[60, 20, 13, 9, 6, 5, 3, 2, 0])),
        60..85 => Money::Plenty,
        85..95 => Money::Suspended(span(rng, 0.0, 3.0)),
        _ if long => Money::CutOff,
        _ => Money::Plenty,
    })
}

fn fault(rng: &mut Rng, group: &'static str, long: bool) -> Act {
    use FaultKind as F;
    let hold = span(rng, 0.3, 5.0);
    if group == "billing" && rng.u32(0..8) == 0 {
        return Act::ReportError { hold };
    }
    let kinds = [
        F::Status,
        F::Status,
        F::Status,
        F::Delay,
        F::Stall,
        F::TruncatedJson,
        F::WrongTypes,
        F::NullFields,
        F::HtmlPage,
        F::HugeBody,
        F::Redirect,
        F::ShiftingRows,
        F::DuplicateRows,
        F::Reset,
    ];
    let mut fault = Fault::new(pick(rng, &kinds), group);
    match fault.kind {
        F::Status => {
            fault.code = Some(pick(rng, &[500, 502, 503, 429, 404, 403, 401]));
            fault.retry_after = (rng.bool()).then_some(1);
        }
        F::Delay => fault.seconds = Some(between(rng, 0.2, 3.0)),
        F::WrongTypes | F::NullFields => {
            let fields = [
                "state", "name", "id", "edd", "balance", "amount", "positive", "moment", "entities", "next",
                "count",
            ];
            let all = rng.u32(0..4) == 0 && fault.kind == F::WrongTypes;
            let field = pick(rng, &fields);
            // The next page is on another host, and the count is wrong.
            let odd = [("next", "\"http://127.0.0.2:9/x\""), ("count", "7")];
            fault.value = odd.iter().find(|(name, _)| *name == field).map(|(_, value)| (*value).to_owned());
            fault.fields = (!all).then(|| vec![field.to_owned()]);
        }
        F::ShiftingRows => fault.by = Some(pick(rng, &[1, 3])),
        F::Reset => fault.bytes = pick(rng, &[None, Some(0), Some(100)]),
        // More than the client's 32 MiB, and expensive to make.
        F::HugeBody => (fault.bytes, fault.count) = (Some(33 << 20), Some(1)),
        _ => {}
    }
    // Half a minute each, until the client gives up.
    if fault.kind == F::Stall {
        fault.count = Some(1);
        if !long {
            fault.kind = F::TruncatedJson;
        }
    }
    // Five refused polls in a row would hold the group for five minutes.
    if matches!(fault.code, Some(401 | 403)) {
        fault.count = Some(rng.u32(1..4));
    } else if fault.count.is_none() && rng.bool() {
        fault.count = Some(rng.u32(1..6));
    }
    Act::Fault { fault, hold }
}

fn mail(rng: &mut Rng, long: bool) -> Act {
    use Stage::{Data, Dot, Ehlo, Greeting, Mail, Quit, Rcpt, Rset};
    let hold = span(rng, 0.2, 6.0);
    if rng.u32(0..8) == 0 {
        return Act::MailServerAway { hold };
    }
    let stage = pick(rng, &[Greeting, Ehlo, Mail, Rcpt, Data, Dot, Dot, Dot, Rset, Quit]);
    let mut times = if rng.bool() { usize::MAX } else { rng.usize(1..4) };
    let code = pick(rng, &["421", "450", "451", "452"]);
    let mut reply = match rng.u32(0..10) {
        0..4 => Reply::reply(&format!("{code} 4.0.0 scripted")),
        4..7 => Reply::Drop,
        7 => Reply::DropEarly,
        8 if long => Reply::Stall,
        _ => Reply::Drop,
    };
    if stage == Dot && rng.u32(0..2) == 0 {
        reply = Reply::AcceptAndDrop;
    } else if rng.u32(0..10) == 0 {
        // A refusal for good: of the sender, of the recipient, or of the mail.
        reply = Reply::reply("550 5.0.0 scripted");
        times = rng.usize(1..3);
    }
    if matches!(reply, Reply::Stall) {
        times = 1;
    }
    let to = if stage == Rcpt { pick(rng, &["", "a@", "b@", "ops@"]) } else { "" };
    Act::Mail { stage, reply, to, times, hold }
}

fn operator(rng: &mut Rng) -> Act {
    let away = span(rng, 0.0, 2.0);
    Act::Operator(match rng.u32(0..20) {
        0..5 => Operator::Kill { away },
        5..11 => Operator::KillAt { point: pick(rng, &POINTS), away },
        11 => Operator::KillTwice { between: span(rng, 0.0, 0.5) },
        12 => Operator::Restart { away },
        13..16 => Operator::WithoutAccount { hold: span(rng, 0.2, 4.0) },
        16..18 => Operator::Broken { hold: span(rng, 0.2, 3.0) },
        _ => Operator::Changed,
    })
}
