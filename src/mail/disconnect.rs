//! The mail about a cut-off: when, how much to pay by which day, the dearest orders, the resources that go
//! offline, and the reason for the mail. Pure.

use chrono::{DateTime, Utc};

use super::body::{Body, Section};
use super::context::Context;
use super::parts::{self, MOST_NAMES};
use super::subject::{self, Bracket, Subject};
use crate::alert::{CutOff, Event, Item, Kind};
use crate::model::changes::{self, Change};
use crate::model::forecast::{self, Disconnect};
use crate::model::{AccountState, Language, Money, Report, sanitize, say};
use crate::view::billing::{LONGEST_ERROR, order_of};
use crate::view::{Payer, words};

mod news;
mod pay;
mod receipt;

const MOST_CHANGES: usize = 10;

/// Subject and contents of such a mail.
pub(super) fn write(item: &Item, context: &Context<'_>) -> (Subject, Body) {
    let (accounts, language) = (std::slice::from_ref(&item.key.account), context.language);
    let facts = DisconnectMail::of(item, context);
    let subject = subject::line(Bracket::of(item), &facts.words(), accounts, language);
    let mut sections: Vec<Section> = facts.receipt().into_iter().collect();
    if item.event.is_end() {
        sections.push(facts.over());
    } else {
        sections.extend(facts.to_pay());
        sections.extend(facts.orders());
        sections.push(facts.offline());
        sections.push(facts.details());
        sections.extend(facts.changes());
    }
    let incident = format!("{}: {}", language.pick("Incident", "Ключ"), item.key);
    let body = Body {
        tone: subject.bracket,
        lead: facts.lead(),
        notes: facts.last_mail().into_iter().chain(facts.says()).collect(),
        sections,
        foot: std::iter::once(incident).chain(parts::foot(&[item], accounts, language)).collect(),
        ..Body::default()
    };
    (subject, body)
}

/// The same as lines in a chat: the amounts to pay, the deletion of the data, the resources that go offline.
pub(super) fn lines(item: &Item, context: &Context<'_>) -> Vec<String> {
    let facts = DisconnectMail::of(item, context);
    let receipt = facts.receipt().map(|receipt| receipt.in_a_line());
    let language = context.language;
    if item.event.is_end() {
        return receipt.into_iter().collect();
    }
    // The first line of a mail about the deletion names that day, and not the day of the cut-off.
    let deleted = if let Event::Deletion(_) = item.event {
        let when = facts.when_in_full();
        Some(say!(language, "Cut off: {when}", "Отключение: {when}"))
    } else {
        item.deleted_at.map(|at| facts.payer.reader.deletion(at))
    };
    let rows = facts.offline().rows.into_iter();
    let offline = rows.map(|(label, value)| format!("{label}: {value}")).collect::<Vec<_>>().join("; ");
    receipt
        .into_iter()
        .chain(facts.sums())
        .chain(deleted)
        .chain(Some(offline).filter(|line| !line.is_empty()))
        .collect()
}

