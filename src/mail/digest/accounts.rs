//! An account in a digest: its row of the table, and its parts that are not known. Pure.

use chrono::{DateTime, Utc};

use crate::alert::{CutOff, Item, Kind, Severity};
use crate::mail::context::Context;
use crate::model::forecast::{self, Disconnect};
use crate::model::freshness::is_shown;
use crate::model::{AccountName, AccountState, Collector, Health, PayBy, say};
use crate::view::cut_off::day_to_pay;
use crate::view::health;
use crate::view::incidents::soonest;
use crate::view::resources::entries;
use crate::view::sentence::Part;
use crate::view::{self, Due, Payer, words};

/// One account in the digest.
pub(super) struct AccountWeek<'a> {
    pub name: &'a AccountName,
    pub state: Option<&'a AccountState>,
    payer: Payer<'a>,
    /// The cut-off of the open incident, or that of the last report.
    disconnect: Disconnect,
    /// The severity of the open incident of the cut-off.
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
            severity: incident.map(|item| item.severity),
        }
    }

    /// The order of the table.
    pub(super) fn soonest(&self) -> impl Ord + use<'a> {
        (soonest(Some(self.disconnect)), self.name)
    }

    /// Whether the account is overdue, or its balance used up, without an incident: its rule is off, or it has
    /// only just happened.
    pub(super) fn is_due_without_incident(&self) -> bool {
        let used_up = self.payer.report.and_then(forecast::is_used_up) == Some(true);
        self.severity.is_none() && (used_up || self.payer.by(self.disconnect) == Some(PayBy::Now))
    }

    /// `cut-off Wed 4 Mar: pay 275 RUB today`, if the cut-off is near or past.
    pub(super) fn near_cut_off(&self) -> Option<Part> {
        let severity = self.severity.or_else(|| self.is_due_without_incident().then_some(Severity::Critical));
        let text = view::CutOff::of(self.disconnect, self.payer).sentence();
        Some(Part { text, count: 1, severity: severity?, is_money: true })
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
            let word = health.words(reader.language).1;
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

    /// `main: Cannot read sites since Sun 1 Mar 14:00 MSK: why`.
    pub(super) fn not_known(&self) -> Vec<String> {
        let reader = self.payer.reader;
        let lines = self.state.map(|state| health::not_known_lines(state, reader));
        let lines = lines.unwrap_or_else(|| {
            vec![reader.language.pick("Nothing was read yet", "Данных ещё не было").to_owned()]
        });
        lines.into_iter().map(|line| format!("{}: {line}", self.name)).collect()
    }

    fn watches_billing(&self) -> bool {
        let is_on = |state: &AccountState| state.profile.collectors.contains(&Collector::ExpectedBalance);
        self.payer.report.is_some() || self.state.is_none_or(is_on)
    }
}
