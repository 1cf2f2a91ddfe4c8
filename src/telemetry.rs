//! The log: one event a line on stderr, as logfmt or JSON, without colours. The callers decide what they log
//! and how often. A thread of its own writes it, so that nobody waits for a reader that is stuck.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};

use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// `--log.format`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Logfmt,
    Json,
}

/// The lines that may wait for a reader of the log. Further ones are dropped and counted.
const MOST_LINES: usize = 8_192;

/// Sends the log of this process to stderr. The rest of it is written when the guard is dropped.
///
/// # Errors
/// If it is called a second time.
pub(crate) fn init(level: LevelFilter, format: LogFormat) -> Result<WorkerGuard, TryInitError> {
    let dropped = Arc::new(OnceLock::new());
    let stderr = Stderr { dropped: Arc::clone(&dropped), said: 0 };
    let queue = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(MOST_LINES);
    let (lines, guard) = queue.thread_name("log").finish(stderr);
    let _ = dropped.set(lines.error_counter());
    subscriber(level, format, Prioritised { lines, is_journal: is_journal() }).try_init()?;
    Ok(guard)
}

/// The priority of a line about an error that is written without the log.
pub(crate) fn error_prefix() -> &'static str {
    if is_journal() { priority(tracing::Level::ERROR) } else { "" }
}

/// Whether stderr is a stream of systemd's journal, which takes a priority in front of each line.
fn is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let stderr = rustix::fs::fstat(io::stderr().as_fd());
    stderr.is_ok_and(|file| stream == format!("{}:{}", file.st_dev, file.st_ino))
}

/// Writes lines to stderr. Once it can write again after lines were dropped, the log says how many.
struct Stderr {
    dropped: Arc<OnceLock<ErrorCounter>>,
    said: usize,
}

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let dropped = self.dropped.get().map_or(0, ErrorCounter::dropped_lines);
        // The daemon goes on when its log is no longer read.
        let _ = io::stderr().write_all(line);
        if dropped > self.said {
            self.said = dropped;
            // This line may be dropped too; the next one counts it.
            tracing::warn!(count = dropped, "lines of the log were dropped since the start: nobody read it");
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = io::stderr().flush();
        Ok(())
    }
}

/// Puts each line into the queue, with its priority if the journal reads it.
#[derive(Clone)]
struct Prioritised {
    lines: NonBlocking,
    is_journal: bool,
}

impl<'a> MakeWriter<'a> for Prioritised {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { lines: self.lines.clone(), prefix: "" }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Line {
        let prefix = if self.is_journal { priority(*metadata.level()) } else { "" };
        Line { prefix, ..self.make_writer() }
    }
}

/// The priority of syslog, as sd-daemon(3) writes it.
fn priority(level: tracing::Level) -> &'static str {
    match level {
        tracing::Level::ERROR => "<3>",
        tracing::Level::WARN => "<4>",
        tracing::Level::INFO => "<6>",
        _ => "<7>",
    }
}

