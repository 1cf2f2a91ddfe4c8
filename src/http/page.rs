//! The status page: the status as HTML. Everything in it is escaped by the template, but for the chart,
//! which holds only numbers and dates, and the cards, which have a template of their own. No script, no style outside of
//! the sheet.

use std::collections::BTreeSet;

use askama::Template;
use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;

use super::cards::{self, anchor};
use super::head::Head;
use super::query::{Fold, PageQuery};
use super::{chart, query};
use crate::alert::Sort;
use crate::model::forecast::Disconnect;
use crate::model::{AccountName, Money, PayBy, sanitize};
use crate::view::chart::Chart;
use crate::view::cut_off;
use crate::view::said::{Line, Topic};
use crate::view::{
    AccountStatus, Billing, Cards, CollectorRow, Health, Query, ResourceRow, StateCount, Status, Urgency,
    words,
};

/// What is not fine, as far as it is listed where nobody asked for all.
const NOT_FINE: usize = 5;

/// The page as HTML.
pub(super) fn render(status: &Status, cards: &Cards, asked: &PageQuery, telemetry_path: &str) -> String {
    let zone = status.accounts.first().map_or(Tz::UTC, AccountStatus::zone);
    let headline = &status.headline;
    let title = format!("{} {}", headline.level.sign(), headline.sentence);
    let other = query::link(&PageQuery { refresh: !asked.refresh, ..asked.clone() }, "");
    let head = Head::new(headline.level, &title, asked.refresh, other, zone, status.generated_at);
    let page = Page { head, status, cards, asked, query: &asked.query, telemetry_path };
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
}

