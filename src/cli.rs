//! The command line: commands, flags, their defaults and help. Definitions only; `commands` acts on them.

mod examples;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser, Subcommand};
use tracing::level_filters::LevelFilter;

use crate::http::{self, DEFAULT_LISTEN_ADDRESS, ListenAddress};
use crate::model::{self, AccountName, ContainerState};
use crate::telemetry;

/// The path of the configuration unless a flag or variable names another.
pub(crate) const CONFIG_FILE: &str = "/etc/hostwatch/hostwatch.toml";

/// Version, with commit and date if the build was given `HOSTWATCH_COMMIT` and `HOSTWATCH_BUILD_DATE`.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    let details =
        [("commit", option_env!("HOSTWATCH_COMMIT")), ("built", option_env!("HOSTWATCH_BUILD_DATE"))];
    let details = details.iter().filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
    match details.collect::<Vec<_>>() {
        details if details.is_empty() => version.to_owned(),
        details => format!("{version} ({})", details.join(", ")),
    }
});

/// Watches an account at a hosting provider: Prometheus metrics for everything in it, and mail before it is
/// cut off or when something in it breaks.
#[derive(Debug, Parser)]
#[command(name = "hostwatch", version = VERSION.as_str(), arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the daemon: poll, serve metrics and the status page, send mail
    Run(Run),
    /// Set it up: ask for everything that is needed, try it, write the configuration, send a first mail
    #[command(after_help = examples::INIT)]
    Init(Box<Init>),
    /// See the whole product work against a built-in provider and mail catcher; nothing to configure
    Demo(Demo),
    /// Simulate the provider alone, for tests and dry runs
    Simulate(Box<Simulate>),
    /// Show the state of everything, as the running daemon knows it; exit 0 fine, 1 a problem, 3 not known
    Status(ListArgs),
    /// Forecast the balance by the daemon's last report, or else the provider's; exit 0 fine, 1 a cut-off is near, 3 not known
    Forecast(OfAccount),
    /// Show the mails to come if nobody pays, by the real rules; sends nothing. Exit 0 fine; 1 a cut-off that
    /// nobody would hear of; 3 not known
    Rehearse(Rehearse),
    /// Try everything the daemon needs, live: provider, mail server, store; exit 0, or 1 if anything needed fails. Sends nothing
    Doctor(Doctor),
    /// Check the configuration; exit 0, or 1 with every error, its file, key and remedy
    CheckConfig(CheckConfig),
    /// Print the reference of every metric: name, type, help, labels
    Metrics,
    /// Send one sample alert to each recipient, or to one
    #[command(alias = "test-email")]
    TestMessage(TestMessage),
    /// Ask whether the daemon runs and all of its loops work; exit 0, or 1 and why not
    Healthcheck(Config),
    /// Have the running daemon take up its configuration; exit 0, or 1 with the reason why the old one stays
    Reload(Config),
    /// Have the running daemon poll the provider now, as after a payment, and show the results; exit 0, or 1 if
    /// a poll failed
    Poll(OfAccount),
    /// List open incidents, the worst first, and those that ended lately
    Incidents(ListArgs),
    /// Acknowledge an open incident: no more reminders of it, its end is still mailed
    #[command(after_help = examples::ACK)]
    Ack(AckArgs),
    /// Silence everything that matches a pattern for a while; problems that are still there at the end are
    /// mailed then
    #[command(after_help = examples::SILENCE)]
    Silence(SilenceArgs),
    /// List the mails that are owed and those that were sent; send them now, or drop them
    #[command(after_help = examples::OUTBOX)]
    Outbox(Outbox),
    /// Say why an incident was or was not mailed, who was mailed when, and what comes next
    #[command(after_help = examples::WHY)]
    Why(Why),
}

/// `run`
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub config: Config,
    #[command(flatten)]
    pub web: Web,
    #[command(flatten)]
    pub log: Log,
}

