//! The real binary against the simulated provider and a scripted mail server.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr)] // each test uses its part

pub mod certificates;
pub mod clock;
pub mod hook;
pub mod ledger;
pub mod printed;
pub mod sections;
pub mod smtp;
pub mod telegram;
pub mod tools;
pub mod vitals;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use hostwatch_sim::{Args, Command, Fault, FaultKind, Simulator};
use smtp::SmtpServer;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The time by this machine's clock: a test looks at the program from outside.
#[allow(clippy::disallowed_methods, reason = "only the program takes the time as an argument")]
pub fn now() -> chrono::DateTime<chrono::Utc> {
    chrono::Utc::now()
}

/// The mail of the first start.
pub const STARTED: &str = "main/started/account started";
/// The recipient of all mails.
pub const OPS: &str = "ops@example.com";

/// A VM is in error.
pub fn opened(vm: u64) -> String {
    format!("main/vm_error/{vm} opened")
}

pub fn resolved(vm: u64) -> String {
    format!("main/vm_error/{vm} resolved")
}

/// The longest wait for something that must come.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const SCENARIO: &str = r#"
time_zone = "UTC"
vms = 4
containers = 2
sites = 5

[[vm]]
name = "web \"1\"\n<script>"

[[container]]
name = "shop"

[[site]]
name = "shop.example.com"
container = "shop"
"#;

