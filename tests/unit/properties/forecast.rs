//! The billing arithmetic (contract section 5) against an oracle that walks a plain list.

use crate::model::changes::{Change, changes};
use crate::model::forecast::{self, Disconnect};
use crate::model::*;
use chrono::{DateTime, Duration, Utc};
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::unit::properties::given::{self, now};

/// A charge for the oracle.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: DateTime<Utc>,
    amount: Decimal,
    balance: Decimal,
    flagged: bool,
    order: Option<u32>,
}

impl Step {
    fn leaves_something(&self) -> bool {
        self.balance > Decimal::ZERO && !self.flagged
    }

    fn cuts_off(&self) -> bool {
        !self.leaves_something() && self.amount != Decimal::ZERO
    }
}

fn steps(report: &Report) -> Vec<Step> {
    let step = |one: ChargeMoment| Step {
        at: one.at,
        amount: one.amount.decimal(),
        balance: one.balance.decimal(),
        flagged: one.positive == Some(false),
        order: one.order,
    };
    report.moments.iter().map(step).collect()
}

fn end(report: &Report) -> Option<DateTime<Utc>> {
    let latest = steps(report).iter().map(|step| step.at).max();
    if report.date.is_some() { report.date } else { latest }
}

/// Whether no charge up to a time is missing.
fn has_all(report: &Report, at: DateTime<Utc>) -> bool {
    report.whole_until.is_none_or(|until| until > at)
}

/// The balance before all charges. If a charge before those that could be read may be missing, it is unknown.
fn before_all(report: &Report) -> Option<Decimal> {
    match (steps(report).first(), report.whole_until) {
        (Some(first), Some(until)) if until < first.at => None,
        (Some(first), _) => Some(first.balance + first.amount),
        (None, Some(_)) => None,
        (None, None) => report.expected_balance.map(Money::decimal),
    }
}

/// Nothing is owed, and nothing is charged.
fn owes_nothing(report: &Report) -> bool {
    let is_zero = |balance: Money| balance == Money::ZERO;
    report.error.is_none()
        && report.edd == Edd::Null
        && report.moments_rejected == 0
        && steps(report).iter().all(|step| step.amount <= Decimal::ZERO)
        && before_all(report) == Some(Decimal::ZERO)
        && report.expected_balance.is_none_or(is_zero)
}

/// The balance on a day, found by walking through time.
fn balance_at(report: &Report, at: DateTime<Utc>) -> Option<Decimal> {
    let mut balance = before_all(report);
    if !has_all(report, at) {
        return None;
    }
    for step in steps(report) {
        if step.at <= at {
            balance = Some(step.balance);
        }
    }
    balance
}

fn within(report: &Report, days: u32) -> Option<DateTime<Utc>> {
    let until = now() + Duration::days(i64::from(days));
    end(report).filter(|&end| until <= end && has_all(report, until)).map(|_| until)
}

/// The report after a payment: every balance rises by the amount.
fn paid(report: &Report, amount: Money) -> Report {
    let mut after = report.clone();
    after.moments.edit(|moments| {
        for moment in moments {
            moment.balance += amount;
            moment.positive = Some(moment.balance.is_positive());
        }
    });
    after.expected_balance = report.expected_balance.map(|balance| balance + amount);
    after
}

