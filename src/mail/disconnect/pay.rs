//! What to pay for how long, what costs most, what will be offline: the parts of the mail that somebody acts on. Pure.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::{DisconnectMail, is_beyond};
use crate::alert::Sort;
use crate::mail::body::{Figure, Section, Table};
use crate::mail::chart;
use crate::mail::parts::{self, MOST_NAMES};
use crate::model::forecast;
use crate::model::{Edd, Money, PayBy};
use crate::view::billing::{Due, Orders};
use crate::view::chart::Chart;
use crate::view::cut_off::{self, Payer};
use crate::view::health::SeenResource;
use crate::view::words;

const MOST_ORDERS: usize = 5;

/// What the charges of a report say of the date that it names.
#[derive(Clone, Copy)]
pub(super) enum ByCharges {
    /// The balance is used up then.
    UsedUp(DateTime<Utc>),
    /// It lasts to the report's end at least.
    LastUntil(DateTime<Utc>),
}

impl DisconnectMail<'_> {
    /// How much for how long.
    pub(super) fn to_pay(&self) -> Option<Section> {
        let (report, _) = self.report?;
        let Payer { currency, lead_days, zone, .. } = self.payer;
        let by = self.pay_by().map(|by| cut_off::day_to_pay(by, zone, self.now));
        let by = by.unwrap_or_else(|| "not known".to_owned());
        let spans = Due::of(report, self.now);
        let ends_before = spans.iter().find(|due| due.amount.is_none()).map(|due| due.days);
        let rows = spans.map(|due| {
            let is_due = due.amount.is_some_and(Money::is_positive);
            vec![
                format!("{} days", due.days),
                words::known_to_pay(due.amount, currency),
                if is_due { by.clone() } else { "–".to_owned() },
                words::known_spaced_amount(due.balance, currency),
            ]
        });
        let mut section = Section::new("To stay online");
        let head = ["For", "Pay", "By", "Balance then if you do not pay"].map(str::to_owned);
        section.table = Some(Table { head: head.into(), rows: rows.into() });
        section.below.extend(self.pay_by().and_then(|by| by_in_full(by, lead_days, zone, self.now)));
        section.below.extend(self.by_the_charges().map(|charges| self.charges_words(charges)));
        section.below.extend(ends_before.map(|days| format!("The report ends before {days} days are over.")));
        section.figure = self.figure();
        Some(section)
    }

    fn figure(&self) -> Option<Figure> {
        let (report, from) = self.report?;
        let Payer { currency, lead_days, zone, .. } = self.payer;
        let drawn = Chart::new(report, from, self.ladder.edd, lead_days, zone)?;
        Some(chart::figure(&drawn.zoomed(self.now), currency, self.now))
    }

    /// Where the report's own date is ahead and its charges differ from it by more than a day: what the charges say.
    pub(super) fn by_the_charges(&self) -> Option<ByCharges> {
        let (report, _) = self.report.filter(|_| !self.is_overdue())?;
        let Edd::At(edd) = report.edd else { return None };
        if forecast::first_unpaid(report).is_some() {
            return forecast::date_by_charges(report).map(ByCharges::UsedUp);
        }
        report.date.filter(|&end| !report.moments.is_empty() && is_beyond(end, edd)).map(ByCharges::LastUntil)
    }

    fn charges_words(&self, charges: ByCharges) -> String {
        let Payer { lead_days, zone, .. } = self.payer;
        match charges {
            ByCharges::LastUntil(end) => {
                let end = words::day_of(end, zone, self.now);
                format!("But by the charges in the report the balance lasts beyond its end, {end}.")
            }
            ByCharges::UsedUp(at) => {
                let sooner = self.ladder.edd.is_none_or(|edd| at < edd);
                let by = PayBy::before(at, lead_days, zone, self.now).filter(|_| sooner);
                let advice =
                    by.map(|by| format!("; to be safe, pay {}", cut_off::by(Some(by), zone, self.now)));
                let (when, advice) = (self.moment(at), advice.unwrap_or_default());
                format!("But by the charges in the report the balance is used up {when}{advice}.")
            }
        }
    }

    /// What costs most.
    pub(super) fn orders(&self) -> Option<Section> {
        let (report, read_at) = self.report?;
        let orders = Orders::of(report, read_at);
        let named = &orders.dearest[..orders.dearest.len().min(MOST_ORDERS)];
        if named.is_empty() {
            return None;
        }
        // What is off already is not switched on again by an order less.
        let columns = if self.is_overdue() { 3 } else { 4 };
        let rows = named.iter().map(|order| {
            let without = match (order.buys_days, self.ladder.edd) {
                (days @ Some(_), _) | (days, Some(_)) => words::without_order(days),
                (None, None) => "–".to_owned(),
            };
            let share = format!("{} %", order.share_percent.round());
            let mut row = vec![order.words(), self.money(order.per_day), share, without];
            row.truncate(columns);
            row
        });
        let mut section = Section::new("What costs most");
        let head = ["Order", "A day", "Share", "Without it"].map(str::to_owned);
        section.table = Some(Table { head: head[..columns].to_vec(), rows: rows.collect() });
        let others = orders.orders_with_charges - named.len();
        if others > 0 {
            let rest = orders.per_day - named.iter().map(|order| order.per_day).sum();
            let count = words::count(others, "other order", "other orders");
            section.below.push(format!("{count}: {} a day together.", self.money(rest)));
        }
        Some(section)
    }

    /// What goes offline with the account.
    pub(super) fn offline(&self) -> Section {
        let title = if self.is_overdue() { "Offline, or about to be" } else { "What will go offline" };
        let mut section = Section::new(title);
        let Some(state) = self.state else {
            section.lines.push("Not known: nothing of this account was read yet.".to_owned());
            return section;
        };
        let unread_containers = state.containers_without_sites_read();
        let sites_read = state.containers.read_at.is_some() && unread_containers == 0;
        for (sort, usual, read) in
            [(Sort::Vm, "active", state.vms.read_at.is_some()), (Sort::Site, "Active", sites_read)]
        {
            let of_sort = SeenResource::all(state).filter(|seen| seen.kind == sort);
            let names: Vec<String> =
                of_sort.map(|seen| parts::named(seen.name, seen.id, seen.state, usual)).collect();
            if names.is_empty() && !read {
                if state.profile.collectors.contains(&sort.seen_by()) {
                    section.row(&words::capital(sort.plural()), "Not known: not read yet");
                }
                continue;
            }
            let count = words::count(names.len(), sort.in_sentence(), sort.plural());
            let listed = parts::few(&names, MOST_NAMES);
            section.row(&count, if listed.is_empty() { "none".to_owned() } else { listed });
            if !read && sort == Sort::Site {
                let of = words::count(unread_containers, "container", "containers");
                section.below.push(format!("Sites of {of} not read yet."));
            }
        }
        section
    }
}

