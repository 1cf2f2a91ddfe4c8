//! The disconnect mail: when, how much to pay by which day, what costs most, what goes dark, what moved
//! the date. Pure.

use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;

use super::body::{Body, Figure, Section, Table, Tone};
use super::chart::Chart;
use super::context::{Context, LivesOn};
use super::resources::{self, MOST_NAMES};
use crate::alert::{Event, Item, Ladder};
use crate::model::changes::{self, Change};
use crate::model::forecast::{self, Disconnect, SPANS_DAYS};
use crate::model::sanitize;
use crate::model::{AccountState, Collector, Edd, Money, OrderId, PayBy, Report};
use crate::view::billing::{Orders, order_name};
use crate::view::words;

const MOST_ORDERS: usize = 5;
const MOST_CHANGES: usize = 10;

/// The content of a disconnect mail.
pub(super) fn body(item: &Item, context: &Context<'_>) -> Body {
    let account = &item.key.account;
    let facts = Facts::of(item, context);
    let mut sections = Vec::new();
    if resources::is_over(item) {
        sections.push(facts.over());
    } else {
        sections.push(facts.in_short());
        sections.extend(facts.to_pay());
        sections.extend(facts.changes());
        sections.extend(facts.orders());
        sections.push(facts.dark());
    }
    Body {
        tone: if resources::is_over(item) { Tone::Good } else { item.severity.into() },
        lead: facts.lead(),
        sections,
        foot: vec![
            format!("How this was decided: hostwatch why {}", item.key),
            resources::sender_line(std::slice::from_ref(account)),
        ],
    }
}

/// What the mail is written from.
struct Facts<'a> {
    item: &'a Item,
    state: Option<&'a AccountState>,
    /// The report and when it was read.
    report: Option<(&'a Report, DateTime<Utc>)>,
    ladder: Ladder,
    now: DateTime<Utc>,
    zone: Tz,
    lead_days: u32,
    tightest_rung: u32,
    lives_on: Option<&'a LivesOn>,
    currency: &'a str,
}

/// What the charges of a report say of the date that it names.
#[derive(Clone, Copy)]
enum Charges {
    /// The balance is used up then.
    UsedUp(DateTime<Utc>),
    /// It lasts to the report's end at least.
    LastUntil(DateTime<Utc>),
}

impl<'a> Facts<'a> {
    fn of(item: &'a Item, context: &'a Context<'_>) -> Self {
        let account = &item.key.account;
        let state = context.account(account);
        let billing = state.map(|state| &state.billing);
        Self {
            item,
            state,
            report: billing.and_then(|billing| billing.report.as_deref().zip(billing.read_at)),
            ladder: item.ladder.clone().unwrap_or_default(),
            now: context.now,
            zone: context.zone(account),
            lead_days: context.lead(account),
            tightest_rung: context.tightest_rung(account),
            lives_on: context.lives_on.as_ref(),
            currency: state.map_or("", |state| state.profile.currency.as_str()),
        }
    }

    fn is_overdue(&self) -> bool {
        self.item.event == Event::Rung(0) || self.ladder.is_overdue(self.now)
    }

    /// When, how much, by when: in one line.
    fn lead(&self) -> String {
        let account = &self.item.key.account;
        if resources::is_over(self.item) {
            return self.lead_over();
        }
        let pay = self.lead_amount();
        let when = self.ladder.edd.map(|edd| words::iso_weekday_moment(edd, self.zone));
        let labels = self.labels();
        if self.is_overdue() {
            let why = self.why_overdue();
            return format!("Account {account} is overdue: {why}{labels}. {}", words::capital(&pay));
        }
        let when = when.unwrap_or_else(|| "a day not known".to_owned());
        if matches!(self.item.event, Event::Extended(_)) {
            format!("The disconnect of account {account} moved to {when}{labels}: {pay}")
        } else {
            format!("Account {account} will be disconnected on {when}{labels}: {pay}")
        }
    }

    fn why_overdue(&self) -> String {
        let date = |edd| format!("its disconnect date, {},", words::iso_weekday_moment(edd, self.zone));
        match (self.ladder.used_up, self.ladder.edd) {
            (false, Some(edd)) => format!("{} has passed", date(edd)),
            (true, Some(edd)) if edd <= self.now => {
                format!("its balance is used up, and {} has passed", date(edd))
            }
            (true, Some(edd)) => {
                format!(
                    "its balance is used up; it goes dark on {}",
                    words::iso_weekday_moment(edd, self.zone)
                )
            }
            (_, None) => {
                let at = self.ladder.read_at.unwrap_or(self.item.at);
                format!("its balance is used up, as reported {}", words::iso_moment(at, self.zone))
            }
        }
    }