/// `demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    #[command(flatten)]
    pub web: Web,
    #[command(flatten)]
    pub log: Log,
}

/// `init`. Without a flag it asks in the terminal, or takes the key's variable, such as
/// `HOSTWATCH_ACCOUNTS__MAIN__PANEL_URL`.
#[derive(Debug, Args)]
pub(crate) struct Init {
    #[command(flatten)]
    pub config: Config,
    /// Name of the account, the label of its metrics
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub account: AccountName,
    /// Address of the VM and billing endpoints
    #[arg(long, value_name = "URL")]
    pub panel_url: Option<String>,
    /// File with the API key of the VM endpoints; its content is copied
    #[arg(long, value_name = "FILE")]
    pub vm_api_key_file: Option<PathBuf>,
    /// User of the billing endpoints
    #[arg(long, value_name = "NAME")]
    pub billing_username: Option<String>,
    /// File with the password of that user; its content is copied
    #[arg(long, value_name = "FILE")]
    pub billing_password_file: Option<PathBuf>,
    /// Address of the hosting endpoints
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// File with the token of the hosting endpoints; its content is copied
    #[arg(long, value_name = "FILE")]
    pub hosting_token_file: Option<PathBuf>,
    /// Address at which a key buys that token, for tokens that end
    #[arg(long, value_name = "URL")]
    pub hosting_token_url: Option<String>,
    /// File with the key that buys it; its content is copied
    #[arg(long, value_name = "FILE")]
    pub hosting_api_key_file: Option<PathBuf>,
    /// The form field that carries the key, and the JSON field that answers with the token, such as api_key,token
    #[arg(long, value_name = "FIELD,FIELD")]
    pub hosting_token_fields: Option<String>,
    /// Time zone of the provider's dates, such as Europe/Moscow
    #[arg(long, value_name = "ZONE")]
    pub time_zone: Option<String>,
    /// Unit of amounts, such as RUB
    #[arg(long, value_name = "TEXT")]
    pub currency: Option<String>,
    /// Name of a container's numeric state, such as 0=ENABLED; may be repeated
    #[arg(long = "container-state", value_name = "CODE=NAME", value_parser = container_state)]
    pub container_states: Vec<(i64, String)>,
    /// Mail server, such as smtps://user@mail.example.com; without one hostwatch is an exporter only
    #[arg(long, value_name = "URL")]
    pub smtp_url: Option<String>,
    /// File with the password of the mail server; its content is copied
    #[arg(long, value_name = "FILE")]
    pub smtp_password_file: Option<PathBuf>,
    /// Sender of the mails
    #[arg(long, value_name = "ADDRESS")]
    pub from: Option<String>,
    /// Recipient of the mails; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub to: Vec<String>,
    /// File with the token of a Telegram bot that writes to a chat too; its content is copied
    #[arg(long, value_name = "FILE")]
    pub telegram_token_file: Option<PathBuf>,
    /// The chat it writes to: its number, or @name of a channel
    #[arg(long, value_name = "CHAT", allow_hyphen_values = true)]
    pub telegram_chat: Option<String>,
    /// Proxy to Telegram, such as socks5h://127.0.0.1:1080
    #[arg(long, value_name = "URL")]
    pub telegram_proxy: Option<String>,
    /// Address of another server of Telegram's Bot API
    #[arg(long, value_name = "URL")]
    pub telegram_api_url: Option<String>,
    /// Address of an outside service that is fetched while all is well, and alerts once that stops
    #[arg(long, value_name = "URL")]
    pub heartbeat_url: Option<String>,
    /// Ask nothing, even in a terminal
    #[arg(long)]
    pub no_input: bool,
    /// Write without trying provider, mail server and store
    #[arg(long)]
    pub no_check: bool,
    /// Send the test mail without asking
    #[arg(long, conflicts_with = "no_check")]
    pub test_mail: bool,
    /// Start the service without asking, on a packaged install
    #[arg(long, conflicts_with = "no_check")]
    pub start: bool,
}