/// The day to pay by, with how it was counted; `None` where there is nothing to count.
fn by_in_full(by: PayBy, lead_days: u32, zone: Tz, now: DateTime<Utc>) -> Option<String> {
    let takes = words::count(lead_days as usize, "day", "days");
    let day = |date| words::subject_day(date, zone, now);
    let weekend = |date| cut_off::weekend_advice(date, zone, now);
    let weekend =
        |date| weekend(date).map_or_else(String::new, |advice| format!(" That is a weekend: {advice}."));
    match by {
        PayBy::Now => None,
        PayBy::Missed(date) => {
            Some(format!("Too late to be safe ({} was the last safe day): pay now.", day(date)))
        }
        PayBy::Today(date) => {
            Some(format!("Today is the last safe day: a payment takes {takes}.{}", weekend(date)))
        }
        PayBy::On(date) => {
            Some(format!("{} is the last safe day: a payment takes {takes}.{}", day(date), weekend(date)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::t;

    #[test]
    fn weekends_are_said() {
        let now = t("2026-03-25T12:00:00");
        let words = |edd| {
            let by = PayBy::before(t(edd), 3, Tz::UTC, now).unwrap();
            by_in_full(by, 3, Tz::UTC, now).unwrap()
        };
        let safe = "is the last safe day: a payment takes 3 days.";
        assert_eq!(words("2026-03-30T12:00:00"), format!("Fri 27 Mar {safe}"));
        let better = "That is a weekend: better by Fri 27 Mar.";
        assert_eq!(words("2026-03-31T12:00:00"), format!("Sat 28 Mar {safe} {better}"));
        assert_eq!(words("2026-04-01T12:00:00"), format!("Sun 29 Mar {safe} {better}"));
    }
}