    fn lead_over(&self) -> String {
        let account = &self.item.key.account;
        let until = self.report.and_then(|(report, _)| report.date);
        let until =
            until.map_or_else(String::new, |date| format!(" before {}", words::iso_day(date, self.zone)));
        let balance = self.report.and_then(|(report, _)| forecast::balance_now(report));
        let balance =
            balance.map_or_else(String::new, |money| format!("; the balance is {}", self.money(money)));
        format!("No disconnect of account {account} is expected{until}{balance}.")
    }

    /// `pay 45 RUB by Sunday 2026-03-01 to stay online for 7 days.`
    fn lead_amount(&self) -> String {
        let Some((report, read_at)) = self.report else {
            return "how much to pay is not known, no report could be read yet.".to_owned();
        };
        let amounts = SPANS_DAYS.map(|days| (days, forecast::top_up_required(report, read_at, days)));
        let due =
            amounts.iter().find_map(|&(days, amount)| Some((days, amount.filter(|a| a.is_positive())?)));
        match due {
            Some((days, amount)) => {
                let by = self.pay_by().map_or_else(|| "soon".to_owned(), PayBy::in_sentence);
                format!("pay {} {by} to stay online for {days} days.", words::to_pay(amount, self.currency))
            }
            None if amounts.iter().any(|(_, amount)| amount.is_some()) => {
                "by its report nothing needs to be paid yet.".to_owned()
            }
            None => "how much to pay is not known, the report does not reach far enough.".to_owned(),
        }
    }

    /// ` (computed; as of 2026-03-01 12:00 MSK)`: what is doubtful about the date.
    fn labels(&self) -> String {
        let mut labels = Vec::new();
        if self.ladder.computed && self.ladder.edd.is_some() {
            labels.push("computed".to_owned());
        }
        if let Some(Charges::UsedUp(at)) = self.by_the_charges() {
            labels.push(format!("by its charges {}", words::iso_moment(at, self.zone)));
        }
        if let Some(at) = self.as_of() {
            labels.push(format!("as of {}", words::iso_moment(at, self.zone)));
        }
        if labels.is_empty() { String::new() } else { format!(" ({})", labels.join("; ")) }
    }

    /// When the date was read, where nothing newer confirms it.
    fn as_of(&self) -> Option<DateTime<Utc>> {
        let read_at = self.ladder.read_at?;
        let state = self.state?;
        let failed = state.collectors.get(&Collector::ExpectedBalance).is_none_or(|status| !status.success);
        (failed || state.billing.read_at != Some(read_at)).then_some(read_at)
    }

    /// Where the report's own date and its charges differ by more than a day: what the charges say.
    fn by_the_charges(&self) -> Option<Charges> {
        let (report, _) = self.report?;
        let Edd::At(edd) = report.edd else { return None };
        let day = Duration::days(1);
        match forecast::first_unpaid(report) {
            Some(computed) => ((edd - computed).abs() > day).then_some(Charges::UsedUp(computed)),
            None => {
                let end = report.date.filter(|&end| !report.moments.is_empty() && end > edd + day)?;
                Some(Charges::LastUntil(end))
            }
        }
    }

    fn charges_words(&self, charges: Charges) -> String {
        match charges {
            Charges::LastUntil(end) => {
                let end = words::iso_day(end, self.zone);
                format!("By the charges in the report the balance lasts beyond its end, {end}")
            }
            Charges::UsedUp(at) => {
                let when = words::iso_moment(at, self.zone);
                let sooner = self.ladder.edd.is_none_or(|edd| at < edd);
                let by = PayBy::before(at, self.lead_days, self.zone, self.now).filter(|_| sooner);
                let advice = by.map(|by| format!("; to be safe, pay {}", by.in_sentence()));
                let advice = advice.unwrap_or_default();
                format!("By the charges in the report the balance is used up {when}{advice}")
            }
        }
    }

    fn pay_by(&self) -> Option<PayBy> {
        if self.is_overdue() {
            return Some(PayBy::Now);
        }
        PayBy::before(self.ladder.edd?, self.lead_days, self.zone, self.now)
    }