/// `simulate`
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub provider: hostwatch_sim::Args,
    #[command(flatten)]
    pub log: Log,
}

/// `rehearse`
#[derive(Debug, Args)]
pub(crate) struct Rehearse {
    /// Suppose that the money of every account lasts this many days
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=700))]
    pub days: Option<u32>,
    #[command(flatten)]
    pub screen: Screen,
    #[command(flatten)]
    pub config: Config,
}

/// `doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub screen: Screen,
    #[command(flatten)]
    pub config: Config,
}

/// `check-config`
#[derive(Debug, Args)]
pub(crate) struct CheckConfig {
    #[command(flatten)]
    pub config: Config,
    /// Check this web configuration too
    #[arg(long = "web.config.file", value_name = "FILE")]
    pub web_config_file: Option<PathBuf>,
}

/// `test-message`
#[derive(Debug, Args)]
pub(crate) struct TestMessage {
    /// Only this one: a mail address, webhook:NAME or telegram:NAME
    pub recipient: Option<String>,
    #[command(flatten)]
    pub config: Config,
}

/// `forecast` and `poll`
#[derive(Debug, Args)]
pub(crate) struct OfAccount {
    /// Only this account
    pub account: Option<String>,
    #[command(flatten)]
    pub list: ListArgs,
}

/// `why`
#[derive(Debug, Args)]
pub(crate) struct Why {
    /// Key of the incident, ACCOUNT/KIND/RESOURCE, as mails, `incidents` and the status page show it; or the
    /// name or id of its resource, if it has no other incident
    pub key: String,
    #[command(flatten)]
    pub list: ListArgs,
}

/// `ack`
#[derive(Debug, Args)]
pub(crate) struct AckArgs {
    /// Key of the incident, ACCOUNT/KIND/RESOURCE, as mails, `incidents` and the status page show it; or the
    /// name or id of its resource, if it has no other incident
    pub key: String,
    /// Your note, such as who takes care of it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub comment: String,
    /// Take the acknowledgement back
    #[arg(long, conflicts_with = "comment")]
    pub remove: bool,
    #[command(flatten)]
    pub config: Config,
}

/// `silence`
#[derive(Debug, Args)]
pub(crate) struct SilenceArgs {
    /// Pattern (`*`, `?`) of incident keys, ACCOUNT/KIND/RESOURCE, or without a slash of names and ids.
    /// Disconnect mails are silenced only by a pattern that names them: ACCOUNT/disconnect/*
    #[arg(required_unless_present_any = ["list", "remove"], value_parser = pattern)]
    pub pattern: Option<String>,
    /// For how long, such as 30m, 2h or 3d
    #[arg(long = "for", value_name = "DURATION", required_unless_present_any = ["list", "remove"], value_parser = model::duration)]
    pub duration: Option<Duration>,
    /// Your note, such as the reason
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub comment: String,
    /// List the silences that are on
    #[arg(long, conflicts_with_all = ["pattern", "duration", "remove"])]
    pub list: bool,
    /// End the silence of this number
    #[arg(long, value_name = "ID", conflicts_with_all = ["pattern", "duration"])]
    pub remove: Option<i64>,
    #[command(flatten)]
    pub list_as: ListArgs,
}

pub(crate) fn container_state(text: &str) -> Result<(i64, String), String> {
    let known: Vec<&str> = ContainerState::KNOWN.iter().map(ContainerState::as_str).collect();
    let (code, name) = text.split_once('=').unwrap_or_default();
    match code.parse() {
        Ok(code) if known.contains(&name) => Ok((code, name.to_owned())),
        _ => Err(format!("expected CODE=NAME, such as 0=ENABLED; names are {}", known.join(", "))),
    }
}

