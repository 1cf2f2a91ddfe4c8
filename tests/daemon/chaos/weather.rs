//! Faults of the providers and of the mail server, each for a while.

use std::time::{Duration, Instant};

use hostwatch_sim::{Command, Fault, FaultKind};
use serde_json::json;

use super::history::Span;
use super::lanes::{Doing, control, is_past};
use super::script::{ACCOUNTS, Act};
use super::world::{Page, World};

/// A fault of the provider; without one, a report that carries an error.
pub fn fault(account: usize, what: Option<Fault>, hold: Duration) -> Box<dyn Doing> {
    Box::new(FaultRun { account, what, hold, until: None })
}

/// A fault of the mail server, or its absence.
pub fn mail(act: Act) -> Box<dyn Doing> {
    Box::new(MailRun { act, until: None })
}

struct FaultRun {
    account: usize,
    what: Option<Fault>,
    hold: Duration,
    until: Option<Instant>,
}

impl Doing for FaultRun {
    fn go(&mut self, world: &mut World, _page: Option<&Page>) -> bool {
        let name = ACCOUNTS[self.account];
        if self.until.is_none() {
            self.until = Some(Instant::now() + self.hold);
            let span = Span { from: world.now(), to: None };
            let mut may = |key: String| world.history.may.entry(key).or_default().push(span.clone());
            let kind = match &self.what {
                None => {
                    may(format!("{name}/billing_report/account"));
                    "report with an error".to_owned()
                }
                Some(fault) => {
                    let code = fault.code.filter(|_| fault.kind == FaultKind::Status);
                    if matches!(code, Some(401 | 403)) {
                        may(format!("{name}/credentials_rejected/{}", fault.on));
                    }
                    // If every field is mistyped, "no error" looks like an error.
                    let mistyped = fault.kind == FaultKind::WrongTypes && fault.fields.is_none();
                    if fault.on == "billing" && mistyped {
                        may(format!("{name}/billing_report/account"));
                    }
                    format!("{:?}", fault.kind)
                }
            };
            world.count(&format!("provider fault: {kind}"));
            match &self.what {
                None => control(world, self.account, "report_error", &json!({ "text": "no contract" })),
                Some(fault) => {
                    let simulator = &world.accounts[self.account].provider.simulator;
                    simulator.control(&Command::Fault(fault.clone())).unwrap();
                }
            }
            return false;
        }
        if !is_past(self.until) {
            return false;
        }
        match &self.what {
            None => control(world, self.account, "report_error", &json!({ "text": null })),
            Some(fault) => control(world, self.account, "clear_faults", &json!({ "name": fault.name })),
        }
        let now = world.now();
        let mine = world.history.may.iter_mut().filter(|(key, _)| key.starts_with(&format!("{name}/")));
        let concerned = |key: &str| match &self.what {
            None => key.ends_with("/billing_report/account"),
            Some(fault) => {
                key.ends_with(&format!("/{}", fault.on)) || (fault.on == "billing" && key.contains("report"))
            }
        };
        for (_, spans) in mine.filter(|(key, _)| concerned(key)) {
            spans.iter_mut().filter(|span| span.to.is_none()).for_each(|span| span.to = Some(now));
        }
        true
    }
}

struct MailRun {
    act: Act,
    until: Option<Instant>,
}

impl Doing for MailRun {
    fn go(&mut self, world: &mut World, _page: Option<&Page>) -> bool {
        let (Act::Mail { hold, .. } | Act::MailServerAway { hold }) = self.act else { return true };
        if self.until.is_none() {
            self.until = Some(Instant::now() + hold);
            world.mail_blocked = true;
            world.trouble();
            match &self.act {
                Act::Mail { stage, reply, to, times, .. } => {
                    world.smtp.as_ref().unwrap().on_times(*stage, to, *times, reply.clone());
                }
                _ => {
                    world.count("mail server away");
                    world.mail_server_goes();
                }
            }
            return false;
        }
        if !is_past(self.until) {
            return false;
        }
        match &self.act {
            Act::Mail { .. } => world.smtp.as_ref().unwrap().forget_rules(),
            _ => world.mail_server_comes(),
        }
        world.mail_blocked = false;
        true
    }
}