/// The facts of the mail.
struct DisconnectMail<'a> {
    item: &'a Item,
    context: &'a Context<'a>,
    state: Option<&'a AccountState>,
    /// The report, and the time at which it was read.
    report: Option<(&'a Report, DateTime<Utc>)>,
    cut_off: CutOff,
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
            cut_off: item.cut_off.clone().unwrap_or_default(),
            payer: context.payer(&item.key.account),
        }
    }

    fn is_overdue(&self) -> bool {
        self.item.event == Event::Rung(0) || self.cut_off.is_overdue(self.context.now)
    }

    /// The cut-off is past, and no report confirmed it for a day.
    fn is_unread(&self) -> bool {
        self.payer.not_readable_since(self.cut_off.disconnect()).is_some()
    }

    /// The facts behind the mail: the date, the balance, the reason.
    fn details(&self) -> Section {
        let language = self.context.language;
        let mut section = Section::new(language.pick("The cut-off", "Об отключении"));
        section.row(language.pick("When", "Когда"), self.when_in_full());
        if let Some(at) = self.item.as_of {
            let at = self.moment(at);
            let newer = match self.state.and_then(|state| state.billing.error()) {
                Some(error) => {
                    let error = sanitize::one_line(error, LONGEST_ERROR);
                    say!(
                        language,
                        "the newest report carries an error: {error}",
                        "в новом отчёте ошибка: {error}"
                    )
                }
                None => {
                    language.pick("no newer report confirms it", "новый отчёт этого не подтвердил").to_owned()
                }
            };
            section.row(language.pick("As of", "Данные на"), format!("{at}; {newer}"));
        }
        if let Some(at) = self.item.deleted_at {
            section.row(language.pick("Data deleted", "Данные удалят"), self.moment(at));
        }
        self.balance(&mut section);
        section.row(why_label(language), parts::why(self.item, language));
        let causes = parts::causes(self.item, self.context);
        section.rows.extend(parts::causes_row(&causes, MOST_NAMES, language));
        section
    }

    /// `Wed 4 Mar 14:00 MSK (in 2 d 23 h)`.
    fn when_in_full(&self) -> String {
        let (when, beside) = self.payer.reader.cut_off_in_full(self.cut_off.disconnect(), None);
        format!("{when} ({beside})")
    }

    /// A warning that this is the last mail, if hostwatch runs on a VM of this account and no nearer threshold
    /// follows.
    fn last_mail(&self) -> Option<String> {
        let account = &self.item.key.account;
        let here = self.context.lives_on.as_ref().filter(|here| here.account == *account)?;
        let Event::Rung(rung) = self.item.event else { return None };
        let tightest = self.context.account(account)?.profile.tightest_rung;
        (rung <= tightest).then(|| {
            let vm = here.name();
            say!(
                self.context.language,
                "hostwatch itself runs on {vm}: no mail after the cut-off.",
                "Сам hostwatch работает на {vm}: после отключения писем не будет."
            )
        })
    }

    /// Dearer orders and drops of the balance, in the words of the mails that they do not get.
    fn says(&self) -> Vec<String> {
        let language = self.context.language;
        let said = self.item.says.iter().map(|one| parts::listed(one, 160, language) + ".").collect();
        words::first(said, MOST_NAMES, language)
    }

    fn balance(&self, section: &mut Section) {
        let language = self.context.language;
        let label = language.pick("Balance", "Баланс");
        let Some((report, read_at)) = self.report else {
            let unknown = language
                .pick("Not known: no report could be read yet", "Неизвестен: отчёт получить не удалось");
            section.row(label, unknown);
            return;
        };
        if let Some(balance) = forecast::balance_now(report) {
            let (balance, at) = (self.money(balance), self.moment(read_at));
            section.row(label, say!(language, "{balance}, as reported {at}", "{balance} по отчёту на {at}"));
        }
        if let Some(cost) = forecast::cost_per_day(report, read_at) {
            section.row(language.pick("Costs a day", "Расход в день"), self.money(cost));
        }
    }

    /// The differences between the last two reports.
    fn changes(&self) -> Option<Section> {
        let (report, read_at) = self.report?;
        let previous = self.state?.billing.previous.as_deref()?;
        let is_receipt = self.receipt().is_some();
        let language = self.context.language;
        let title = language.pick("Changed since the last report", "Что изменилось с прошлого отчёта");
        let mut section = Section::new(title);
        let found = changes::changes(previous, report, read_at);
        let says = |kind, id| self.item.says.iter().any(|one| one.key.kind == kind && one.key.id() == id);
        // The receipt shows the payment, and the notes below the first line show what they say.
        let is_told = |change: &&Change| match change {
            Change::Paid(_) => is_receipt,
            Change::Charged(_) => says(Kind::BalanceDrop, None),
            Change::Repriced { order, .. } => says(Kind::OrderCost, Some(order.get())),
            Change::Moved { from, to } => self.day(*from) == self.day(*to),
            Change::New { .. } | Change::Gone { .. } => false,
        };
        let listed = found.iter().filter(|change| !is_told(change));
        let listed = listed.map(|change| self.change(change, previous, report)).collect();
        section.list = words::first(listed, MOST_CHANGES, language);
        (!section.list.is_empty()).then_some(section)
    }

    fn change(&self, change: &Change, previous: &Report, report: &Report) -> String {
        let language = self.context.language;
        match change {
            Change::Moved { from, to } => {
                let (from, to) = (self.day(*from), self.day(*to));
                say!(language, "Cut-off: {to}, was: {from}", "Отключение: {to}, было: {from}")
            }
            Change::Paid(amount) => {
                let amount = self.money(*amount);
                say!(
                    language,
                    "Payment: balance {amount} higher than forecast",
                    "Платёж: баланс на {amount} выше прогноза"
                )
            }
            Change::Charged(amount) => {
                let amount = self.money(*amount);
                say!(
                    language,
                    "Unexpected charge: balance {amount} lower than forecast",
                    "Неожиданное списание: баланс на {amount} ниже прогноза"
                )
            }
            Change::New { order, per_day } => {
                let (order, cost) = (order_of(report, *order, language), self.money(*per_day));
                say!(language, "New: {order}, {cost} a day", "Новый: {order}, {cost} в день")
            }
            Change::Gone { order, per_day } => {
                let (order, cost) = (order_of(previous, *order, language), self.money(*per_day));
                say!(language, "Gone: {order}, {cost} a day", "Больше нет: {order}, {cost} в день")
            }
            Change::Repriced { order, from, to } => {
                let order = order_of(report, *order, language);
                let (from, to) = (self.money(*from), self.money(*to));
                say!(
                    language,
                    "New price: the next charge of {order} is {to}, was {from}",
                    "Новая цена: {order}, следующее начисление {to}, было {from}"
                )
            }
        }
    }

    fn day(&self, cut_off: Disconnect) -> String {
        self.payer.reader.cut_off_labelled(cut_off)
    }

    fn over(&self) -> Section {
        let language = self.context.language;
        let mut section = Section::new(language.pick("The account", "Аккаунт"));
        self.balance(&mut section);
        section.row(why_label(language), parts::why(self.item, language));
        section
    }

    fn moment(&self, at: DateTime<Utc>) -> String {
        self.payer.reader.moment(at)
    }

    fn money(&self, money: Money) -> String {
        words::spaced_amount(money, self.payer.currency, self.context.language)
    }
}

const fn why_label(language: Language) -> &'static str {
    language.pick("Why this mail", "Почему письмо")
}