/// One line on its way into the queue.
struct Line {
    lines: NonBlocking,
    prefix: &'static str,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let prefix = std::mem::take(&mut self.prefix);
        let written = if prefix.is_empty() {
            self.lines.write(line)
        } else {
            self.lines.write(&[prefix.as_bytes(), line].concat())
        };
        written.map(|_| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The subscriber of `init`, with another writer.
pub(crate) fn subscriber<W>(level: LevelFilter, format: LogFormat, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = match format {
        LogFormat::Logfmt => {
            let plain =
                tracing_logfmt::builder().with_target(false).with_span_name(false).with_span_path(false);
            plain.layer().with_ansi(false).with_writer(writer).boxed()
        }
        LogFormat::Json => {
            let json = tracing_subscriber::fmt::layer().json().flatten_event(true);
            json.with_current_span(false).with_ansi(false).with_writer(writer).boxed()
        }
    };
    tracing_subscriber::registry().with(layer.with_filter(targets(level)))
}

/// Only warnings of libraries are logged. At lower levels they may log the sent data.
fn targets(level: LevelFilter) -> Targets {
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_target("hostwatch", level)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Collects the output.
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(level: LevelFilter, format: LogFormat, log: impl FnOnce()) -> Vec<String> {
        let sink = Sink::default();
        let writer = sink.clone();
        tracing::subscriber::with_default(subscriber(level, format, move || writer.clone()), log);
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn logfmt_has_time_level_message_and_fields() {
        let lines = logged(LevelFilter::INFO, LogFormat::Logfmt, || {
            tracing::info!(target: "hostwatch::x", { vm.id = 7, name = "a b" }, "poll failed");
            tracing::warn!(target: "hostwatch::x", plain = "x", "ok");
        });
        let without_time: Vec<&str> = lines.iter().map(|line| line.split_once(' ').unwrap().1).collect();
        assert_eq!(
            without_time,
            ["level=info message=\"poll failed\" vm.id=7 name=\"a b\"", "level=warn message=ok plain=x"]
        );
        assert!(lines.iter().all(|line| line.starts_with("ts=2")), "{lines:?}");
    }

    #[test]
    fn an_event_is_always_one_line() {
        #[derive(Debug)]
        #[allow(dead_code)]
        struct Pretty(&'static str);
        let odd = "a\nlevel=error message=forged\r\u{1b}[31m \u{2028}\"";
        for format in [LogFormat::Logfmt, LogFormat::Json] {
            let lines = logged(LevelFilter::INFO, format, || {
                let error = std::io::Error::other(odd);
                tracing::info!(target: "hostwatch", name = odd, shown = %odd, debugged = ?Pretty(odd), "{odd}");
                tracing::info!(target: "hostwatch", error = &error as &dyn std::error::Error, tall = format!("{:#?}", Pretty("x")));
                let span = tracing::info_span!(target: "hostwatch", "poll", account = odd);
                let _entered = span.enter();
                tracing::info!(target: "hostwatch", "within");
            });
            assert_eq!(lines.len(), 3, "{lines:#?}");
            assert!(lines.iter().all(|line| !line.contains(['\r', '\u{1b}'])), "{lines:#?}");
            assert!(lines[2].contains("forged"), "fields of the span belong to the event: {}", lines[2]);
        }
    }

    #[test]
    fn spans_name_account_and_collector_on_each_line() {
        let within = || {
            let span = tracing::error_span!(target: "hostwatch", "poll", account = "main", collector = "vms");
            let _entered = span.enter();
            let inner = tracing::warn_span!(target: "hostwatch", "inner", page = 2);
            inner.in_scope(|| tracing::warn!(target: "hostwatch", error = "no {}", "polling fails"));
            tracing::warn!(target: "hostwatch", "again");
        };
        let lines = logged(LevelFilter::WARN, LogFormat::Logfmt, within);
        let wants = [
            "message=\"polling fails\" error=\"no {}\" account=main collector=vms page=2",
            "message=again account=main collector=vms",
        ];
        for (line, want) in lines.iter().zip(wants) {
            assert!(line.ends_with(want), "{lines:#?}");
        }
        let lines = logged(LevelFilter::WARN, LogFormat::Json, within);
        for (line, page) in lines.iter().zip([serde_json::json!(2), serde_json::Value::Null]) {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let spans = &value["spans"];
            assert_eq!(
                (&spans[0]["account"], &spans[0]["collector"]),
                (&"main".into(), &"vms".into()),
                "{line}"
            );
            assert_eq!((&spans[1]["page"], lines.len()), (&page, 2), "{line}");
        }
    }

    #[test]
    fn json_lines_parse() {
        let lines = logged(LevelFilter::INFO, LogFormat::Json, || {
            tracing::info!(target: "hostwatch", { vm.id = 7 }, "poll \"failed\"\n");
        });
        let value: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!((&value["message"], &value["vm.id"]), (&"poll \"failed\"\n".into(), &7.into()));
    }

    #[test]
    fn levels_are_kept_and_libraries_only_warn() {
        let all = || {
            tracing::debug!(target: "hostwatch::a", "1");
            tracing::info!(target: "hostwatch", "2");
            tracing::error!(target: "hostwatch", "3");
            tracing::debug!(target: "hyper", "4");
            tracing::info!(target: "reqwest::connect", "5");
            tracing::warn!(target: "hyper", "6");
        };
        let table = [
            (LevelFilter::DEBUG, "1236"),
            (LevelFilter::INFO, "236"),
            (LevelFilter::WARN, "36"),
            (LevelFilter::ERROR, "3"),
        ];
        for (level, want) in table {
            let lines = logged(level, LogFormat::Logfmt, all);
            let got: String = lines.iter().map(|line| line.split("message=").nth(1).unwrap()).collect();
            assert_eq!(got, want, "{level:?}");
        }
    }
}
