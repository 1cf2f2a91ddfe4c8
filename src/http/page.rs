//! The status page as HTML. The template escapes all values except the cards, which have a template of their own.
//! The page has no script, and no style outside of the sheet.

mod resources;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};

use super::cards::{self, anchor};
use super::head::Head;
use super::query;
use super::query::PageQuery;
use crate::alert::Kind;
use crate::model::{Health, Language, Money, Noun, Sort, sanitize, say};
use crate::view::figure::{self, Figure};
use crate::view::said::{Line, Topic};
use crate::view::{
    AccountStatus, Billing, Card, Cards, CollectorRow, Query, Reader, ResourceRow, Status, Urgency, words,
};
use crate::view::{cut_off, forms};

const OPEN: Noun = Noun {
    en: ["open incident", "open incidents"],
    ru: ["открытая проблема", "открытые проблемы", "открытых проблем"],
};

/// The page as HTML.
pub(super) fn render(
    status: &Status,
    cards: &Cards,
    asked: &PageQuery,
    telemetry_path: &str,
    reader: Reader,
) -> String {
    let reader = status.accounts.first().map_or(reader, |account| reader.within(account.time_zone));
    let headline = &status.headline;
    let title = format!("{} {}", headline.level.sign(), headline.sentence);
    let other = query::link(&PageQuery { refresh: !asked.refresh, ..asked.clone() }, "");
    let head = Head::new(&title, asked.refresh, other, reader);
    let (query, language) = (&asked.query, reader.language);
    let page = Page { head, status, cards, asked, query, telemetry_path, reader, language };
    sanitize::document(page.render().expect("a template over owned values has no way to fail"))
}

#[derive(Template)]
#[template(path = "http/templates/status.html")]
struct Page<'a> {
    head: Head,
    status: &'a Status,
    cards: &'a Cards,
    asked: &'a PageQuery,
    query: &'a Query,
    telemetry_path: &'a str,
    reader: Reader,
    language: Language,
}

/// The class of a level.
pub(super) fn level(level: Urgency) -> &'static str {
    match level {
        Urgency::Attention => "bad",
        Urgency::Unknown => "unknown",
        Urgency::Notice => "notice",
        Urgency::Fine => "fine",
    }
}