    fn in_short(&self) -> Section {
        let mut section = Section::new("The disconnect");
        let when = match (self.ladder.edd, self.ladder.used_up) {
            (Some(edd), _) if edd <= self.now => {
                format!(
                    "{}: {} ago",
                    words::iso_weekday_moment(edd, self.zone),
                    words::long_span(self.now - edd)
                )
            }
            (Some(edd), _) => {
                format!(
                    "{}: in {}",
                    words::iso_weekday_moment(edd, self.zone),
                    words::long_span(edd - self.now)
                )
            }
            (None, true) => "Now: the balance is used up".to_owned(),
            (None, false) => "Not known".to_owned(),
        };
        section.row("When", when);
        if self.ladder.computed && self.ladder.edd.is_some() {
            section.row(
                "Computed",
                "The report names no date; this is the first charge that leaves nothing on the account.",
            );
        }
        if let Some(at) = self.as_of() {
            let at = words::iso_moment(at, self.zone);
            section.row("As of", format!("{at}; no newer report confirms it"));
        }
        if let Some(charges) = self.by_the_charges() {
            section.row("But", self.charges_words(charges));
        }
        if let Some(by) = self.pay_by() {
            section.row("Pay by", by.in_full(self.lead_days, self.now, self.zone));
        }
        self.balance(&mut section);
        section.row("What moved it", words::capital(&sanitize::one_line(&self.item.reason.to_string(), 400)));
        if let Some((from, to)) = self.item.unwatched {
            let (from, to) = (words::iso_moment(from, self.zone), words::iso_moment(to, self.zone));
            section.row("Unwatched", format!("Nobody watched from {from} to {to}."));
        }
        section.row("Incident", self.item.key.to_string());
        section.lines.extend(self.last_mail());
        section
    }

    /// Where hostwatch goes dark with what it watches, and no nearer rung is left to be told.
    fn last_mail(&self) -> Option<String> {
        let here = self.lives_on.filter(|here| here.account == self.item.key.account)?;
        let Event::Rung(rung) = self.item.event else { return None };
        (rung <= self.tightest_rung).then(|| {
            let vm = sanitize::one_line(&here.vm, 60);
            format!(
                "This may be my last mail: hostwatch runs on VM \"{vm}\" of this account, which goes dark with it."
            )
        })
    }

    fn balance(&self, section: &mut Section) {
        let Some((report, read_at)) = self.report else {
            section.row("Balance", "Not known: no report could be read yet");
            return;
        };
        let read = words::iso_moment(read_at, self.zone);
        if let Some(balance) = forecast::balance_now(report) {
            section.row("Balance", format!("{}, as reported {read}", self.money(balance)));
        }
        if let Some(cost) = forecast::cost_per_day(report, read_at) {
            section.row("Costs a day", self.money(cost));
        }
    }

    /// How much for how long.
    fn to_pay(&self) -> Option<Section> {
        let (report, read_at) = self.report?;
        let by = self.pay_by().map_or_else(|| "not known".to_owned(), PayBy::in_table);
        let rows = SPANS_DAYS.map(|days| {
            let (amount, by) = match forecast::top_up_required(report, read_at, days) {
                Some(amount) if amount.is_positive() => (words::to_pay(amount, self.currency), by.clone()),
                Some(_) => ("nothing".to_owned(), "–".to_owned()),
                None => ("not known: the report ends before".to_owned(), "–".to_owned()),
            };
            let then = forecast::balance_in(report, read_at, days);
            let then = then.map_or_else(|| "not known".to_owned(), |then| self.money(then));
            vec![format!("{days} days"), amount, by, then]
        });
        let mut section = Section::new("To stay online");
        let head = ["For", "Pay", "By", "Balance then, unpaid"].map(str::to_owned);
        section.table = Some(Table { head: head.into(), rows: rows.into() });
        section.figure = self.figure();
        Some(section)
    }

    fn figure(&self) -> Option<Figure> {
        let (report, from) = self.report?;
        let (lead_days, zone, currency) = (self.lead_days, self.zone, self.currency);
        Chart { report, from, disconnect: self.ladder.edd, lead_days, zone, currency }.figure()
    }

    /// What the last two reports differ in.
    fn changes(&self) -> Option<Section> {
        let (report, read_at) = self.report?;
        let previous = self.state?.billing.previous.as_deref()?;
        let mut section = Section::new("What changed since the report before");
        let found = changes::changes(previous, report, read_at);
        let listed = found.iter().take(MOST_CHANGES);
        let mut lines: Vec<String> = listed.map(|change| self.change(change, previous, report)).collect();
        if found.len() > MOST_CHANGES {
            lines.push(format!("and {} more", found.len() - MOST_CHANGES));
        }
        section.list = lines;
        (!section.list.is_empty()).then_some(section)
    }