/// A blank pattern would cover nothing.
fn pattern(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(
            "it is empty; write a key such as main/vm_error/4711, a name, or a pattern such as web-*"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

/// `outbox`
#[derive(Debug, Args)]
pub(crate) struct Outbox {
    #[command(subcommand)]
    pub action: Option<OutboxAction>,
    #[command(flatten)]
    pub list: ListArgs,
}

/// An action on the mails that are owed; listing is the default.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum OutboxAction {
    /// List the mails that are owed to each recipient, those on their way, and those sent lately
    List,
    /// Send what is owed now, whatever failed before
    Retry {
        /// A recipient as `outbox` shows it, or `all`
        recipient: String,
    },
    /// Send no further mail about this episode, not even about its end; the next step before a cut-off is
    /// mailed in any case
    Drop {
        /// A recipient as `outbox` shows it
        recipient: String,
        /// The incident's key, or the name or id of its resource; without it, everything that is owed
        key: Option<String>,
    },
}

/// The configuration.
#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Configuration file
    #[arg(
        long = "config.file", value_name = "FILE", env = "HOSTWATCH_CONFIG_FILE", default_value = CONFIG_FILE, global = true,
        value_parser = config_file
    )]
    pub file: PathBuf,
}

/// An empty variable counts as one that is not set.
fn config_file(text: &str) -> Result<PathBuf, Infallible> {
    Ok(if text.is_empty() { CONFIG_FILE } else { text }.into())
}

/// The form of a list, and the daemon.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    pub screen: Screen,
    #[command(flatten)]
    pub config: Config,
}

/// The form of text.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Screen {
    /// Colours: auto is on a terminal unless NO_COLOR is set
    #[arg(long = "color", value_name = "WHEN", default_value = "auto", global = true)]
    pub colour: ColorChoice,
}

/// The web side, with the flags of the Prometheus exporter toolkit.
#[derive(Debug, Args)]
pub(crate) struct Web {
    /// Address to listen on, HOST:PORT, [IPV6]:PORT, or :PORT for every address; may be repeated
    #[arg(long = "web.listen-address", value_name = "ADDRESS", default_value = DEFAULT_LISTEN_ADDRESS)]
    pub listen_addresses: Vec<ListenAddress>,
    /// Listen on the sockets that systemd passes, instead of addresses
    #[arg(long = "web.systemd-socket", conflicts_with = "listen_addresses")]
    pub systemd_socket: bool,
    /// TLS, passwords and response headers, in the exporter toolkit's format (YAML); read anew when it changes
    #[arg(long = "web.config.file", value_name = "FILE")]
    pub config_file: Option<PathBuf>,
    /// Path of the metrics
    #[arg(long = "web.telemetry-path", value_name = "PATH", default_value = "/metrics", value_parser = telemetry_path)]
    pub telemetry_path: String,
    /// Allow POST /-/reload
    #[arg(long = "web.enable-lifecycle")]
    pub enable_lifecycle: bool,
}

/// The log.
#[derive(Clone, Debug, Args)]
pub(crate) struct Log {
    /// Least severe level that is logged
    #[arg(long = "log.level", value_name = "LEVEL", default_value = "info", value_parser = level())]
    pub level: LevelFilter,
    /// Format of the log
    #[arg(long = "log.format", value_name = "FORMAT", default_value = "logfmt")]
    pub format: telemetry::LogFormat,
}

fn level() -> impl TypedValueParser<Value = LevelFilter> {
    PossibleValuesParser::new(["debug", "info", "warn", "error"])
        .try_map(|level| level.parse::<LevelFilter>())
}

fn telemetry_path(text: &str) -> Result<String, &'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    // Paths of requests have one slash for several.
    if text.len() == 1 || !text.starts_with('/') || text.contains("//") || !text.chars().all(plain) {
        return Err("expected a path of letters, digits, '-._~' and single slashes, such as /metrics");
    }
    if http::is_taken(text) {
        return Err("hostwatch serves something else there; take another path, such as /metrics");
    }
    Ok(text.to_owned())
}
