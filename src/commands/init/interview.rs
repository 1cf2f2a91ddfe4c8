//! The questions in a terminal, in their order. Answered questions are skipped, and bad answers are asked
//! again.

use anyhow::Result;

use super::answers::{Answers, Question};
use super::asker::Asker;
use crate::commands::doctor;
use crate::commands::output::print;
use crate::model::{AccountState, ContainerState};
use crate::terminal;
use crate::view::words;

/// The number of containers in a state without a name that a question lists.
const MOST_NAMES: usize = 3;

/// The questions of a part, in their order.
type Part = &'static [(Question, &'static str)];

const PROVIDER: Part = &[
    (Question::PanelUrl, "Address of the panel, for VMs and billing, such as https://panel.example.com"),
    (Question::VmApiKey, "API key of the VMs"),
    (Question::BillingUsername, "User of the billing data, for the cut-off and the balance"),
    (Question::BillingPassword, "Password of that user"),
    (Question::BaseUrl, "Address of the hosting, for containers and sites, such as https://api.example.com"),
    (Question::HostingToken, "Token of the hosting; Enter if an API key fetches tokens that expire"),
    (Question::HostingTokenUrl, "Address at which the API key fetches a token"),
    (Question::HostingApiKey, "API key that fetches it"),
    (Question::TimeZone, "Time zone of the provider's dates, such as Europe/Moscow"),
    (Question::Currency, "Currency, such as RUB"),
];
const MAIL: Part = &[
    (
        Question::SmtpUrl,
        "Mail server, such as smtps://user%40example.com@mail.example.com or smtp://127.0.0.1:25",
    ),
    (Question::SmtpPassword, "Password of the mail server"),
    (Question::From, "Sender, such as hostwatch@example.com"),
    (Question::To, "Recipients of the mails; several with commas between"),
];
const CHAT: Part = &[
    (Question::TelegramToken, "Token of a Telegram bot that writes to you, from @BotFather"),
    (Question::TelegramChat, "Chat that it writes to: its number, or @name of a channel"),
    (Question::TelegramProxy, "Proxy, where Telegram is filtered, such as socks5h://127.0.0.1:1080"),
];

/// The interview of a person, with the answers so far.
pub(super) struct Interview<'a> {
    pub(super) asker: Asker,
    pub(super) answers: &'a mut Answers,
    /// Whether answered questions are asked again, since one of the answers is wrong.
    pub(super) again: bool,
}

impl Interview<'_> {
    /// Addresses, credentials, time zone and currency.
    pub(super) fn provider(&mut self) -> Result<()> {
        print("\nThe provider (Enter: none, or as it stands in brackets; -: takes an answer back)\n\n")?;
        self.part(PROVIDER)
    }

    /// Mail server, sender and recipients.
    pub(super) fn mail(&mut self) -> Result<()> {
        print("\nThe mails (without a mail server hostwatch is an exporter only)\n\n")?;
        self.part(MAIL)?;
        self.second_recipient()
    }

    /// Asks for a chat, beside mailboxes or in their place.
    pub(super) fn chat(&mut self) -> Result<()> {
        self.part(CHAT)
    }

    fn part(&mut self, part: Part) -> Result<()> {
        for &(key, question) in part {
            if self.answers.lead_to(key) {
                self.ask(key, question)?;
            }
        }
        Ok(())
    }

    /// Asks for a second recipient: a mailbox that goes down with the account gets no mail.
    fn second_recipient(&mut self) -> Result<()> {
        let only = self.answers.get(Question::To).filter(|to| !to.contains(','));
        let only = only.filter(|_| self.answers.lead_to(Question::To));
        let Some(to) = only.map(str::to_owned) else { return Ok(()) };
        let same = self.asker.confirm("Is this mailbox with the same provider?", false)?;
        let question = if same {
            print("  Then it may be off together with the account, and nobody reads that it was cut off.\n")?;
            "A second recipient, with another provider"
        } else {
            "A second recipient, for when the first is away"
        };
        loop {
            let second = self.asker.line(question)?;
            if second.is_empty() {
                return Ok(());
            }
            self.answers.set(Question::To, &format!("{to}, {second}"));
            let Some(complaint) = self.answers.complaint(Question::To) else { return Ok(()) };
            print(&format!("  {complaint}\n"))?;
            self.answers.set(Question::To, &to);
        }
    }

    pub(super) fn heartbeat(&mut self) -> Result<()> {
        print(
            "\nIf this machine or its network fails, no mail can say so. An outside service can: hostwatch fetches an\n\
             address of yours there once a minute, and the service alerts you when that stops (https://healthchecks.io\n\
             and others).\n\n",
        )?;
        self.ask(Question::HeartbeatUrl, "Address to fetch")
    }

    /// Asks for the names of container states, since the provider does not explain its numbers.
    pub(super) fn container_states(&mut self, state: &AccountState) -> Result<()> {
        let known: Vec<&str> = ContainerState::KNOWN.iter().map(ContainerState::as_str).collect();
        for (number, containers) in doctor::account::unnamed_states(state) {
            let count = words::count(containers.len(), "container", "containers");
            let named = containers.iter().filter_map(|one| one.name.as_deref()).take(MOST_NAMES);
            let named: Vec<String> = named.map(terminal::name).collect();
            let such =
                if named.is_empty() { String::new() } else { format!(", such as {}", named.join(", ")) };
            print(&format!("\n{count} in state {number}{such}\n"))?;
            for (index, name) in known.iter().enumerate() {
                print(&format!("  {} {name}\n", index + 1))?;
            }
            loop {
                let typed =
                    self.asker.line("Which is it, as the provider's panel shows them? Enter: not known")?;
                let chosen = typed.parse::<usize>().ok().and_then(|index| known.get(index.checked_sub(1)?));
                match (typed.as_str(), chosen) {
                    ("", _) => break,
                    (_, Some(name)) => {
                        self.answers.container_states.insert(number, (*name).to_owned());
                        break;
                    }
                    (_, None) => print(&format!("  Answer 1 to {}.\n", known.len()))?,
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, key: Question, question: &str) -> Result<()> {
        if !self.again && self.answers.get(key).is_some() && self.answers.complaint(key).is_none() {
            return Ok(());
        }
        let default = if key == Question::TimeZone { time_zone() } else { None };
        loop {
            let stands = self.answers.get(key).map(str::to_owned).or(default.clone());
            let typed = match &stands {
                None if key.is_secret() => self.asker.secret(question)?,
                None => self.asker.line(question)?,
                Some(_) if key.is_secret() => self.asker.secret(&format!("{question} [as before]"))?,
                Some(stands) => self.asker.line(&format!("{question} [{stands}]"))?,
            };
            match typed.as_str() {
                "" => self.answers.set(key, &stands.unwrap_or_default()),
                "-" => self.answers.take_back(key),
                typed => self.answers.set(key, typed),
            }
            let Some(complaint) = self.answers.complaint(key) else { return Ok(()) };
            print(&format!("  {complaint}\n"))?;
        }
    }
}

/// This machine's time zone, if it names a place. A server on UTC shows nothing about its owner.
fn time_zone() -> Option<String> {
    let path = std::fs::read_link("/etc/localtime").ok()?;
    let (_, name) = path.to_str()?.split_once("zoneinfo/")?;
    (name.contains('/') && !name.starts_with("Etc/")).then(|| name.to_owned())
}
