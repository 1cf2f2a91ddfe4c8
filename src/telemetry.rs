//! The log: one event a line on stderr, logfmt or JSON, without colours. What is said, and how often, is the
//! business of those who say it.

use std::fmt;
use std::io;

use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// `--log.level`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Level {
    Debug,
    #[default]
    Info,
    Warn,
    Error,
}

/// `--log.format`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Format {
    #[default]
    Logfmt,
    Json,
}

/// The process has a log already.
#[derive(Debug, thiserror::Error)]
#[error("the log was set up twice")]
pub struct AlreadySet(#[from] tracing_subscriber::util::TryInitError);

/// Sends the log of this process to stderr.
///
/// # Errors
/// When called a second time.
pub fn init(level: Level, format: Format) -> Result<(), AlreadySet> {
    Ok(subscriber(level, format, io::stderr).try_init()?)
}

/// What `init` sets, writing elsewhere.
pub fn subscriber<W>(level: Level, format: Format, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(writer);
    let layer = match format {
        Format::Logfmt => {
            layer.event_format(Logfmt::default()).fmt_fields(tracing_logfmt::FieldsFormatter::default()).boxed()
        }
        Format::Json => layer.json().flatten_event(true).with_current_span(false).boxed(),
    };
    tracing_subscriber::registry().with(layer.with_filter(targets(level)))
}

/// Libraries are heard when they warn: at lower levels they can show what is sent.
fn targets(level: Level) -> Targets {
    let ours = match level {
        Level::Debug => LevelFilter::DEBUG,
        Level::Info => LevelFilter::INFO,
        Level::Warn => LevelFilter::WARN,
        Level::Error => LevelFilter::ERROR,
    };
    Targets::new().with_default(ours.min(LevelFilter::WARN)).with_target("hostwatch", ours)
}

/// `ts=… level=… msg=… field=…`, as other exporters write it: tracing-logfmt with its `message` renamed and
/// without names of modules and spans.
struct Logfmt(tracing_logfmt::EventsFormatter);