/// The methods that the template calls.
impl Page<'_> {
    fn several(&self) -> bool {
        self.status.accounts.len() > 1
    }

    /// The account whose balance is shown, and what is known of it.
    fn forecast(&self) -> Option<(&AccountStatus, &Billing)> {
        self.chosen().and_then(|account| Some((account, account.billing.as_ref()?)))
    }

    /// The card of the cut-off, where what to pay stands at the top.
    fn money_card(&self) -> Option<&Card> {
        let account = &self.forecast()?.0.name;
        let is_it = |card: &&Card| card.key.kind == Kind::Disconnect && card.key.account == *account;
        self.cards.shown.iter().find(is_it)
    }

    fn money_card_list(&self) -> String {
        let cards: Vec<&Card> = self.money_card().into_iter().collect();
        cards::render(&cards, cards::Shown { several: false, is_said: true }, &self.head)
    }

    /// All cards but that one.
    fn other_cards(&self) -> Vec<&Card> {
        let money = self.money_card().map(|card| &card.key);
        self.cards.shown.iter().filter(|card| Some(&card.key) != money).collect()
    }

    fn card_list(&self) -> String {
        let cards = self.other_cards();
        let only = self.only_line().and_then(|line| line.incident.as_ref());
        let is_said = matches!(cards.as_slice(), [card] if Some(&card.key) == only);
        cards::render(&cards, cards::Shown { several: self.several(), is_said }, &self.head)
    }

    /// Open incidents beside that of the card at the top.
    fn other_open(&self) -> usize {
        self.cards.open.saturating_sub(self.money_card().map_or(0, |card| 1 + card.covers.count))
    }

    /// The lines of the headline that no card shows.
    fn lines_without_card(&self) -> Vec<&Line> {
        let lines = self.status.headline.lines.iter();
        let is_cardless =
            |line: &&Line| line.incident.is_none() && !matches!(line.topic, Topic::CutOff | Topic::Resources);
        lines.filter(is_cardless).filter(|_| self.only_line().is_none()).collect()
    }

    fn past_link(&self, days: i64) -> String {
        query::of_past(days, self.query.account.as_deref())
    }

    /// The account whose billing is shown in full: the only one, or the selected one.
    fn chosen(&self) -> Option<&AccountStatus> {
        match self.status.accounts.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The place on the page that a line links to.
    fn place(&self, line: &Line) -> String {
        match (&line.incident, line.topic) {
            (Some(key), _) => query::of_incident(key).unwrap_or_else(|| format!("#{}", anchor(key))),
            (None, Topic::CutOff) if self.several() => "#accounts".to_owned(),
            (None, Topic::CutOff) => "#billing".to_owned(),
            (None, Topic::Mails | Topic::Store) => "#mails".to_owned(),
            (None, Topic::Reading) => "#freshness".to_owned(),
            (None, Topic::Resources | Topic::Incident) => "#resources".to_owned(),
        }
    }

    fn level(&self, of: &Urgency) -> &'static str {
        level(*of)
    }

    /// Beside the sign of an account.
    fn level_word(&self, of: &Urgency) -> &'static str {
        match of {
            Urgency::Attention => self.head.say("problem", "проблема"),
            Urgency::Unknown => self.head.say("not known", "неизвестно"),
            Urgency::Notice => self.head.say("see below", "см. ниже"),
            Urgency::Fine => self.head.say("fine", "в порядке"),
        }
    }

    fn health(&self, health: &Health) -> &'static str {
        match health {
            Health::Bad => "bad",
            Health::Unknown => "unknown",
            Health::Passing | Health::Off => "off",
            Health::Fine => "fine",
        }
    }

    /// The reader of words about an account.
    fn of(&self, account: &AccountStatus) -> Reader {
        self.reader.within(account.time_zone)
    }

    /// The time of the last reading.
    fn last_read(&self) -> Option<DateTime<Utc>> {
        let rows = self.status.accounts.iter().flat_map(|account| &account.collectors);
        rows.filter_map(|row| row.last_success).max()
    }

    fn amount(&self, account: &AccountStatus, money: &Money) -> String {
        words::spaced_amount(*money, &account.currency, self.language)
    }

    /// An amount to pay, rounded up to whole units.
    fn to_pay(&self, account: &AccountStatus, money: Option<Money>) -> String {
        words::known_to_pay(money, &account.currency, self.language)
    }

    fn state(&self, name: &str) -> String {
        forms::state(name, self.language)
    }

    fn sort(&self, sort: &Sort) -> &'static str {
        words::sort(*sort, self.language)
    }

    /// `4 more`.
    fn more(&self, left: usize) -> String {
        say!(self.language, "{left} more", "ещё {left}")
    }

    fn open_incidents(&self) -> String {
        self.language.count(self.other_open(), OPEN)
    }

    /// `for 30 days`.
    fn for_days(&self, days: &u32) -> String {
        let days = self.language.count(*days as usize, words::DAYS);
        say!(self.language, "for {days}", "на {days}")
    }

    fn show_orders(&self, billing: &Billing) -> String {
        let orders = self.language.count(billing.orders.orders_with_charges, words::ORDERS);
        say!(self.language, "Show {orders} by cost", "Показать {orders} по стоимости")
    }

    fn figure(&self, account: &AccountStatus, billing: &Billing) -> Option<Figure> {
        Some(figure::figure(billing.chart.as_ref()?, &account.currency, self.reader))
    }

    /// The picture as text, since it is a part of the page.
    fn picture(&self, figure: &Figure) -> String {
        STANDARD.encode(&figure.png)
    }

    /// The colour of the lines about the cut-off; none while it is far.
    fn money(&self, account: &AccountStatus, billing: &Billing) -> &'static str {
        let is_said = account.headline.lines.iter().any(|line| line.topic == Topic::CutOff);
        match (is_said, billing.pay_at_once) {
            (true, true) => "bad",
            (true, false) => "unknown",
            (false, _) => "",
        }
    }

    /// `Pay by Wed 25 Nov`, above the amounts; `Pay` if no day is known.
    fn pay_by(&self, account: &AccountStatus, billing: &Billing) -> String {
        let language = self.language;
        let Some(by) = billing.by(self.of(account)) else {
            return language.pick("Pay", "Оплатить").to_owned();
        };
        let when = cut_off::by(Some(by), self.of(account));
        let late = match by.is_at_once() {
            true => language
                .pick(": a bank transfer may not arrive in time", ": банковский перевод может не успеть"),
            false => "",
        };
        say!(language, "Pay {when}{late}", "Оплатите {when}{late}")
    }

    /// `Wed 25 Nov`, `today`, `now`; a dash if no day is known.
    fn day_to_pay(&self, account: &AccountStatus, billing: &Billing) -> String {
        let reader = self.of(account);
        billing.by(reader).map_or_else(|| "–".to_owned(), |by| cut_off::day_to_pay(by, reader))
    }

    /// The only line, if it says the same as the headline.
    fn only_line(&self) -> Option<&Line> {
        match self.status.headline.lines.as_slice() {
            [line] if line.text == self.status.headline.sentence => Some(line),
            _ => None,
        }
    }

    fn account_link(&self, account: &AccountStatus) -> String {
        let query = Query { account: Some(account.name.to_string()), page: 1, ..Query::default() };
        query::link(&PageQuery { query, ..self.asked.clone() }, "")
    }

    fn everybody_link(&self) -> String {
        let query = Query { page: 1, ..Query::default() };
        query::link(&PageQuery { query, ..self.asked.clone() }, "")
    }

    fn name(&self, row: &ResourceRow) -> String {
        row.name
            .clone()
            .filter(|name| !name.trim().is_empty())
            .unwrap_or_else(|| self.language.pick("(no name)", "(без имени)").to_owned())
    }

    /// The collectors of every account. Working ones are included only if they are asked for.
    fn collectors(&self) -> Vec<(&AccountStatus, &CollectorRow)> {
        let accounts = self.status.accounts.iter();
        let all = accounts.flat_map(|account| account.collectors.iter().map(move |row| (account, row)));
        all.filter(|(_, row)| self.asked.all || !row.is_well()).collect()
    }

    /// Whether the section on mails shows more than the time of the last one.
    fn mails_in_full(&self) -> bool {
        self.asked.all || self.status.mails.outbox.is_some_and(|outbox| outbox.waiting() > 0)
    }
}
