//! The digest: open and ended incidents and one row for each account, regularly, so that people know that
//! silence is health. Pure.

mod accounts;
mod unused;

use self::accounts::{AccountWeek, needs_you};
use super::body::{Body, Section, Table};
use super::context::{Context, MOST_LISTED};
use super::parts;
use super::subject::{self, Bracket, Subject};
use crate::alert::{Digest, Item, Kind, Notice, Severity};
use crate::model::{AccountName, AccountState, Language, say};
use crate::view::headline::paid_until;
use crate::view::{sentence, words};

/// Subject and content of a digest.
pub(super) fn write(notice: &Notice, facts: &Digest, context: &Context<'_>) -> (Subject, Body) {
    let week = DigestMail::of(notice, context);
    (subject::line(Bracket::Digest, &week.sentence(), &notice.accounts, context.language), week.body(facts))
}

/// The table of a notice's accounts.
pub(super) fn overview(notice: &Notice, context: &Context<'_>) -> Section {
    DigestMail::of(notice, context).table()
}

/// The facts of a digest.
struct DigestMail<'a> {
    names: &'a [AccountName],
    context: &'a Context<'a>,
    /// The soonest cut-off first.
    accounts: Vec<AccountWeek<'a>>,
    open: Vec<&'a Item>,
    /// The latest first.
    ended: Vec<&'a Item>,
    not_known: Section,
}

impl<'a> DigestMail<'a> {
    fn of(notice: &'a Notice, context: &'a Context<'a>) -> Self {
        let names = notice.accounts.as_slice();
        let mut accounts: Vec<AccountWeek<'_>> =
            names.iter().map(|name| AccountWeek::of(name, &notice.items, context)).collect();
        accounts.sort_by_cached_key(AccountWeek::soonest);
        let not_known = parts::not_known(accounts.iter().map(|account| account.name), context);
        let (open, mut ended): (Vec<&Item>, Vec<&Item>) =
            notice.items.iter().partition(|item| item.ended().is_none());
        ended.sort_by_key(|item| std::cmp::Reverse(item.ended()));
        Self { names, context, accounts, open, ended, not_known }
    }

