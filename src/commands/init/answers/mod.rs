//! The answers. Each is a key of the configuration, checked by the configuration's own rules as if a variable
//! set it, and written into the file. Secrets go to files of their own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use strum::VariantArray;
use url::Url;

use crate::cli;
use crate::config::{self, Environment, Settings};
use crate::config_error::{ConfigErrors, ConfigProblem};
use crate::model::AccountName;
use crate::read_file;

/// A question of `init`, in the order in which they are asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, VariantArray)]
pub(super) enum Question {
    PanelUrl,
    VmApiKey,
    BillingUsername,
    BillingPassword,
    TimeZone,
    Currency,
    BaseUrl,
    HostingToken,
    HostingTokenUrl,
    HostingApiKey,
    HostingTokenFields,
    SmtpUrl,
    SmtpPassword,
    From,
    To,
    TelegramToken,
    TelegramChat,
    TelegramProxy,
    TelegramApiUrl,
    HeartbeatUrl,
}

impl Question {
    /// The table, the name in it, and the flag.
    const fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::PanelUrl => ("", "panel_url", "--panel-url"),
            Self::VmApiKey => ("", "vm_api_key", "--vm-api-key-file"),
            Self::BillingUsername => ("", "billing_username", "--billing-username"),
            Self::BillingPassword => ("", "billing_password", "--billing-password-file"),
            Self::TimeZone => ("", "time_zone", "--time-zone"),
            Self::Currency => ("", "currency", "--currency"),
            Self::BaseUrl => ("", "base_url", "--base-url"),
            Self::HostingToken => ("", "hosting_token", "--hosting-token-file"),
            Self::HostingTokenUrl => ("", "hosting_token_url", "--hosting-token-url"),
            Self::HostingApiKey => ("", "hosting_api_key", "--hosting-api-key-file"),
            Self::HostingTokenFields => ("", "hosting_token_fields", "--hosting-token-fields"),
            Self::SmtpUrl => ("email", "smtp_url", "--smtp-url"),
            Self::SmtpPassword => ("email", "password", "--smtp-password-file"),
            Self::From => ("email", "from", "--from"),
            Self::To => ("email", "to", "--to"),
            Self::TelegramToken => (CHAT, "token", "--telegram-token-file"),
            Self::TelegramChat => (CHAT, "chat_id", "--telegram-chat"),
            Self::TelegramProxy => (CHAT, "proxy", "--telegram-proxy"),
            Self::TelegramApiUrl => (CHAT, "api_url", "--telegram-api-url"),
            Self::HeartbeatUrl => ("heartbeat", "url", "--heartbeat-url"),
        }
    }

    /// The answer that gives this one a meaning.
    const fn needs(self) -> Option<Self> {
        match self {
            Self::VmApiKey | Self::BillingUsername => Some(Self::PanelUrl),
            Self::BillingPassword => Some(Self::BillingUsername),
            Self::HostingToken | Self::HostingTokenUrl => Some(Self::BaseUrl),
            Self::HostingApiKey | Self::HostingTokenFields => Some(Self::HostingTokenUrl),
            Self::SmtpPassword | Self::From | Self::To => Some(Self::SmtpUrl),
            Self::TelegramChat | Self::TelegramProxy | Self::TelegramApiUrl => Some(Self::TelegramToken),
            Self::PanelUrl | Self::TimeZone | Self::Currency | Self::BaseUrl => None,
            Self::SmtpUrl | Self::TelegramToken | Self::HeartbeatUrl => None,
        }
    }

    fn is_list(self) -> bool {
        matches!(self, Self::To | Self::HostingTokenFields)
    }

    /// Whether the answer comes from a file, and goes to one.
    pub(super) fn is_secret(self) -> bool {
        self.row().2.ends_with("-file")
    }
}

/// The answers so far.
#[derive(Clone)]
pub(super) struct Answers {
    pub(super) account: AccountName,
    values: BTreeMap<Question, String>,
    pub(super) container_states: BTreeMap<i64, String>,
}

