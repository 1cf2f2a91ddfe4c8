//! The mail about a cut-off: when, how much to pay by which day, what costs most, what will be offline, why it came.
//! Pure.

use chrono::{DateTime, Duration, Utc};

use super::body::{Body, Section};
use super::context::Context;
use super::parts;
use crate::alert::{Event, Item, Ladder};
use crate::model::changes::{self, Change};
use crate::model::forecast::{self, Disconnect};
use crate::model::sanitize;
use crate::model::{AccountState, Money, PayBy, Report};
use crate::view::billing::order_of;
use crate::view::cut_off::Payer;
use crate::view::words;

pub(super) mod news;
mod pay;

const MOST_CHANGES: usize = 10;

/// The content of such a mail.
pub(super) fn body(item: &Item, context: &Context<'_>) -> Body {
    let facts = DisconnectMail::of(item, context);
    let mut sections = Vec::new();
    if item.event.is_end() {
        sections.push(facts.over());
    } else {
        sections.extend(facts.to_pay());
        sections.extend(facts.orders());
        sections.push(facts.offline());
        sections.push(facts.details());
        sections.extend(facts.changes());
    }
    Body {
        tone: parts::tone_of(item),
        lead: facts.lead(),
        notes: facts.last_mail().into_iter().collect(),
        sections,
        foot: std::iter::once(format!("Incident: {}", item.key))
            .chain(parts::foot(Some(item), 1, false, std::slice::from_ref(&item.key.account)))
            .collect(),
        ..Body::default()
    }
}

/// What the mail is written from.
struct DisconnectMail<'a> {
    item: &'a Item,
    context: &'a Context<'a>,
    state: Option<&'a AccountState>,
    /// The report and when it was read.
    report: Option<(&'a Report, DateTime<Utc>)>,
    ladder: Ladder,
    now: DateTime<Utc>,
    payer: Payer<'a>,
}

impl<'a> DisconnectMail<'a> {
    fn of(item: &'a Item, context: &'a Context<'_>) -> Self {
        let state = context.account(&item.key.account);
        Self {
            item,
            context,
            state,
            report: state.and_then(|state| state.billing.last_known()),
            ladder: item.ladder.clone().unwrap_or_default(),
            now: context.now,
            payer: context.payer(&item.key.account),
        }
    }

    fn is_overdue(&self) -> bool {
        self.item.event == Event::Rung(0) || self.ladder.is_overdue(self.now)
    }

    /// When the date was read, where nothing newer confirms it.
    fn as_of(&self) -> Option<DateTime<Utc>> {
        self.ladder.as_of(self.state?, self.now)
    }

    fn pay_by(&self) -> Option<PayBy> {
        if self.is_overdue() {
            return Some(PayBy::Now);
        }
        PayBy::before(self.ladder.edd?, self.payer.lead_days, self.payer.zone, self.now)
    }

    /// What stands behind it: the date, the balance, why the mail came.
    fn details(&self) -> Section {
        let mut section = Section::new("The cut-off");
        section.row("When", self.when_in_full());
        if self.ladder.computed && self.ladder.edd.is_some() {
            section.row(
                "Computed",
                "The report names no date; this is the first charge that leaves nothing on the account.",
            );
        }
        if let Some(at) = self.as_of() {
            section.row("As of", format!("{}; no newer report confirms it", self.moment(at)));
        }
        if let Some(at) = self.ladder.deleted_at {
            section.row("Data deleted", self.moment(at));
        }
        self.balance(&mut section);
        section.row("Why this mail", parts::why(self.item));
        let zone = self.payer.zone;
        section.lines.extend(self.item.unwatched.map(|gap| parts::not_running(gap, zone, self.now)));
        section
    }

    /// `Wed 4 Mar 14:00 MSK, in 2 d 23 h`.
    fn when_in_full(&self) -> String {
        match (self.ladder.edd, self.ladder.used_up) {
            (Some(edd), _) => {
                format!("{}, {}", self.moment(edd), words::distance(edd, self.now))
            }
            (None, true) => "Now: the balance is used up".to_owned(),
            (None, false) => "Not known".to_owned(),
        }
    }

    /// Where hostwatch runs on a VM of this account, and no nearer rung follows.
    fn last_mail(&self) -> Option<String> {
        let account = &self.item.key.account;
        let here = self.context.lives_on.as_ref().filter(|here| here.account == *account)?;
        let Event::Rung(rung) = self.item.event else { return None };
        (rung <= self.context.tightest_rung(account)).then(|| {
            let vm = sanitize::one_line(&here.vm, 60);
            format!("hostwatch itself runs on {vm}: no mail after the cut-off.")
        })
    }

    fn balance(&self, section: &mut Section) {
        let Some((report, read_at)) = self.report else {
            section.row("Balance", "Not known: no report could be read yet");
            return;
        };
        if let Some(balance) = forecast::balance_now(report) {
            section.row("Balance", format!("{}, as reported {}", self.money(balance), self.moment(read_at)));
        }
        if let Some(cost) = forecast::cost_per_day(report, read_at) {
            section.row("Costs a day", self.money(cost));
        }
    }

    /// What the last two reports differ in.
    fn changes(&self) -> Option<Section> {
        let (report, read_at) = self.report?;
        let previous = self.state?.billing.previous.as_deref()?;
        let mut section = Section::new("Changed since the last report");
        let found = changes::changes(previous, report, read_at);
        let listed = found.iter().take(MOST_CHANGES);
        section.list = listed.map(|change| self.change(change, previous, report)).collect();
        if found.len() > MOST_CHANGES {
            section.list.push(format!("and {} more", found.len() - MOST_CHANGES));
        }
        (!section.list.is_empty()).then_some(section)
    }

    fn change(&self, change: &Change, previous: &Report, report: &Report) -> String {
        match change {
            Change::Moved { from, to } => {
                format!("Cut-off was {}, now {}", self.when(*from), self.when(*to))
            }
            Change::Paid(amount) => {
                format!("Payment: balance {} higher than forecast", self.money(*amount))
            }
            Change::Charged(amount) => {
                format!("Unexpected charge: balance {} lower than forecast", self.money(*amount))
            }
            Change::New { order, per_day } => {
                format!("New: {}, {} a day", order_of(report, *order), self.money(*per_day))
            }
            Change::Gone { order, per_day } => {
                format!("Gone: {}, {} a day", order_of(previous, *order), self.money(*per_day))
            }
            Change::Repriced { order, from, to } => {
                let (name, from, to) = (order_of(report, *order), self.money(*from), self.money(*to));
                format!("New price: the next charge of {name} is {to}, was {from}")
            }
        }
    }

    fn when(&self, disconnect: Disconnect) -> String {
        match disconnect {
            Disconnect::At { at, computed: false } => self.moment(at),
            Disconnect::At { at, computed: true } => format!("{} (computed)", self.moment(at)),
            Disconnect::Now => "at once".to_owned(),
            Disconnect::NotExpected => "not expected".to_owned(),
            Disconnect::Unknown => "not known".to_owned(),
        }
    }

    fn over(&self) -> Section {
        let mut section = Section::new("The account");
        self.balance(&mut section);
        section.row("Why this mail", parts::why(self.item));
        section
    }

    fn moment(&self, at: DateTime<Utc>) -> String {
        words::sentence_moment(at, self.payer.zone, self.now)
    }

    fn money(&self, money: Money) -> String {
        words::spaced_amount(money, self.payer.currency)
    }
}

/// A day, where a report's own date and its charges differ by no more.
fn is_beyond(end: DateTime<Utc>, edd: DateTime<Utc>) -> bool {
    end > edd + Duration::days(1)
}
