//! An account in a digest: its row of the table, and its cut-off. Pure.

use chrono::{DateTime, Utc};

use crate::alert::{CutOff, Item, Kind, Severity};
use crate::mail::context::Context;
use crate::model::forecast::{self, Disconnect};
use crate::model::freshness::is_shown;
use crate::model::{AccountName, AccountState, Collector, Health, say};
use crate::view::cut_off::day_to_pay;
use crate::view::incidents::{is_problem, soonest};
use crate::view::resources::entries;
use crate::view::sentence::Part;
use crate::view::{self, Due, Payer, words};

/// Whether somebody has to act on an open incident, as the page counts it.
pub(super) fn needs_you(item: &Item) -> bool {
    let is_known = item.muted.is_looked_after() || item.incident.cause.is_some();
    !is_known && is_problem(item.key.kind, item.severity, item.at - item.began)
}

/// One account in the digest.
pub(super) struct AccountWeek<'a> {
    pub name: &'a AccountName,
    pub state: Option<&'a AccountState>,
    payer: Payer<'a>,
    /// The cut-off of the open incident, or that of the last report.
    disconnect: Disconnect,
    /// The severity of the cut-off's open incident, unless that is far off, acknowledged or silenced.
    severity: Option<Severity>,
}

impl<'a> AccountWeek<'a> {
    pub(super) fn of(name: &'a AccountName, items: &[Item], context: &'a Context<'_>) -> Self {
        let payer = context.payer(name);
        let incident = items.iter().find(|item| {
            item.key.kind == Kind::Disconnect && &item.key.account == name && item.ended().is_none()
        });
        let known = incident.and_then(|item| item.cut_off.as_ref()).map(CutOff::disconnect);
        let disconnect = known.or_else(|| payer.report.map(forecast::disconnect));
        Self {
            name,
            state: context.account(name),
            payer,
            disconnect: disconnect.unwrap_or(Disconnect::Unknown),
            severity: incident.filter(|item| needs_you(item)).map(|item| item.severity),
        }
    }

    /// The order of the table.
    pub(super) fn soonest(&self) -> impl Ord + use<'a> {
        (soonest(Some(self.disconnect)), self.name)
    }

    /// Whether the cut-off is near or past, whoever acknowledged it and whether or not its rule is on.
    pub(super) fn is_near(&self) -> bool {
        self.payer.is_near(self.disconnect, self.payer.report.and_then(forecast::balance_now))
    }

    /// `cut-off Wed 4 Mar: pay 275 RUB today`.
    pub(super) fn cut_off(&self) -> String {
        view::CutOff::of(self.disconnect, self.payer).sentence()
    }

    /// The cut-off, if somebody has to act.
    pub(super) fn urgent_cut_off(&self) -> Option<Part> {
        let severity = if self.is_near() { Severity::Critical } else { self.severity? };
        Some(Part { text: self.cut_off(), count: 1, severity, is_money: true })
    }

    /// Its row: account, state, balance, pay by, what to pay for 30 days.
    pub(super) fn row(&self) -> Vec<String> {
        let Payer { report, currency, reader, .. } = self.payer;
        let language = reader.language;
        let mut row = vec![self.name.to_string(), self.states()];
        if !self.watches_billing() {
            row.extend(["–"; 3].map(str::to_owned));
            return row;
        }
        let due = report.and_then(|report| Due::month(report, reader.now).amount);
        // A report that names no date proves that only for its own span.
        let end =
            report.filter(|_| self.disconnect == Disconnect::NotExpected).and_then(|report| report.date);
        let pay_by = match (self.payer.by(self.disconnect), end) {
            (Some(by), _) => day_to_pay(by, reader),
            (None, Some(end)) => {
                let day = reader.day_of(end);
                say!(language, "not before {day}", "не раньше {day}")
            }
            (None, None) => words::not_known(language).to_owned(),
        };
        let mut balance =
            words::known_spaced_amount(report.and_then(forecast::balance_now), currency, language);
        if let Some(at) = self.as_of() {
            let day = reader.day_of(at);
            balance.push_str(&say!(language, " as of {day}", " на {day}"));
        }
        row.extend([balance, pay_by, words::known_to_pay(due, currency, language)]);
        row
    }

    /// The time of the report, if the last poll did not show it or a newer report proves nothing.
    fn as_of(&self) -> Option<DateTime<Utc>> {
        let state = self.state?;
        let (_, read_at) = state.billing.last_known()?;
        let is_shown = is_shown(state, Collector::ExpectedBalance, Some(read_at));
        (!is_shown || state.billing.unconfirmed().is_some()).then_some(read_at)
    }

    /// `1 problem, 1 off, 3 fine`.
    fn states(&self) -> String {
        let reader = self.payer.reader;
        let all = [Health::Bad, Health::Unknown, Health::Passing, Health::Off, Health::Fine];
        let parts = all.into_iter().filter_map(|health| {
            let resources = self.state.into_iter().flat_map(|state| entries(state, reader.now));
            let count = resources.filter(|seen| seen.health == health).count();
            let word = if health == Health::Bad && count > 1 {
                reader.language.pick("problems", "проблемы")
            } else {
                health.words(reader.language).1
            };
            (count > 0).then(|| say!(reader.language, "{count} {word}", "{word}: {count}"))
        });
        let parts: Vec<String> = parts.collect();
        match parts.as_slice() {
            [] if self.is_read() => reader.language.pick("no resources", "ресурсов нет").to_owned(),
            [] => reader.language.pick("not read yet", "данных ещё не было").to_owned(),
            parts => parts.join(", "),
        }
    }

    /// Whether any resources were read.
    pub(super) fn is_read(&self) -> bool {
        self.state.is_some_and(|state| state.vms.read_at.is_some() || state.containers.read_at.is_some())
    }

    fn watches_billing(&self) -> bool {
        let is_on = |state: &AccountState| state.profile.collectors.contains(&Collector::ExpectedBalance);
        self.payer.report.is_some() || self.state.is_none_or(is_on)
    }
}