impl Answers {
    /// The answers in flags and variables; flags come first.
    pub(super) fn given(args: &cli::Init, env: &Environment) -> Result<Self> {
        if args.account.as_str().contains("__") {
            bail!(
                "--account {}: no variable could name it, since '__' separates levels of a key",
                args.account
            );
        }
        let mut answers = Self {
            account: args.account.clone(),
            values: BTreeMap::new(),
            container_states: BTreeMap::new(),
        };
        answers.take_variables(env, args.config.file.parent().unwrap_or(Path::new("")))?;
        answers.container_states.extend(args.container_states.iter().cloned());
        let to = (!args.to.is_empty()).then(|| args.to.join(", "));
        let texts = [
            (Question::PanelUrl, &args.panel_url),
            (Question::BillingUsername, &args.billing_username),
            (Question::TimeZone, &args.time_zone),
            (Question::Currency, &args.currency),
            (Question::BaseUrl, &args.base_url),
            (Question::HostingTokenUrl, &args.hosting_token_url),
            (Question::HostingTokenFields, &args.hosting_token_fields),
            (Question::SmtpUrl, &args.smtp_url),
            (Question::From, &args.from),
            (Question::To, &to),
            (Question::TelegramChat, &args.telegram_chat),
            (Question::TelegramProxy, &args.telegram_proxy),
            (Question::TelegramApiUrl, &args.telegram_api_url),
            (Question::HeartbeatUrl, &args.heartbeat_url),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                answers.set(key, text);
            }
        }
        let files = [
            (Question::VmApiKey, &args.vm_api_key_file),
            (Question::BillingPassword, &args.billing_password_file),
            (Question::HostingToken, &args.hosting_token_file),
            (Question::HostingApiKey, &args.hosting_api_key_file),
            (Question::SmtpPassword, &args.smtp_password_file),
            (Question::TelegramToken, &args.telegram_token_file),
        ];
        for (key, file) in files {
            if let Some(file) = file {
                answers.set(key, &secret_in(file).with_context(|| key.row().2)?);
            }
        }
        Ok(answers)
    }

    /// Takes the variables that set these keys. Files are relative to the directory of the configuration, as in the
    /// configuration itself.
    fn take_variables(&mut self, env: &Environment, directory: &Path) -> Result<()> {
        for &key in Question::VARIANTS {
            let variable = self.variable(key).replace('-', "_");
            for (rest, text) in env.below(&variable) {
                match rest.to_ascii_lowercase().as_str() {
                    "" => self.set(key, text),
                    "_file" if key.is_secret() => {
                        let file = secret_in(&directory.join(text));
                        self.set(key, &file.with_context(|| format!("{variable}{rest}"))?);
                    }
                    _ => {}
                }
            }
        }
        let states = self.variable_of_state("").replace('-', "_");
        for (code, name) in env.below(&states) {
            let state = cli::container_state(&format!("{code}={name}"));
            self.container_states.extend([state.map_err(|error| anyhow!("{states}{code}: {error}"))?]);
        }
        Ok(())
    }

    pub(super) fn get(&self, key: Question) -> Option<&str> {
        self.values.get(&key).map(String::as_str)
    }

    /// Sets an answer; an empty text removes it. A list has commas between its parts, or is one as in the file.
    pub(super) fn set(&mut self, key: Question, text: &str) {
        let listed = key.is_list().then(|| config::listed(text)).flatten();
        let text = listed.map_or_else(|| text.trim().to_owned(), |all| all.join(", "));
        if text.is_empty() {
            self.values.remove(&key);
        } else {
            self.values.insert(key, text);
        }
    }

    /// Takes an answer back, and those to which it gives a meaning.
    pub(super) fn take_back(&mut self, key: Question) {
        self.values.remove(&key);
        let others = Question::VARIANTS.iter().filter(|one| one.needs() == Some(key));
        others.for_each(|&one| self.take_back(one));
    }

    /// Whether the other answers leave a question open.
    pub(super) fn lead_to(&self, key: Question) -> bool {
        let has = |one| self.get(one).is_some();
        let is_spare = [
            (Question::HostingToken, has(Question::HostingTokenUrl)),
            (Question::HostingTokenUrl, has(Question::HostingToken)),
            (Question::SmtpPassword, !self.logs_in()),
        ];
        key.needs().is_none_or(|one| has(one) && self.lead_to(one)) && !is_spare.contains(&(key, true))
    }

    /// All recipients, if a chat is among them. The account itself then names them.
    fn everybody(&self) -> Option<String> {
        self.get(Question::TelegramToken)?;
        let mails = self.get(Question::To).map(|to| format!("{to}, ")).unwrap_or_default();
        Some(format!("{mails}telegram:chat"))
    }

    /// Whether the mail server needs a password.
    fn logs_in(&self) -> bool {
        let url = self.get(Question::SmtpUrl).and_then(|url| Url::parse(url).ok());
        url.is_some_and(|url| !url.username().is_empty())
    }

    /// The error of an answer, including that it is missing beside the others.
    pub(super) fn complaint(&self, key: Question) -> Option<String> {
        let path = self.path(key);
        let problems = self.settings().err()?.0;
        // Variables have an account's name without regard to case.
        problems
            .into_iter()
            .find(|problem| problem.key.eq_ignore_ascii_case(&path))
            .map(|problem| problem.message)
    }

    /// Checks the answers that no question asks for again.
    pub(super) fn without_question(&self) -> Result<()> {
        for key in [Question::HostingTokenFields, Question::TelegramApiUrl] {
            let complaint = self.get(key).and_then(|_| self.complaint(key));
            if let Some(complaint) = complaint {
                bail!("{}: {complaint}", key.row().2);
            }
        }
        Ok(())
    }

    /// The answers to the questions before this one.
    pub(super) fn before(&self, question: Question) -> Self {
        let mut before = self.clone();
        before.values.retain(|&key, _| key < question);
        before
    }

    /// The settings that follow from all answers.
    ///
    /// # Errors
    /// All errors in them.
    pub(super) fn settings(&self) -> Result<Settings, ConfigErrors> {
        let values = self.values.iter().map(|(&key, text)| (self.variable(key), text.clone()));
        let account = &self.account;
        let to = self.everybody().map(|to| (format!("HOSTWATCH_ACCOUNTS__{account}__TO"), to));
        let states = self.container_states.iter();
        let states = states.map(|(code, name)| (self.variable_of_state(&code.to_string()), name.clone()));
        let mut settings = config::load(None, &values.chain(states).chain(to).collect());
        if let Err(problems) = &mut settings {
            let whole = self.path_of_account();
            let to = format!("{whole}.to");
            for problem in &mut problems.0 {
                if problem.key == "accounts" || problem.key == whole {
                    NOTHING.clone_into(&mut problem.message);
                } else if problem.key.eq_ignore_ascii_case(&to) && self.everybody().is_none() {
                    NOBODY.clone_into(&mut problem.message);
                }
            }
        }
        let proxy = self.get(Question::TelegramProxy).and_then(|proxy| Url::parse(proxy).ok());
        if settings.is_ok() && proxy.is_some_and(|proxy| proxy.password().is_some()) {
            let (key, message) = (self.path(Question::TelegramProxy), SHOWN.to_owned());
            return Err(ConfigErrors(vec![ConfigProblem { source: String::new(), key, message }]));
        }
        settings
    }

    /// The same for flags: each error names its flag.
    pub(super) fn checked(&self) -> Result<Settings> {
        let problems = match self.settings() {
            Ok(settings) => return Ok(settings),
            Err(problems) => problems.0,
        };
        let line = |problem: ConfigProblem| {
            let flag =
                Question::VARIANTS.iter().find(|&&key| self.path(key).eq_ignore_ascii_case(&problem.key));
            let flag = flag.map(|key| key.row().2);
            format!("{}: {}", flag.unwrap_or(&problem.key), problem.message)
        };
        let lines: Vec<String> = problems.into_iter().map(line).collect();
        bail!("nothing was written; hostwatch init --help has the flags\n{}", lines.join("\n"))
    }

    fn path(&self, key: Question) -> String {
        let (table, name, _) = key.row();
        if table.is_empty() {
            format!("{}.{name}", self.path_of_account())
        } else {
            format!("{table}.{name}")
        }
    }

    fn path_of_account(&self) -> String {
        format!("accounts.{}", self.account)
    }

    fn variable(&self, key: Question) -> String {
        format!("HOSTWATCH_{}", self.path(key).replace('.', "__"))
    }

    fn variable_of_state(&self, code: &str) -> String {
        format!("HOSTWATCH_ACCOUNTS__{}__CONTAINER_STATES__{code}", self.account)
    }

    /// The secrets, by the names of their files.
    pub(super) fn secrets(&self) -> Vec<(String, &str)> {
        let secrets = self.values.iter().filter(|(key, _)| key.is_secret());
        secrets.map(|(&key, text)| (self.file_name(key), text.as_str())).collect()
    }

    /// The names of the files of all secrets that may be asked for.
    pub(super) fn secret_files(&self) -> impl Iterator<Item = String> {
        Question::VARIANTS.iter().filter(|key| key.is_secret()).map(|&key| self.file_name(key))
    }

    fn file_name(&self, key: Question) -> String {
        match key.row() {
            ("email", name, _) => format!("smtp.{name}"),
            ("", name, _) => format!("{}.{name}", self.account),
            (table, name, _) => format!("{table}.{name}"),
        }
    }

    /// The configuration file without secrets.
    pub(super) fn toml(&self, store: Option<&str>) -> String {
        let mut text = HEAD.to_owned();
        let account = self.account.as_str();
        let everybody = self.everybody();
        for (table, heading) in [
            ("", format!("accounts.{account}")),
            ("email", "email".to_owned()),
            (CHAT, CHAT.to_owned()),
            ("heartbeat", "heartbeat".to_owned()),
        ] {
            let is_shown = |key: &Question| !key.is_secret() && (*key != Question::To || everybody.is_none());
            let of = self.values.iter().filter(|(key, _)| key.row().0 == table && is_shown(key));
            let mut rows: Vec<String> =
                of.map(|(&key, value)| format!("{} = {}\n", key.row().1, written(key, value))).collect();
            let to = everybody.as_ref().filter(|_| table.is_empty());
            rows.extend(to.map(|to| format!("to = {}\n", written(Question::To, to))));
            if !rows.is_empty() {
                let _ = write!(text, "\n[{heading}]\n{}", rows.concat());
            }
            if table.is_empty() && !self.container_states.is_empty() {
                let _ = write!(text, "\n[accounts.{account}.container_states]\n");
                for (code, name) in &self.container_states {
                    let _ = writeln!(text, "{code} = {}", quoted(name));
                }
            }
        }
        if let Some(store) = store {
            let _ = write!(text, "\n[store]\npath = {}\n", quoted(store));
        }
        text
    }
}