/// A simulated provider on a thread of its own.
pub struct Provider {
    pub simulator: Arc<Simulator>,
    pub address: SocketAddr,
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Provider {
    pub fn start(scenario: &str) -> Self {
        Self::start_with(&Args::default(), scenario)
    }

    /// A provider with flags of its own.
    pub fn start_with(args: &Args, scenario: &str) -> Self {
        let simulator = Simulator::from_scenario(args, scenario, Arc::new(now)).unwrap();
        let simulator = Arc::new(simulator);
        let stop = CancellationToken::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (served, stopped) = (Arc::clone(&simulator), stop.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                served.serve(listener, stopped).await;
            });
        });
        Self { simulator, address, stop, thread: Some(thread) }
    }

    pub fn set_vm(&self, id: u64, state: &str) {
        self.say(&format!(r#"{{"vm": {id}, "state": "{state}"}}"#), "set_vm");
    }

    pub fn set_site(&self, name: &str, state: &str) {
        self.say(&format!(r#"{{"site": "{name}", "state": "{state}"}}"#), "set_site");
    }

    pub fn lasts_days(&self, days: u32) {
        self.say(&format!(r#"{{"days": {days}}}"#), "last_days");
    }

    pub fn report_error(&self, text: Option<&str>) {
        let text = text.map_or("null".to_owned(), |text| format!("\"{text}\""));
        self.say(&format!(r#"{{"text": {text}}}"#), "report_error");
    }

    pub fn fault(&self, kind: FaultKind, on: &str, fields: &[&str]) {
        let fields = (!fields.is_empty()).then(|| fields.iter().map(ToString::to_string).collect());
        self.has(Fault { fields, ..Fault::new(kind, on) });
    }

    /// Any fault.
    pub fn has(&self, fault: Fault) {
        self.simulator.control(&Command::Fault(fault)).unwrap();
    }

    /// Answers requests like this with a status from now on.
    pub fn fails(&self, on: &str, code: u16) {
        self.has(Fault { code: Some(code), ..Fault::new(FaultKind::Status, on) });
    }

    pub fn clear_faults(&self) {
        self.simulator.control(&Command::ClearFaults { name: None }).unwrap();
    }

    pub fn say(&self, body: &str, command: &str) {
        self.simulator.control(&Command::parse(command, body.as_bytes()).unwrap()).unwrap();
    }

    pub fn polls(&self, path: &str) -> usize {
        self.simulator.requests().iter().filter(|entry| entry.path.starts_with(path)).count()
    }

    /// Waits until a listing was requested this many more times.
    pub fn polled(&self, path: &str, times: usize) {
        let before = self.polls(path);
        until(&format!("{times} polls of {path}"), || self.polls(path) >= before + times);
    }

    /// Waits until everything was requested this many more times.
    pub fn all_polled(&self, times: usize) {
        let paths = ["/api/cvds/v1/vms/", "/api/v1/hosting/containers/", "/api/v1/expected_balance/"];
        let enough = paths.map(|path| (path, self.polls(path) + times));
        for (path, count) in enough {
            until(&format!("{times} polls of {path}"), || self.polls(path) >= count);
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop.cancel();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A text as one line, since its line breaks depend on a width.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits for a condition by asking again and again, since no event announces it.
pub fn until(what: &str, so: impl FnMut() -> bool) {
    until_within(PATIENCE, what, so);
}

/// Waits with another time limit.
pub fn until_within(patience: Duration, what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + patience;
    while !so() {
        assert!(Instant::now() < end, "not within {patience:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs every case, some at a time, and fails with the names of those that panicked.
pub fn each<C: Sync>(cases: &[C], name: impl Fn(&C) -> String + Sync, test: impl Fn(&C) + Sync) {
    // Cases wait most of the time.
    each_at_once(6, cases, name, test);
}

/// Runs every case, this many at a time.
pub fn each_at_once<C: Sync>(
    at_once: usize,
    cases: &[C],
    name: impl Fn(&C) -> String + Sync,
    test: impl Fn(&C) + Sync,
) {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if std::panic::catch_unwind(AssertUnwindSafe(|| test(case))).is_err() {
                        eprintln!("failed: {}", name(case));
                        failed.lock().unwrap().push(name(case));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} cases failed: {failed:#?}", failed.len(), cases.len());
}

/// The program under test, or another build of it.
pub fn binary() -> PathBuf {
    std::env::var_os("HOSTWATCH_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_hostwatch").into(), PathBuf::from)
}

/// Runs a program to its end. Returns exit status, stdout and stderr.
pub fn outcome(command: &mut Process) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The program behind a line of the shell, which ends with `exec "$0" "$@"`.
pub fn shell(line: &str) -> Process {
    let mut shell = Process::new("sh");
    shell.args(["-c", line]).arg(binary());
    shell
}

/// The log of a process, line by line.
#[derive(Clone, Default)]
pub struct Log(Arc<(Mutex<Vec<String>>, Condvar)>, Arc<Mutex<Option<std::thread::JoinHandle<()>>>>);

impl Log {
    fn follow(source: impl Read + Send + 'static) -> Self {
        let log = Self::default();
        let shared = log.clone();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(source).lines().map_while(Result::ok) {
                shared.0.0.lock().unwrap().push(line);
                shared.0.1.notify_all();
            }
        });
        *log.1.lock().unwrap() = Some(reader);
        log
    }

    /// Reads the rest of the log of a process that has ended.
    fn finish(&self) {
        let reader = self.1.lock().unwrap().take();
        reader.into_iter().for_each(|reader| reader.join().unwrap());
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.0.lock().unwrap().clone()
    }

    pub fn count(&self, needle: &str) -> usize {
        self.lines().iter().filter(|line| line.contains(needle)).count()
    }

    /// Waits for a line.
    pub fn wait(&self, needle: &str) -> String {
        let lines = self.0.0.lock().unwrap();
        let has = |lines: &Vec<String>| lines.iter().any(|line| line.contains(needle));
        let (lines, _) = self.0.1.wait_timeout_while(lines, PATIENCE, |lines| !has(lines)).unwrap();
        let found = lines.iter().find(|line| line.contains(needle));
        found.unwrap_or_else(|| panic!("no line with {needle:?} in {lines:#?}")).clone()
    }
}

/// The table of an account at a simulated provider.
pub fn account(name: &str, address: SocketAddr) -> String {
    format!(
        r#"
[accounts.{name}]
base_url = "http://{address}"
panel_url = "http://{address}"
hosting_token = "hosting-token"
vm_api_key = "vm-api-key"
billing_username = "billing-user"
billing_password = "billing-password"
time_zone = "UTC"
currency = "RUB"
container_states = {{ 0 = "ENABLED", 1 = "DISABLED_BY_SERVICE", 2 = "DISABLED_BY_ADMIN", 3 = "DISABLED_BY_QUOTA" }}
"#
    )
}

/// All other tables: states and money are polled every second, and one recipient is mailed.
pub fn settings(smtp: SocketAddr, directory: &Path) -> String {
    format!(
        r#"[schedule]
vms = "* * * * * *"
containers = "* * * * * *"
expected_balance = "* * * * * *"
databases = ""
cron_jobs = ""
ips = ""
charges = ""
digest = ""
[limits]
vm_list_per_minute = 100000
vm_other_per_minute = 100000
hosting_per_minute = 100000
billing_per_minute = 100000
[email]
smtp_url = "smtp://{smtp}"
from = "hostwatch <hostwatch@example.com>"
to = ["ops@example.com"]
[store]
path = "{}/hostwatch.db"
"#,
        directory.display()
    )
}

/// The daemon's files, and the daemon while it runs.
pub struct Daemon {
    pub directory: TempDir,
    pub log: Log,
    pub address: SocketAddr,
    /// Its whole environment.
    pub environment: Vec<(&'static str, String)>,
    child: Option<Child>,
}

impl Daemon {
    /// A daemon that polls every second and mails one recipient.
    pub fn start(provider: &Provider, smtp: SocketAddr) -> Self {
        Self::start_with(provider, smtp, "")
    }

    pub fn start_with(provider: &Provider, smtp: SocketAddr, extra: &str) -> Self {
        let mut daemon = Self::prepare(provider, smtp, extra);
        daemon.run();
        daemon
    }

    /// A daemon with clocks that the test moves.
    pub fn start_by(clock: &clock::Clock, provider: &Provider, smtp: SocketAddr, extra: &str) -> Self {
        let mut daemon = Self::prepare(provider, smtp, extra);
        daemon.environment.extend(clock.environment());
        daemon.run();
        daemon
    }

    /// Only the daemon's files; a test starts it later.
    pub fn prepare(provider: &Provider, smtp: SocketAddr, extra: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let accounts = account("main", provider.address);
        let config = format!("{accounts}{}{extra}\n", settings(smtp, directory.path()));
        let file = directory.path().join("hostwatch.toml");
        std::fs::write(&file, config).unwrap();
        // It holds secrets.
        std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)).unwrap();
        let address = ([127, 0, 0, 1], 0).into();
        Self { directory, log: Log::default(), address, environment: Vec::new(), child: None }
    }

    /// Changes its configuration file.
    pub fn configure(&self, from: &str, to: &str) {
        let config = std::fs::read_to_string(self.config()).unwrap();
        assert!(config.contains(from), "{from:?} is not in {config}");
        std::fs::write(self.config(), config.replace(from, to)).unwrap();
    }

    /// Removes its table of mail.
    pub fn mails_nobody(&self) {
        let config = std::fs::read_to_string(self.config()).unwrap();
        let (before, rest) = config.split_once("[email]").unwrap();
        let (_, store) = rest.split_once("[store]").unwrap();
        std::fs::write(self.config(), format!("{before}[store]{store}")).unwrap();
    }

    pub fn config(&self) -> PathBuf {
        self.directory.path().join("hostwatch.toml")
    }

    /// Starts it, again or for the first time.
    pub fn run(&mut self) {
        self.run_with(&["--web.listen-address=127.0.0.1:0"]);
    }

    /// Starts it with flags for its addresses.
    pub fn run_with(&mut self, flags: &[&str]) {
        let mut command = Process::new(binary());
        command.arg("run").args(flags);
        self.run_as(command);
    }

    /// Starts it with a command that only lacks the configuration.
    pub fn run_as(&mut self, command: Process) {
        self.begin(command);
        self.has_begun();
    }

    /// Starts it, and does not wait until it serves.
    pub fn begin(&mut self, mut command: Process) {
        let mut child = command
            .args(["--web.enable-lifecycle", "--config.file"])
            .arg(self.config())
            .env_clear()
            .envs(self.environment.iter().cloned())
            .current_dir(self.directory.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        self.log = Log::follow(child.stderr.take().unwrap());
        self.child = Some(child);
    }

    /// Waits until it serves.
    pub fn has_begun(&mut self) {
        let line = self.log.wait("serving metrics");
        // As logfmt or as JSON.
        let address = line.split("address=").nth(1).or_else(|| line.split("\"address\":\"").nth(1)).unwrap();
        self.address = address.split([' ', '"']).next().unwrap().parse().unwrap();
    }

    /// The id of its process, while it runs.
    pub fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub fn signal(&self, name: &str) {
        let id = self.id().to_string();
        assert!(Process::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Sends SIGTERM. Returns the exit status.
    pub fn stop(&mut self) -> i32 {
        self.signal("TERM");
        let mut child = self.child.take().unwrap();
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                self.log.finish();
                return status.code().unwrap();
            }
            if Instant::now() > end {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("SIGTERM did not stop the daemon: {:#?}", self.log.lines());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until it has ended by itself. Returns the exit status.
    pub fn ended(&mut self) -> i32 {
        let mut child = self.child.take().unwrap();
        let mut status = None;
        until("its end", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        self.log.finish();
        status.unwrap().code().unwrap()
    }

    /// Sends SIGKILL.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        self.log.finish();
    }

    /// Runs another command with the same configuration. Returns exit status, stdout and stderr.
    pub fn command(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = Process::new(binary());
        command.args(args).arg("--config.file").arg(self.config()).env_clear();
        outcome(command.envs(self.environment.iter().cloned()))
    }

    /// The output of `outbox`, as one line.
    pub fn outbox(&self) -> String {
        let (status, out, error) = self.command(&["outbox"]);
        assert_eq!(status, 0, "{error}");
        flat(&out)
    }

    /// All that it shows by name: its pages, files, log and command line, and these commands beside it.
    pub fn shown(&self, commands: &[&[&str]]) -> Vec<(String, String)> {
        let pages = ["/", "/metrics", "/api/v1/status", "/-/ready", "/-/healthy", "/nothing"];
        let mut shown: Vec<(String, String)> =
            pages.iter().map(|path| ((*path).to_owned(), self.request("GET", path).1)).collect();
        shown.push(("the log".to_owned(), self.log.lines().join("\n")));
        let arguments = std::fs::read_to_string(format!("/proc/{}/cmdline", self.id())).unwrap();
        shown.push(("its arguments".to_owned(), arguments));
        for command in commands {
            let (_, out, error) = self.command(command);
            shown.push((format!("{command:?}"), out + &error));
        }
        // The store with its journal, and its other files.
        for path in std::fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_file() && name.starts_with("hostwatch.db") {
                let bytes = std::fs::read(&path).unwrap();
                shown.push((name, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        shown
    }

    /// Checks that none of what it shows has one of these secrets.
    pub fn shows_none_of(&self, secrets: &[&str]) {
        let commands: &[&[&str]] =
            &[&["outbox"], &["check-config"], &["status"], &["incidents"], &["doctor"]];
        for (name, text) in self.shown(commands) {
            assert!(!secrets.iter().any(|secret| text.contains(secret)), "{name}: {text}");
        }
    }

    /// Makes a request. Returns status and body.
    pub fn request(&self, method: &str, path: &str) -> (u16, String) {
        request(self.address, method, path)
    }

    /// Stops it at this step, once it gets there, until the next call; see src/failpoint.rs. Call it before the
    /// start, or after it was armed once.
    pub fn arm(&mut self, point: &str) {
        let file = self.failpoint_file();
        if self.environment.iter().all(|(name, _)| *name != "HOSTWATCH_FAILPOINT_FILE") {
            self.environment.push(("HOSTWATCH_FAILPOINT_FILE", file.to_str().unwrap().to_owned()));
        }
        // The file appears whole, since it is read at every step.
        let draft = file.with_extension("draft");
        std::fs::write(&draft, point).unwrap();
        std::fs::rename(draft, file).unwrap();
    }

    /// Waits until it has stopped at this step.
    pub fn has_reached(&self, point: &str) {
        let word = format!("reached {point}");
        until(&word, || std::fs::read_to_string(self.failpoint_file()).is_ok_and(|text| text == word));
    }

    fn failpoint_file(&self) -> PathBuf {
        self.directory.path().join("failpoint")
    }

    /// A line of its process's status, in its unit.
    pub fn status_of_process(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Its open file descriptors.
    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.id())).unwrap().count()
    }

    /// Waits until nothing is owed or on its way, and this many mails were sent, each to one recipient.
    pub fn has_sent(&self, count: usize) {
        let sent = || {
            let (_, outbox, _) = self.command(&["outbox", "--json"]);
            let outbox: serde_json::Value = serde_json::from_str(&outbox).unwrap_or_default();
            outbox["sent"].as_array().map_or(0, Vec::len)
        };
        let end = Instant::now() + PATIENCE;
        while !self.owes_nothing_now() || sent() != count {
            let log = self.log.lines();
            assert!(Instant::now() < end, "not {count} sent: {} {log:#?}", self.command(&["outbox"]).1);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until nothing is owed or on its way.
    pub fn owes_nothing(&self) {
        until("nothing is owed", || self.owes_nothing_now());
    }

    /// The page may lag behind. The answer to a command is of the moment.
    fn owes_nothing_now(&self) -> bool {
        let page = self.page();
        let has = |line: &str| page.lines().any(|one| one == line);
        let is_empty = |state| has(&format!("hostwatch_outbox_messages{{state=\"{state}\"}} 0"));
        ["queued", "sending", "held"].into_iter().all(is_empty) && {
            let (_, outbox, _) = self.command(&["outbox", "--json"]);
            let outbox: serde_json::Value = serde_json::from_str(&outbox).unwrap_or_default();
            let nothing = |value: &serde_json::Value| value.as_array().map_or(value.is_null(), Vec::is_empty);
            let waits = ["events", "in_flight", "first_mail_since", "digest_since"];
            let is_idle = |one: &serde_json::Value| waits.iter().all(|field| nothing(&one[*field]));
            outbox["owed"].as_array().is_some_and(|all| all.iter().all(is_idle))
        }
    }

    /// Waits until `healthcheck` has an answer in time and says that all is well.
    pub fn is_healthy(&self) {
        until("healthcheck", || {
            let (status, said, _) = self.command(&["healthcheck"]);
            status == 0 && said.contains("all of its loops work")
        });
    }

    /// Waits until the metrics have a line.
    pub fn shows(&self, line: &str) {
        until(line, || self.request("GET", "/metrics").1.lines().any(|one| one == line));
    }

    pub fn page(&self) -> String {
        self.request("GET", "/metrics").1
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A daemon that has sent its first mail, with its provider and its mail server.
pub fn watching(extra: &str) -> (Provider, SmtpServer, Daemon) {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let daemon = Daemon::start_with(&provider, smtp.address, extra);
    wait_for(&smtp, STARTED);
    daemon.has_sent(1);
    (provider, smtp, daemon)
}

/// A mail as its reader sees it.
#[derive(Clone, Debug)]
pub struct Received {
    pub subject: String,
    pub text: String,
    pub html: String,
    /// `incident event`, in order.
    pub pairs: Vec<String>,
    pub message_id: String,
    pub raw: Vec<u8>,
}

/// All mails that the server took.
pub fn received(smtp: &SmtpServer) -> Vec<Received> {
    smtp.seen().accepted().into_iter().map(|mail| read(&mail.raw)).collect()
}

/// Reads one mail.
pub fn read(raw: &[u8]) -> Received {
    let mail = mail_parser::MessageParser::default().parse(raw).unwrap();
    let all = |name: &str| -> Vec<String> {
        let of = mail.headers().iter().filter(|header| header.name().eq_ignore_ascii_case(name));
        of.map(|header| header.value().as_text().unwrap().trim().to_owned()).collect()
    };
    let pairs = all("X-Hostwatch-Incident").into_iter().zip(all("X-Hostwatch-Event"));
    Received {
        subject: mail.subject().unwrap().to_owned(),
        text: mail.body_text(0).unwrap().into_owned(),
        html: mail.body_html(0).unwrap().into_owned(),
        pairs: pairs.map(|(key, event)| format!("{key} {event}")).collect(),
        message_id: mail.message_id().unwrap().to_owned(),
        raw: raw.to_vec(),
    }
}

/// The mails of one recipient: incident and event, in the order of arrival.
pub fn told_to(smtp: &SmtpServer, to: &str) -> Vec<String> {
    let seen = smtp.seen();
    let mails = seen.accepted().into_iter().filter(|mail| mail.to.iter().any(|one| one == to));
    mails.flat_map(|mail| read(&mail.raw).pairs).collect()
}

/// Waits for a mail with this event, and for the reply to it: a clock that moves before would break it off.
pub fn wait_for(smtp: &SmtpServer, pair: &str) -> Received {
    let (mut found, mut looked) = (None, 0);
    until(&format!("a mail with {pair}"), || {
        let seen = smtp.seen();
        let mut mails = seen.accepted();
        mails.retain(|mail| mail.settled);
        if mails.len() > looked {
            looked = mails.len();
            let mut mails = mails.into_iter().map(|mail| read(&mail.raw));
            found = mails.find(|mail| mail.pairs.iter().any(|one| one == pair));
        }
        found.is_some()
    });
    found.unwrap()
}

/// Makes a request to a server. Returns status and body.
pub fn request(address: SocketAddr, method: &str, path: &str) -> (u16, String) {
    request_with(address, method, path, &[("Host", address.to_string().as_str())])
}

/// The same with headers.
pub fn request_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
    (status, body)
}
