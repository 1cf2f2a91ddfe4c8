//! The command line: commands, flags, their defaults and help. Definitions only; `commands` acts on them.

mod examples;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand, ValueEnum};
use url::Url;

use crate::http::{self, DEFAULT_LISTEN_ADDRESS, ListenAddress};
use crate::telemetry;

/// Where the configuration is unless a flag or variable says otherwise.
pub(crate) const CONFIG_FILE: &str = "/etc/hostwatch/hostwatch.toml";

/// Version, with commit and date where the build was given `HOSTWATCH_COMMIT` and `HOSTWATCH_BUILD_DATE`.
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

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the daemon: poll, serve metrics and the status page, send mail
    Run(Run),
    /// See the whole product work against a built-in provider and mail catcher; nothing to configure
    Demo(Demo),
    /// Simulate the provider alone, for tests and dry runs
    Simulate(Box<Simulate>),
    /// Show the state of everything, as the running daemon knows it; exit 0 fine, 1 something needs you, 3 not known
    #[command(after_help = examples::STATUS)]
    Status(StatusArgs),
    /// Show what the provider's reports say of the balance to come; exit 0 fine, 1 a cut-off is near, 3 not known
    #[command(after_help = examples::FORECAST)]
    Forecast(Forecast),
    /// Show the mails to come if nobody pays, as the real rules would send them; sends nothing. Exit 0, 1 nobody would be told of a cut-off, 3 not known
    Rehearse(Rehearse),
    /// Try everything the daemon needs, live: provider, mail server, store; exit 0, or 1 if anything needed fails. Sends nothing
    Doctor(Doctor),
    /// Check the configuration; exit 0, or 1 with every error, its file, key and remedy
    CheckConfig(CheckConfig),
    /// Print the reference of every metric: name, type, help, labels
    Metrics,
    /// Send one sample alert through the configured SMTP server, and to each webhook
    TestEmail(Config),
    /// Ask whether the daemon runs and all of its loops work; exit 0, or 1 and why not
    #[command(after_help = examples::HEALTHCHECK)]
    Healthcheck(Config),
    /// Have the running daemon ask the provider now, as after a payment, and show what came; exit 0, or 1 where not all was read
    #[command(after_help = examples::POLL)]
    Poll(Poll),
    /// List open incidents, the worst first, and those that ended lately
    #[command(after_help = examples::INCIDENTS)]
    Incidents(ListArgs),
    /// Acknowledge an open incident: no more reminders of it, its end is still mailed
    #[command(after_help = examples::ACK)]
    Ack(AckArgs),
    /// Silence what matches a pattern for a while: no mail; what is still wrong at the end is mailed then
    #[command(after_help = examples::SILENCE)]
    Silence(SilenceArgs),
    /// List mails that wait, were sent or given up; try them again, or drop them
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

/// `simulate`
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub provider: crate::sim::Args,
    #[command(flatten)]
    pub log: Log,
}

/// `status`
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Address of the daemon's pages; without it the socket beside its store is asked, else this machine's port 10245
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub url: Option<Url>,
    /// Print the answer of the daemon's /api/v1/status as it is
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub screen: Screen,
    #[command(flatten)]
    pub config: Config,
}

/// `forecast`
#[derive(Debug, Args)]
pub(crate) struct Forecast {
    /// Only this account
    pub account: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub screen: Screen,
    #[command(flatten)]
    pub config: Config,
}

/// `rehearse`
#[derive(Debug, Args)]
pub(crate) struct Rehearse {
    /// Suppose that the money of every account lasts so many days
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

/// `poll`
#[derive(Debug, Args)]
pub(crate) struct Poll {
    /// Only this account
    pub account: Option<String>,
    #[command(flatten)]
    pub list: ListArgs,
}

/// `why`
#[derive(Debug, Args)]
pub(crate) struct Why {
    /// Key of the incident, ACCOUNT/KIND/RESOURCE, as mails, `incidents` and the status page show it; or the name or id
    /// of what it is about, where that is one incident's alone
    pub key: String,
    #[command(flatten)]
    pub list: ListArgs,
}

/// `ack`
#[derive(Debug, Args)]
pub(crate) struct AckArgs {
    /// Key of the incident, ACCOUNT/KIND/RESOURCE, as mails, `incidents` and the status page show it; or the name or id
    /// of what it is about, where that is one incident's alone
    pub key: String,
    /// Who looks after it, or why it may stay
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
    #[arg(long = "for", value_name = "DURATION", required_unless_present_any = ["list", "remove"])]
    pub duration: Option<String>,
    /// Why, and who
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

/// What is blank would cover nothing.
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

/// What to do with mails; listing is the default.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum OutboxAction {
    /// List mails: what was given up, what waits, then the latest
    List,
    /// Try mails that wait or were given up again, now
    Retry {
        /// Numbers as `outbox list` shows them, or `all`
        #[arg(required = true, value_name = "ID")]
        mails: Vec<MailId>,
    },
    /// Take mails that wait or were given up out of the outbox for good
    Drop {
        /// Numbers as `outbox list` shows them, or `all`
        #[arg(required = true, value_name = "ID")]
        mails: Vec<MailId>,
    },
}

/// A mail of the outbox by its number, or all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MailId {
    One(i64),
    All,
}

impl FromStr for MailId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "all" => Ok(Self::All),
            number => {
                number.parse().map(Self::One).map_err(|_| "expected a number from `outbox list`, or all")
            }
        }
    }
}

/// Which configuration.
#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Configuration file
    #[arg(long = "config.file", value_name = "FILE", env = "HOSTWATCH_CONFIG_FILE", default_value = CONFIG_FILE, global = true)]
    pub file: PathBuf,
}

/// How a command lists, and of which daemon.
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

/// How text is shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Screen {
    /// Colours: auto is on a terminal, and not where NO_COLOR is set
    #[arg(long = "color", value_name = "WHEN", default_value = "auto", global = true)]
    pub colour: ColourWhen,
}

/// When text has colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ColourWhen {
    Auto,
    Always,
    Never,
}

/// The HTTP side, with the names of the Prometheus exporter toolkit.
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
    /// Scrapes served at one time, more are turned away (503); 0 for any number
    #[arg(long = "web.max-requests", value_name = "N", default_value_t = 40)]
    pub max_requests: usize,
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
    #[arg(long = "log.level", value_name = "LEVEL", default_value = "info")]
    pub level: telemetry::Level,
    /// Format of the log
    #[arg(long = "log.format", value_name = "FORMAT", default_value = "logfmt")]
    pub format: telemetry::LogFormat,
}

fn telemetry_path(text: &str) -> Result<String, &'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    if text.len() == 1 || !text.starts_with('/') || !text.chars().all(plain) {
        return Err("expected a path of letters, digits and '/-._~', such as /metrics");
    }
    if http::is_taken(text) {
        return Err("hostwatch serves something else there; take another path, such as /metrics");
    }
    Ok(text.to_owned())
}

fn web_address(text: &str) -> Result<Url, &'static str> {
    let url =
        text.parse::<Url>().ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or("expected an address such as http://127.0.0.1:10245")
}