const NOTHING: &str = "nothing to watch: no address of the provider with its credentials was given";

const NOBODY: &str =
    "nobody would get the mails: name a recipient or a Telegram chat, or leave the mail server out";

const SHOWN: &str = "every user of this machine could read its password in the configuration; leave the chat out, and add \
                     it by hand to a file with chmod 640";

/// The table of the only chat that `init` asks for.
const CHAT: &str = "telegram.chat";

const HEAD: &str = "# Written by hostwatch init. Every key: docs/configuration.md, in the package
# /usr/share/doc/hostwatch/docs/configuration.md. After a change: hostwatch check-config.
#
# No secret belongs here: each is a file in credentials/ beside this one.
";

fn written(key: Question, text: &str) -> String {
    if !key.is_list() {
        let is_number = key == Question::TelegramChat && text.parse::<i64>().is_ok();
        return if is_number { text.to_owned() } else { quoted(text) };
    }
    let each = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    format!("[{}]", each.map(quoted).collect::<Vec<_>>().join(", "))
}

/// A JSON string is a TOML string, except for DEL, which values may not hold.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn secret_in(file: &Path) -> Result<String> {
    let text =
        read_file::text(file).map_err(|why| anyhow!("{} {}", file.display(), why.or("name a text file")))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        bail!("{} is empty; the secret must be its only content", file.display());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
