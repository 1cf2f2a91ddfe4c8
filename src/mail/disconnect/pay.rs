//! The parts of the mail that somebody acts on: the amounts to pay, the dearest orders, the resources that go
//! offline. Pure.

use chrono::{DateTime, Utc};

use super::DisconnectMail;
use crate::mail::body::{Section, Table};
use crate::mail::parts::{self, MOST_NAMES};
use crate::model::forecast::{self, Disconnect};
use crate::model::{Language, Money, Sort, say};
use crate::view::billing::{self, Due, Orders};
use crate::view::chart::Chart;
use crate::view::cut_off;
use crate::view::figure::{self, Figure};
use crate::view::health::sites_not_read;
use crate::view::{Payer, words};

const MOST_ORDERS: usize = 5;

impl DisconnectMail<'_> {
    /// The table of amounts to pay.
    pub(super) fn to_pay(&self) -> Option<Section> {
        let language = self.context.language;
        let (report, _) = self.report.filter(|_| !self.is_unread())?;
        let Payer { currency, lead_days, reader, .. } = self.payer;
        let pay_by = self.payer.by(self.cut_off.disconnect());
        let by = pay_by.map(|by| cut_off::day_to_pay(by, reader));
        let by = by.unwrap_or_else(|| words::not_known(language).to_owned());
        let spans = Due::of(report, self.context.now);
        let ends_before = spans.iter().find(|due| due.amount.is_none()).map(|due| due.days);
        let rows = spans.map(|due| {
            let is_due = due.amount.is_some_and(Money::is_positive);
            vec![
                language.count(due.days as usize, words::DAYS),
                words::known_to_pay(due.amount, currency, language),
                if is_due { by.clone() } else { "–".to_owned() },
                words::known_spaced_amount(due.balance, currency, language),
            ]
        });
        let mut section = Section::new(language.pick("To stay online", "Чтобы не отключили"));
        let head = match language {
            Language::En => ["For", "Pay", "By", "Balance then if you do not pay"],
            Language::Ru => ["На срок", "Оплатить", "До (включительно)", "Баланс тогда без оплаты"],
        };
        section.table = Some(Table { head: head.map(str::to_owned).into(), rows: rows.into() });
        section.lines.extend(pay_by.and_then(|by| cut_off::by_in_full(by, lead_days, reader)));
        section.lines.extend(self.by_the_charges().map(|at| self.charges_words(at)));
        let why_unknown = billing::unknown_amounts(report, language).map(|why| words::capital(&why) + ".");
        section.lines.extend(why_unknown.or(ends_before.map(|days| {
            say!(
                language,
                "The report ends before {days} days are over.",
                "Отчёт охватывает не все {days} дней."
            )
        })));
        section.figure = self.figure();
        Some(section)
    }

    /// `Pay for 7 days: 45 RUB, 30 days: 275 RUB, 90 days: 875 RUB`.
    pub(super) fn sums(&self) -> Option<String> {
        let (report, _) = self.report.filter(|_| !self.is_unread())?;
        let language = self.context.language;
        let sum = |due: Due| {
            let amount = words::known_to_pay(due.amount, self.payer.currency, language);
            format!("{}: {amount}", language.count(due.days as usize, words::DAYS))
        };
        let sums = Due::of(report, self.context.now).map(sum).join(", ");
        Some(say!(language, "Pay for {sums}", "Оплатить на {sums}"))
    }

    fn figure(&self) -> Option<Figure> {
        let (report, from) = self.report?;
        let Payer { currency, reader, .. } = self.payer;
        let drawn = Chart::new(report, from, self.cut_off.edd, reader.now)?;
        Some(figure::figure(&drawn, currency, reader))
    }

    /// The date by the charges, if the report's own date is ahead and differs from it by more than a day.
    pub(super) fn by_the_charges(&self) -> Option<DateTime<Utc>> {
        let (report, _) = self.report.filter(|_| !self.is_overdue())?;
        forecast::date_by_charges(report)
    }

    fn charges_words(&self, at: DateTime<Utc>) -> String {
        let (language, reader) = (self.context.language, self.payer.reader);
        let sooner = self.cut_off.edd.is_none_or(|edd| at < edd);
        let by = self.payer.by(Disconnect::At { at, computed: true }).filter(|_| sooner);
        let advice = by.map_or_else(String::new, |by| {
            let by = cut_off::by(Some(by), reader);
            say!(language, "; to be safe, pay {by}", "; для надёжности оплатите {by}")
        });
        let when = self.moment(at);
        say!(
            language,
            "But by the charges in the report the balance is used up {when}{advice}.",
            "Но по начислениям в отчёте деньги закончатся {when}{advice}."
        )
    }

    /// The table of the dearest orders.
    pub(super) fn orders(&self) -> Option<Section> {
        let language = self.context.language;
        let (report, read_at) = self.report?;
        let orders = Orders::of(report, read_at);
        let named = &orders.dearest[..orders.dearest.len().min(MOST_ORDERS)];
        if named.is_empty() {
            return None;
        }
        let rows = named.iter().map(|order| vec![order.words(language), self.money(order.per_day)]);
        let mut section = Section::new(language.pick("What costs most", "Что стоит дороже всего"));
        let head = [language.pick("Order", "Заказ"), language.pick("A day", "В день")];
        section.table = Some(Table { head: head.map(str::to_owned).into(), rows: rows.collect() });
        let others = orders.orders_with_charges - named.len();
        if others > 0 {
            section.lines.push(words::more(others, language));
        }
        Some(section)
    }

    /// The resources that go offline with the account.
    pub(super) fn offline(&self) -> Section {
        let language = self.context.language;
        let title = match self.is_overdue() {
            true => language.pick("Offline, or about to be", "Отключено или вот-вот отключится"),
            false => language.pick("What will go offline", "Что отключится"),
        };
        let mut section = Section::new(title);
        let Some(state) = self.state else {
            let nothing = language.pick(
                "Not known: nothing of this account was read yet.",
                "Неизвестно: данных этого аккаунта ещё не было.",
            );
            section.lines.push(nothing.to_owned());
            return section;
        };
        let unread_containers = state.containers_without_sites_read();
        for sort in [Sort::Vm, Sort::Site] {
            let names: Vec<String> =
                state.resources_of(sort).map(|seen| parts::named(&seen, language)).collect();
            if names.is_empty() && !state.was_read(sort) {
                if state.profile.collectors.contains(&sort.seen_by()) {
                    let unread = language.pick("Not known: not read yet", "Неизвестно: данных ещё не было");
                    section.row(&words::capital(words::collected(sort.seen_by(), language)), unread);
                }
                continue;
            }
            let count = language.count(names.len(), words::noun_of(sort));
            let listed = words::few(&names, MOST_NAMES, language);
            let none = language.pick("none", "нет");
            section.row(&count, if listed.is_empty() { none.to_owned() } else { listed });
            if sort == Sort::Site && !state.was_read(sort) {
                section.lines.push(words::capital(&sites_not_read(unread_containers, language)) + ".");
            }
        }
        let causes = parts::causes(self.item, self.context);
        section.rows.extend(parts::causes_row(&causes, MOST_NAMES, language));
        section
    }
}