/// What the template asks for beside plain fields.
impl Page<'_> {
    fn several(&self) -> bool {
        self.status.accounts.len() > 1
    }

    fn card_list(&self) -> String {
        cards::render(&self.cards.shown, self.several())
    }

    fn all_cards_link(&self) -> String {
        query::link(&PageQuery { all: true, ..self.asked.clone() }, "#incidents")
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

    /// Where the page shows what a line speaks of.
    fn place(&self, line: &Line) -> String {
        match (&line.incident, line.topic) {
            (Some(key), _) if self.cards.show(key) => format!("#{}", anchor(key)),
            (Some(key), _) => {
                query::link(&PageQuery { all: true, ..self.asked.clone() }, &format!("#{}", anchor(key)))
            }
            (None, Topic::CutOff) if self.several() => "#accounts".to_owned(),
            (None, Topic::CutOff) => "#billing".to_owned(),
            (None, Topic::Mails | Topic::Store) => "#mails".to_owned(),
            (None, Topic::Reading) => "#freshness".to_owned(),
            (None, Topic::Resources) => "#resources".to_owned(),
            (None, Topic::Incident) => "#incidents".to_owned(),
        }
    }

    fn level(&self, level: &Urgency) -> &'static str {
        match level {
            Urgency::Attention => "bad",
            Urgency::Unknown => "unknown",
            Urgency::Notice => "notice",
            Urgency::Fine => "fine",
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

    fn day(&self, account: &AccountStatus, at: &DateTime<Utc>) -> String {
        self.date(account, &at.with_timezone(&account.zone()).date_naive())
    }

    fn date(&self, account: &AccountStatus, date: &NaiveDate) -> String {
        words::subject_day(*date, account.zone(), self.status.generated_at)
    }

    fn moment(&self, account: &AccountStatus, at: &DateTime<Utc>) -> String {
        words::sentence_moment(*at, account.zone(), self.status.generated_at)
    }

    /// `23 min ago`, `in 2 d 5 h`.
    fn distance(&self, at: &DateTime<Utc>) -> String {
        words::distance(*at, self.status.generated_at)
    }

    fn up_for(&self) -> String {
        words::lasted(self.status.generated_at - self.status.started_at)
    }

    /// When anything was last read.
    fn last_read(&self) -> Option<DateTime<Utc>> {
        let rows = self.status.accounts.iter().flat_map(|account| &account.collectors);
        rows.filter_map(|row| row.last_success).max()
    }

    fn amount(&self, account: &AccountStatus, money: &Money) -> String {
        words::spaced_amount(*money, &account.currency)
    }

    /// An amount to pay, rounded up to whole units.
    fn to_pay(&self, account: &AccountStatus, money: &Option<Money>) -> String {
        words::known_to_pay(*money, &account.currency)
    }

    fn for_month(&self, account: &AccountStatus, billing: &Billing) -> String {
        self.to_pay(account, &billing.to_pay(30))
    }

    fn chart(&self, account: &AccountStatus, drawn: &Chart) -> String {
        let now = self.status.generated_at;
        chart::svg(&drawn.zoomed(now), &account.currency, now)
    }

    fn is_computed(&self, billing: &Billing) -> bool {
        matches!(billing.facts.disconnect, Disconnect::At { computed: true, .. })
    }

    /// The colour of what is said of the cut-off: none while it is far.
    fn money(&self, account: &AccountStatus, billing: &Billing) -> &'static str {
        let is_said = account.headline.lines.iter().any(|line| line.topic == Topic::CutOff);
        match (is_said, self.is_at_once(billing)) {
            (true, true) => "bad",
            (true, false) => "unknown",
            (false, _) => "",
        }
    }

    fn is_at_once(&self, billing: &Billing) -> bool {
        billing.facts.pay_by.is_some_and(PayBy::is_at_once)
    }

    /// `Pay by Wed 25 Nov`, over the amounts; `Pay` where no day is known.
    fn pay_by(&self, account: &AccountStatus, billing: &Billing) -> String {
        let Some(by) = billing.facts.pay_by else { return "Pay".to_owned() };
        let when = cut_off::by(Some(by), account.zone(), self.status.generated_at);
        let late = if by.is_at_once() { ": a payment may arrive too late" } else { "" };
        format!("Pay {when}{late}")
    }

    /// The only line, where it says the same as the headline.
    fn only_line(&self) -> Option<&Line> {
        match self.status.headline.lines.as_slice() {
            [line] if line.text == self.status.headline.sentence => Some(line),
            _ => None,
        }
    }

    fn last_day(&self, billing: &Billing) -> Option<NaiveDate> {
        billing.facts.pay_by.and_then(PayBy::date)
    }

    /// How much longer the money would last if it were switched off.
    fn without(&self, billing: &Billing, days: &Option<i64>) -> String {
        match billing.facts.is_cut_off_ahead(self.status.generated_at) {
            true => words::without_order(*days),
            false => "–".to_owned(),
        }
    }

    fn list_link(&self, query: Query) -> String {
        query::link(&PageQuery { query, ..self.asked.clone() }, "#resources")
    }

    /// Every kind and state, with a link that shows only those.
    fn state_link(&self, count: &StateCount) -> String {
        let kind = Some(count.kind.to_string());
        self.list_link(Query { kind, state: Some(count.state.clone()), page: 1, ..self.query.clone() })
    }

    fn is_chosen(&self, count: &StateCount) -> bool {
        self.query.kind.as_deref() == Some(count.kind.as_str())
            && self.query.state.as_deref() == Some(&count.state)
    }

    fn is_filtered(&self) -> bool {
        self.query.kind.is_some() || self.query.state.is_some() || !self.query.text.is_empty()
    }

    /// Resources are listed whatever their state.
    fn lists_all(&self) -> bool {
        self.is_filtered() || self.query.page > 1 || self.is_open(Fold::Fine)
    }

    /// Those that are listed; of those whose incident stands above, none.
    fn rows(&self) -> Vec<&ResourceRow> {
        let rows = self.status.resources.rows.iter();
        if self.lists_all() {
            return rows.collect();
        }
        let known = self.incident_resources();
        let is_new = |row: &&ResourceRow| !known.contains(&(&row.account, row.kind, row.id));
        rows.filter(|row| is_wrong(row.health)).filter(is_new).take(NOT_FINE).collect()
    }

    /// The resources that open incidents are about.
    fn incident_resources(&self) -> BTreeSet<(&AccountName, Sort, u64)> {
        let open = self.status.incidents.open.iter();
        open.filter_map(|row| Some((&row.account, row.kind.sort()?, row.key.id()?))).collect()
    }

    fn with_incident(&self) -> usize {
        self.incident_resources().len().min(self.not_fine())
    }

    /// How many are neither fine nor switched off.
    fn not_fine(&self) -> usize {
        let states = self.status.resources.states.iter();
        states.filter(|count| is_wrong(count.health)).map(|count| count.count).sum()
    }

    fn resource_count(&self) -> String {
        words::count(self.status.resources.total, "resource", "resources")
    }

    fn resource_link(&self, row: &ResourceRow) -> String {
        query::of_resource(&row.account, row.kind, row.id)
    }

    fn container_link(&self, row: &ResourceRow, id: &u64) -> String {
        query::of_resource(&row.account, Sort::Container, *id)
    }

    fn is_open(&self, fold: Fold) -> bool {
        self.asked.open.contains(&fold)
    }

    /// The same page with this open where it is folded, and folded where it is open.
    fn fold_link(&self, fold: Fold, part: &str) -> String {
        let mut asked = self.asked.clone();
        if !asked.open.remove(&fold) {
            asked.open.insert(fold);
        }
        query::link(&asked, part)
    }

    /// Of the resources: all of them, worst first.
    fn all_link(&self) -> String {
        let mut asked = self.asked.clone();
        asked.open.insert(Fold::Fine);
        asked.query = Query { account: self.query.account.clone(), page: 1, ..Query::default() };
        query::link(&asked, "#resources")
    }

    fn page_link(&self, page: usize) -> String {
        self.list_link(Query { page, ..self.query.clone() })
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
        row.name.clone().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "(no name)".to_owned())
    }

    /// Collectors of every account, those without trouble only where they are asked for.
    fn collectors(&self) -> Vec<(&AccountStatus, &CollectorRow)> {
        let accounts = self.status.accounts.iter();
        let all = accounts.flat_map(|account| account.collectors.iter().map(move |row| (account, row)));
        all.filter(|(_, row)| self.is_open(Fold::Data) || !row.is_well()).collect()
    }

    /// Something is to be said of mails beside how many went out.
    fn mails_in_full(&self) -> bool {
        let troubled = |outbox: &crate::view::OutboxSummary| outbox.waiting() > 0 || outbox.dead > 0;
        self.is_open(Fold::Data) || self.status.mails.outbox.as_ref().is_some_and(troubled)
    }
}

/// Neither fine nor switched off by its owner.
fn is_wrong(health: Health) -> bool {
    matches!(health, Health::Bad | Health::Unknown | Health::Passing)
}