    fn change(&self, change: &Change, previous: &Report, report: &Report) -> String {
        let money = |money| words::amount(money, self.currency);
        let name = |report: &Report, id: OrderId| {
            let order = report.orders.iter().find(|order| order.id == id);
            order_words(order.and_then(|order| order_name(order)), id.get())
        };
        match change {
            Change::Moved { from, to } => {
                format!("The disconnect: before {}, now {}", self.when(*from), self.when(*to))
            }
            Change::Paid(amount) => {
                format!("A payment: the balance is {} above what was foreseen", money(*amount))
            }
            Change::Charged(amount) => {
                format!("A charge that was not foreseen: the balance is {} below", money(*amount))
            }
            Change::New { order, per_day } => {
                format!("New: {}, {} a day", name(report, *order), money(*per_day))
            }
            Change::Gone { order, per_day } => {
                format!("Gone: {}, {} a day", name(previous, *order), money(*per_day))
            }
            Change::Repriced { order, from, to } => {
                let name = name(report, *order);
                format!(
                    "Another price: the next charge of {name} is {} instead of {}",
                    money(*to),
                    money(*from)
                )
            }
        }
    }

    fn when(&self, disconnect: Disconnect) -> String {
        match disconnect {
            Disconnect::At { at, computed: false } => words::iso_moment(at, self.zone),
            Disconnect::At { at, computed: true } => {
                format!("{} (computed)", words::iso_moment(at, self.zone))
            }
            Disconnect::Now => "at once".to_owned(),
            Disconnect::NotExpected => "not expected".to_owned(),
            Disconnect::Unknown => "not known".to_owned(),
        }
    }

    /// What costs most.
    fn orders(&self) -> Option<Section> {
        let (report, read_at) = self.report?;
        let orders = Orders::of(report, read_at);
        let named = &orders.dearest[..orders.dearest.len().min(MOST_ORDERS)];
        if named.is_empty() {
            return None;
        }
        let rows = named.iter().map(|order| {
            let buys = match (order.buys_days, self.ladder.edd) {
                (Some(0), _) => "buys less than a day".to_owned(),
                (Some(days), _) => format!("buys {}", words::count(days as usize, "day", "days")),
                (None, Some(_)) => "none in this report".to_owned(),
                (None, None) => "–".to_owned(),
            };
            let share = format!("{} %", order.share_percent.round());
            vec![order_words(order.name(), order.id), self.money(order.per_day), share, buys]
        });
        let mut section = Section::new("What costs most");
        let head = ["Order", "A day", "Share", "Switching it off"].map(str::to_owned);
        section.table = Some(Table { head: head.into(), rows: rows.collect() });
        let others = orders.orders_with_charges - named.len();
        if others > 0 {
            let rest = orders.per_day - named.iter().map(|order| order.per_day).sum();
            let count = words::count(others, "other order", "other orders");
            section.lines.push(format!("{count}: {} a day together.", self.money(rest)));
        }
        Some(section)
    }

    /// What goes dark.
    fn dark(&self) -> Section {
        let mut section =
            Section::new(if self.is_overdue() { "Goes dark, or is already" } else { "Goes dark then" });
        let Some(state) = self.state else {
            section.lines.push("Not known: nothing of this account was read yet.".to_owned());
            return section;
        };
        let vms = state
            .vms
            .rows
            .iter()
            .map(|vm| resources::named(vm.name.as_deref(), vm.id.get(), vm.state.as_str(), "active"));
        let sites = state
            .all_sites()
            .map(|site| resources::named(site.name.as_deref(), site.id.get(), site.state.as_str(), "Active"));
        for (one, many, names, collector, read) in [
            ("VM", "VMs", vms.collect::<Vec<_>>(), Collector::Vms, state.vms.read_at.is_some()),
            ("site", "sites", sites.collect(), Collector::Sites, state.containers.read_at.is_some()),
        ] {
            if names.is_empty() && !read {
                if state.profile.collectors.contains(&collector) {
                    section.row(&words::capital(many), "Not known: not read yet");
                }
                continue;
            }
            let count = words::count(names.len(), one, many);
            let more = names.len().saturating_sub(MOST_NAMES);
            let mut listed = names.into_iter().take(MOST_NAMES).collect::<Vec<_>>().join(", ");
            if more > 0 {
                listed.push_str(&format!(" and {more} more"));
            }
            let value = if listed.is_empty() { "none".to_owned() } else { listed };
            section.row(&count, value);
        }
        section
    }

    fn over(&self) -> Section {
        let mut section = Section::new("The account");
        section.row("Why", words::capital(&sanitize::one_line(&self.item.reason.to_string(), 400)));
        section.row("Seen", words::iso_moment(self.item.at, self.zone));
        self.balance(&mut section);
        section.row("Incident", self.item.key.to_string());
        section
    }

    fn money(&self, money: Money) -> String {
        words::amount(money, self.currency)
    }
}

/// `shop (71)`: what it is called, and its number.
fn order_words(name: Option<&str>, id: u64) -> String {
    match name {
        Some(text) => format!("{} ({id})", sanitize::one_line(text, 40)),
        None => format!("order {id}"),
    }
}