    fn needs(&self) -> impl Iterator<Item = &'a Item> {
        self.open.iter().copied().filter(|item| needs_you(item))
    }

    /// The worst problem, or that all is well.
    fn sentence(&self) -> String {
        let mut parts = self.accounts.iter().filter_map(AccountWeek::urgent_cut_off).collect::<Vec<_>>();
        let problems = self.needs().filter(|item| item.key.kind != Kind::Disconnect);
        parts.extend(subject::by_resource(problems, self.context));
        if parts.is_empty() { self.calm() } else { sentence::worst_first(parts, self.context.language) }
    }

    /// `all well, 5 resources, paid until 31 May at least`. The number of resources is left out if none was
    /// read.
    fn calm(&self) -> String {
        let language = self.context.language;
        let summary = match (self.not_known.is_empty(), self.open.is_empty()) {
            (false, _) => language.pick("some data is missing", "часть данных не получена"),
            (true, true) => language.pick("all well", "всё хорошо"),
            (true, false) => language.pick("no new problems", "новых проблем нет"),
        };
        let resources = if self.accounts.iter().any(AccountWeek::is_read) {
            let states = self.accounts.iter().filter_map(|account| account.state);
            language.count(states.map(|state| state.resource_count()).sum(), words::RESOURCES)
        } else {
            language.pick("no resources read yet", "данных о ресурсах ещё не было").to_owned()
        };
        format!("{summary}, {resources}{}", self.paid().unwrap_or_default())
    }

    /// The date until which all accounts are paid, as the end of a sentence; `None` if no balance is watched or
    /// known.
    fn paid(&self) -> Option<String> {
        let language = self.context.language;
        let states: Vec<&AccountState> = self.accounts.iter().filter_map(|account| account.state).collect();
        let paid = paid_until(&states, self.context.reader())?;
        let whose = match paid.accounts.as_slice() {
            all if all.len() == self.accounts.len() => String::new(),
            [name] => say!(language, "{name} ", "{name}: "),
            some => {
                let accounts = language.count(some.len(), words::ACCOUNTS);
                say!(language, "{accounts} ", "{accounts}: ")
            }
        };
        Some(format!(", {whose}{}", paid.words))
    }

    fn body(&self, facts: &Digest) -> Body {
        let language = self.context.language;
        let mut sections = Vec::new();
        sections.extend(parts::lives_on(self.names, self.context));
        sections.push(self.not_known.clone());
        if !self.open.is_empty() {
            let open = self.open.len();
            let title = say!(language, "Open: {open}", "Открыто: {open}");
            sections.push(self.incidents(title, &self.open, MOST_LISTED));
        }
        sections.push(self.table());
        sections.push(unused::section(&self.open, &self.accounts, self.context));
        let from = self.context.of_first(self.names).since(facts.from);
        let title = say!(language, "Resolved {from}", "Решено {from}");
        let room = MOST_LISTED.saturating_sub(self.open.len());
        sections.push(self.incidents(title, &self.ended, room));
        sections.push(self.health());
        let listed = if self.open.is_empty() { &self.ended } else { &self.open };
        Body {
            tone: self.tone(),
            lead: format!(
                "{}, {}.",
                words::capital(&self.sentence()),
                self.context.of_first(self.names).moment(self.context.now)
            ),
            sections,
            foot: parts::foot(listed, self.names, language),
            ..Body::default()
        }
    }

    fn tone(&self) -> Bracket {
        if self.accounts.iter().any(AccountWeek::is_near) {
            return Bracket::Of(Severity::Critical);
        }
        match self.needs().map(|item| item.severity).max() {
            Some(worst) => Bracket::Of(worst),
            None if self.not_known.is_empty() => Bracket::Resolved,
            None => Bracket::Of(Severity::Warning),
        }
    }

    fn table(&self) -> Section {
        let language = self.context.language;
        let title =
            language.pick("Accounts, the soonest cut-off first", "Аккаунты, ближайшее отключение первым");
        let mut section = Section::new(title);
        let head = match language {
            Language::En => ["Account", "State", "Balance", "Pay by", "For 30 days"],
            Language::Ru => ["Аккаунт", "Состояние", "Баланс", "Оплатить до", "На 30 дней"],
        };
        let rows = self.accounts.iter().take(MOST_LISTED).map(AccountWeek::row);
        section.table = Some(Table { head: head.map(str::to_owned).into(), rows: rows.collect() });
        if let Some(left @ 1..) = self.accounts.len().checked_sub(MOST_LISTED) {
            let more = words::more(left, language);
            section.lines.push(say!(
                language,
                "{more}: hostwatch forecast lists all accounts.",
                "{more}: все аккаунты покажет команда hostwatch forecast."
            ));
        }
        section
    }

    fn incidents(&self, title: String, items: &[&Item], room: usize) -> Section {
        let language = self.context.language;
        let mut section = Section::new(title);
        section.list = items.iter().take(room).map(|item| self.incident(item)).collect();
        match items.len().saturating_sub(room) {
            0 if items.is_empty() => section.lines.push(language.pick("None.", "Ничего.").to_owned()),
            0 => {}
            left => {
                let more = words::more(left, language);
                section.lines.push(say!(
                    language,
                    "{more}: hostwatch incidents lists all of them.",
                    "{more}: всё покажет команда hostwatch incidents."
                ));
            }
        }
        section
    }

    /// An incident in one line of a mail, unless its name is long.
    fn incident(&self, item: &Item) -> String {
        let reader = self.context.of(&item.key.account);
        let language = reader.language;
        let when = match item.ended() {
            Some(ended) => {
                let lasted = words::lasted(ended - item.began, language);
                format!("{} ({lasted})", reader.period(item.began, ended))
            }
            None => reader.since(item.began),
        };
        let quiet = item.muted.words(reader).map(|quiet| format!("; {quiet}"));
        let account = self.accounts.iter().find(|account| *account.name == item.key.account);
        let account = account.filter(|_| item.key.kind == Kind::Disconnect && item.ended().is_none());
        let title = match account {
            Some(account) => words::capital(&account.cut_off()),
            None => parts::title(item, self.names.len() > 1, language),
        };
        let severity = words::severity(item.severity, language).to_lowercase();
        format!("{title}: {severity}, {when}{}", quiet.unwrap_or_default())
    }

    /// A section about the absence of the digest.
    fn health(&self) -> Section {
        let language = self.context.language;
        let mut section = Section::new(language.pick("Monitoring health", "Работа самого наблюдения"));
        let days = language.count(self.context.digest_days, words::DAYS);
        section.lines.push(say!(
            language,
            "{days} without this mail means that hostwatch, its machine or its mail is down.",
            "Если такого письма нет {days}, значит, не работает hostwatch, его машина или его почта."
        ));
        section
    }
}