/// Makes a report consistent: it adds up, and its charges cost something.
fn honest(mut report: Report) -> Report {
    let mut left = report.expected_balance.unwrap_or(Money::ZERO);
    report.moments.edit(|moments| {
        for moment in moments {
            if moment.amount <= Money::ZERO {
                moment.amount = Money::SMALLEST - moment.amount;
            }
            left -= moment.amount;
            moment.balance = left;
            moment.positive = Some(left.is_positive());
        }
    });
    Report { expected_balance: Some(left), moments_rejected: 0, whole_until: None, ..report }
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("forecast", 256))]

    #[test]
    fn balances_are_those_of_the_oracle(report in given::report(), days in 0..220_u32) {
        let have = |money: Option<Money>| money.map(Money::decimal);
        prop_assert_eq!(have(forecast::balance_now(&report)), before_all(&report));
        let want = within(&report, days).and_then(|until| balance_at(&report, until));
        prop_assert_eq!(have(forecast::balance_in(&report, now(), days)), want);
        let at = now() + Duration::hours(i64::from(days) * 7 - 100);
        let want = balance_at(&report, at).filter(|_| report.date.is_none_or(|date| at <= date));
        prop_assert_eq!(have(forecast::foreseen_balance(&report, at)), want);
    }

    #[test]
    fn amounts_are_those_of_the_oracle_and_never_lower_for_longer_spans(report in given::report()) {
        let cent = Decimal::new(1, 2);
        let mut last = Money::ZERO;
        for days in 0..220 {
            let got = forecast::top_up_required(&report, now(), days);
            let want = within(&report, days).and_then(|until| {
                let mut lowest: Option<Decimal> = None;
                // Charges due by now were made.
                for step in steps(&report).iter().filter(|step| step.at > now() && step.at <= until) {
                    lowest = Some(lowest.map_or(step.balance, |lowest| lowest.min(step.balance)));
                }
                let lowest = lowest.or_else(|| balance_at(&report, now()))?;
                Some(if owes_nothing(&report) { Decimal::ZERO } else { (cent - lowest).max(Decimal::ZERO) })
            });
            prop_assert_eq!(got.map(Money::decimal), want, "{} days", days);
            if let Some(got) = got {
                // If no charge falls into the first days, the balance now is used. A charge below zero, a
                // credit, can be above it.
                let ahead = |step: &Step| step.at > now() && Some(step.at) <= within(&report, days);
                let charged = steps(&report).iter().any(ahead);
                prop_assert!(!charged || got >= last, "{} days: {} after {}", days, got, last);
                if charged {
                    last = got;
                }
            }
        }
    }

    #[test]
    fn paying_it_keeps_every_moment_above_zero_and_a_cent_less_does_not(report in given::report(), days in 0..220_u32) {
        let Some(required) = forecast::top_up_required(&report, now(), days) else { return Ok(()) };
        let until = within(&report, days).unwrap();
        let ahead = |step: &Step| step.at > now() && step.at <= until;
        let up_to = |report: &Report| steps(report).into_iter().filter(ahead).collect::<Vec<_>>();
        let kept = paid(&report, required);
        prop_assert!(up_to(&kept).iter().all(Step::leaves_something));
        prop_assert_eq!(forecast::top_up_required(&kept, now(), days), Some(Money::ZERO));
        prop_assert!(kept.moments.first_unpaid().is_none_or(|at| at > until || at <= now()));
        if required > Money::ZERO && !up_to(&report).is_empty() {
            let short = paid(&report, required - Money::SMALLEST);
            prop_assert!(!up_to(&short).iter().all(Step::leaves_something), "{} is too much", required);
        }
        // Mails round up: a higher amount is never too little.
        prop_assert!(up_to(&paid(&report, required.ceil_units())).iter().all(Step::leaves_something));
    }

    #[test]
    fn the_cut_off_is_that_of_the_oracle(report in given::report()) {
        let unpaid = steps(&report).into_iter().find(Step::cuts_off).map(|step| step.at);
        prop_assert_eq!(report.moments.first_unpaid(), unpaid);
        let now_is_gone = before_all(&report).is_some_and(|balance| balance <= Decimal::ZERO)
            && !owes_nothing(&report);
        let proven = report.error.is_none() && report.moments_rejected == 0 && report.edd == Edd::Null
            && (owes_nothing(&report) || report.expected_balance.is_some_and(|balance| balance > Money::ZERO))
            && report.date.is_some_and(|date| report.moments.first().is_none_or(|first| first.at <= date));
        let want = match (report.edd, unpaid) {
            (Edd::At(at), _) => Disconnect::At { at, computed: false },
            (_, Some(at)) => Disconnect::At { at, computed: true },
            _ if now_is_gone => Disconnect::Now,
            _ if proven => Disconnect::NotExpected,
            _ => Disconnect::Unknown,
        };
        prop_assert_eq!(forecast::disconnect(&report), want);
        // The report is good news only if nothing in it contradicts that.
        let clear = forecast::all_clear(&report, None).is_ok();
        prop_assert_eq!(clear, proven && unpaid.is_none() && !now_is_gone);
        let known = now() + Duration::days(40);
        let reaches = report.date.is_some_and(|date| date >= known);
        prop_assert_eq!(forecast::all_clear(&report, Some(known)).is_ok(), clear && reaches);
    }

    #[test]
    fn charges_that_were_made_cut_nothing_off(report in given::report()) {
        let all = steps(&report);
        let (made, ahead): (Vec<Step>, Vec<Step>) = all.iter().partition(|step| step.at <= now());
        let settled = report.clone().at(now());
        let balance = made.last().map(|last| last.balance).filter(|_| has_all(&report, now()));
        let balance = if made.is_empty() { before_all(&report) } else { balance };
        prop_assert_eq!(forecast::balance_now(&settled).map(Money::decimal), balance);
        let unpaid = ahead.iter().find(|step| step.cuts_off()).map(|step| step.at);
        prop_assert_eq!(settled.moments.first_unpaid(), unpaid);
        let since = made.first().map(|first| first.at).filter(|_| has_all(&report, now()));
        prop_assert_eq!(settled.made.map(|(since, _)| since), since);
        prop_assert_eq!(settled.clone().at(now()), settled);
    }

    #[test]
    fn a_payment_never_brings_the_cut_off_nearer(report in given::report(), more in given::amount()) {
        let report = Report { edd: Edd::Null, ..honest(report) };
        let more = more.max(-more);
        let (before, after) = (report.moments.first_unpaid(), paid(&report, more).moments.first_unpaid());
        let is_no_nearer = match before {
            Some(before) => after.is_none_or(|after| after >= before),
            None => after.is_none(),
        };
        prop_assert!(is_no_nearer, "{:?} to {:?}", before, after);
    }

    #[test]
    fn charges_and_orders_are_those_of_the_oracle(report in given::report(), hours in -50..3000_i64) {
        let from = now() + Duration::hours(hours);
        let next = steps(&report).into_iter().filter(|step| step.at >= from).map(|step| step.at).min();
        let amount: Decimal = steps(&report).iter().filter(|step| Some(step.at) == next).map(|step| step.amount).sum();
        let got = forecast::next_charge(&report, from);
        let next = next.filter(|&at| has_all(&report, at));
        prop_assert_eq!(got.map(|next| (next.at, next.amount.decimal())), next.map(|at| (at, amount)));

        let costs = forecast::order_costs(&report, now());
        prop_assert_eq!(costs.len(), if report.whole_until.is_none() { report.orders.len() } else { 0 });
        prop_assert!(costs.is_sorted_by(|a, b| a.charges >= b.charges));
        for cost in &costs {
            let of_it = steps(&report).into_iter().filter(|step| step.order == Some(cost.index));
            prop_assert_eq!(cost.charges.decimal(), of_it.map(|step| step.amount).sum::<Decimal>());
            prop_assert_eq!(report.orders[cost.index as usize].id, cost.order);
        }
    }

    #[test]
    fn a_report_adds_up_or_the_first_moment_that_does_not_is_named(report in given::report()) {
        let all = steps(&report);
        let mut want = None;
        for place in 1..all.len() {
            if want.is_none() && all[place - 1].balance - all[place].amount != all[place].balance {
                want = Some(all[place].at);
            }
        }
        let last = all.last().filter(|last| report.expected_balance.is_some_and(|balance| balance.decimal() != last.balance));
        let want = want.or(last.map(|last| last.at)).filter(|_| report.whole_until.is_none());
        prop_assert_eq!(forecast::does_not_add_up(&report), want);
        prop_assert_eq!(forecast::does_not_add_up(&honest(report)), None);
    }

    #[test]
    fn nothing_changes_from_a_report_to_itself(report in given::report(), hours in 0..20_i64) {
        let report = honest(report);
        // Up to the first charge. A due charge that is still missing is no surprise for a day.
        let first = report.moments.first().map_or(now(), |first| first.at);
        prop_assert_eq!(changes(&report, &report, first - Duration::hours(hours)), []);
    }

    #[test]
    fn a_payment_is_told_by_its_amount(report in given::report(), more in given::amount()) {
        let report = honest(report);
        let Some(first) = report.moments.first() else { return Ok(()) };
        let more = more.max(-more) + Money::SMALLEST;
        let at = first.at - Duration::days(2);
        prop_assume!(report.date.is_none_or(|date| date > at));
        let balance = |found: Vec<Change>| found.into_iter().find(|one| matches!(one, Change::Paid(_) | Change::Charged(_)));
        prop_assert_eq!(balance(changes(&report, &paid(&report, more), at)), Some(Change::Paid(more)));
        prop_assert_eq!(balance(changes(&report, &paid(&report, -more), at)), Some(Change::Charged(more)));
    }
}
