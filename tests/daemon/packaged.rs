//! Commands beside the daemon as the package installs it: without environment and secrets, from any directory.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::smtp::SmtpServer;
use crate::common::*;

/// The service's group, if users can be told apart.
const SERVICE: u32 = 64_800;
const FILE: &str = "/etc/hostwatch/hostwatch.toml";

/// A machine whose /etc, /run and /var/lib are its own, with the daemon as systemd runs it. The rest, including
/// the network, is this machine's.
struct Machine {
    daemon: Child,
    scratch: tempfile::TempDir,
    /// Whether users can be told apart.
    is_root: bool,
}

/// The steps of systemd before it starts the service; then the daemon takes the shell's place.
const BOOT: &str = r#"set -e
mkdir "$SCRATCH/certs"
cp -L /etc/ssl/certs/ca-certificates.crt "$SCRATCH/certs"
for place in /etc /run /var/lib; do mount -t tmpfs tmpfs $place; done
mkdir -p /etc/hostwatch /run/credentials /run/hostwatch /var/lib/hostwatch
cp "$SCRATCH/hostwatch.toml" /etc/hostwatch/hostwatch.toml
cp "$SCRATCH"/credentials/* /run/credentials
mkdir /etc/ssl
cp -r "$SCRATCH/certs" /etc/ssl
chmod -R a+rX /etc/ssl
chmod 700 /run/credentials /var/lib/hostwatch
if [ -n "$SERVICE" ]; then
  chown -R "$SERVICE:$SERVICE" /run/credentials /run/hostwatch /var/lib/hostwatch
  become="setpriv --reuid=$SERVICE --regid=$SERVICE --clear-groups"
fi
cd /
umask 077
exec $become env -i RUNTIME_DIRECTORY=/run/hostwatch STATE_DIRECTORY=/var/lib/hostwatch \
  CREDENTIALS_DIRECTORY=/run/credentials "$SCRATCH/hostwatch" run --web.listen-address=127.0.0.1:0 2>"$SCRATCH/log"
"#;

impl Machine {
    /// `None` if this machine does not allow it.
    fn start(provider: &Provider, smtp: &SmtpServer) -> Option<Self> {
        let plain = Daemon::prepare(provider, smtp.address, "");
        let text = fs::read_to_string(plain.config()).unwrap();
        let store = format!("path = \"{}/hostwatch.db\"", plain.directory.path().display());
        let mut config = text.replace(&store, "path = \"/var/lib/hostwatch/hostwatch.db\"");
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("credentials")).unwrap();
        for (key, secret) in [
            ("hosting_token", "hosting-token"),
            ("vm_api_key", "vm-api-key"),
            ("billing_password", "billing-password"),
        ] {
            config = config.replace(&format!("{key} = \"{secret}\"\n"), "");
            fs::write(scratch.path().join("credentials").join(format!("main.{key}")), secret).unwrap();
        }
        fs::write(scratch.path().join("hostwatch.toml"), config).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_hostwatch"), scratch.path().join("hostwatch")).unwrap();
        Command::new("chmod").args(["-R", "a+rX"]).arg(scratch.path()).status().unwrap();
        fs::write(scratch.path().join("log"), "").unwrap();
        Command::new("chmod").arg("a+w").arg(scratch.path().join("log")).status().unwrap();
        let is_root = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|made| made.success());
        let daemon = Command::new("unshare")
            .arg(if is_root { "-m" } else { "-rm" })
            .args(["sh", "-c", BOOT])
            .env("SCRATCH", scratch.path())
            .env("SERVICE", if is_root { SERVICE.to_string() } else { String::new() })
            .stdin(Stdio::null())
            .spawn()
            .ok()?;
        let machine = Self { daemon, scratch, is_root };
        until("it serves, or nobody may make another machine", || {
            machine.log().contains("serving metrics") || !machine.is_there()
        });
        if !machine.is_there() {
            assert!(std::env::var_os("CI").is_none(), "CI must be able to make a machine: {}", machine.log());
            eprintln!("skipped: unshare may make no machine here");
            return None;
        }
        Some(machine)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.scratch.path().join("log")).unwrap()
    }

    /// The address of the page.
    fn address(&self) -> SocketAddr {
        let log = self.log();
        let (_, rest) = log.split_once(" address=").unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    fn is_there(&self) -> bool {
        Path::new(&format!("/proc/{}", self.daemon.id())).exists()
            && !fs::read_to_string(format!("/proc/{}/stat", self.daemon.id()))
                .unwrap_or_default()
                .contains(") Z ")
    }

    /// A command line as a person types it, from / and with an empty environment. Returns exit status and both
    /// outputs.
    fn command(&self, line: &str) -> (i32, String) {
        self.command_as("", line)
    }

    /// The same behind `setpriv` with these options.
    fn command_as(&self, privileges: &str, line: &str) -> (i32, String) {
        let program = self.scratch.path().join("hostwatch");
        let line = line.strip_prefix("hostwatch").unwrap_or(line);
        let become_ = if privileges.is_empty() { String::new() } else { format!("setpriv {privileges} ") };
        self.sh(&format!("cd / && exec {become_}env -i {}{line}", program.display()))
    }

    /// Runs a line of the shell in it. Returns exit status and both outputs.
    fn sh(&self, line: &str) -> (i32, String) {
        let (id, line) = (self.daemon.id().to_string(), format!("exec 2>&1; {line}"));
        let enter: &[&str] = if self.is_root { &["-m"] } else { &["-U", "-m", "--preserve-credentials"] };
        let mut nsenter = Command::new("nsenter");
        let (status, said, _) = outcome(nsenter.args(["-t", &id]).args(enter).args(["sh", "-c", &line]));
        (status, said)
    }

    fn ok(&self, line: &str) -> String {
        let (status, said) = self.command(line);
        assert_eq!(status, 0, "{line}: {said}");
        said
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// All commands that people use beside it, and every line that mails, the page and the documentation print, as
/// root and as the service.
#[test]
fn commands_work_beside_the_packaged_daemon() {
    let (provider, smtp) = (Provider::start(NAMED), SmtpServer::plain());
    let Some(machine) = Machine::start(&provider, &smtp) else { return };
    wait_for(&smtp, STARTED);
    provider.set_vm(10001, "error");
    let opened = wait_for(&smtp, "main/vm_error/10001 opened");

    assert!(machine.ok("hostwatch healthcheck").contains("all of its loops work"));
    assert!(machine.ok("hostwatch incidents").contains("main/vm_error/10001"));
    assert!(machine.ok("hostwatch outbox").contains("Sent lately"));
    assert!(machine.ok("hostwatch why main/vm_error/10001").contains("first seen in this poll"));
    assert!(machine.ok("hostwatch ack main/vm_error/10001 --comment Ann").contains("acknowledged"));
    assert!(machine.ok("hostwatch silence main/vm_stuck/7 --for 1h").contains("until"));
    assert!(machine.ok("hostwatch silence --list").contains("main/vm_stuck/7"));
    until("it is acknowledged", || machine.command("hostwatch status").0 == 0);
    let forecast = machine.ok("hostwatch forecast");
    assert!(forecast.contains("Balance") && forecast.contains("Forecast of main, as of "), "{forecast}");
    assert!(machine.ok("hostwatch poll main").contains("Balance"));
    let (status, said) = machine.command("hostwatch poll mian");
    assert!(status == 1 && said.contains("no account is called 'mian'; there is main"), "{said}");
    provider.lasts_days(2);
    let received = [opened, wait_for(&smtp, "main/disconnect/account rung:3")];
    let mails = printed::within("tests/unit/snapshots/mails");
    let pages: Vec<String> = ["/", "/?all=1", "/incidents?days=30"]
        .into_iter()
        .flat_map(|path| printed::of(&request(machine.address(), "GET", path).1))
        .collect();
    assert!(pages.iter().any(|line| line == "hostwatch ack main/disconnect/account"), "{pages:?}");
    for (from, lines, least) in [
        ("the mails received", received.iter().flat_map(|mail| printed::of(&mail.text)).collect(), 3),
        ("all mails", mails, 3),
        ("the page", pages, 4),
        ("README", printed::within("."), 0),
        ("the documentation", printed::within("docs"), 8),
    ] {
        let lines = beside_the_daemon(lines);
        assert!(lines.len() >= least, "{from}: {lines:?}");
        every_line_works(&machine, &lines);
    }
    every_line_works(&machine, &examples(&machine));
    // The same if no part of the configuration can be read.
    assert_eq!(machine.sh(&format!("mv {FILE} {FILE}.away")).0, 0);
    machine.ok("hostwatch healthcheck");
    assert!(machine.command("hostwatch status").1.contains("running for"));
    assert_eq!(machine.sh(&format!("mv {FILE}.away {FILE}")).0, 0);
    if machine.is_root {
        let group = format!("--reuid=64801 --regid={SERVICE} --clear-groups");
        let (status, said) = machine.command_as(&group, "hostwatch healthcheck");
        assert_eq!(status, 0, "its group may: {said}");
        let other = "--reuid=64801 --regid=64801 --clear-groups";
        let (status, said) = machine.command_as(other, "hostwatch healthcheck");
        assert!(status == 1 && said.contains("in its group"), "{said}");
    }
}

const NAMED: &str = r#"
time_zone = "UTC"
vms = 2
containers = 1
sites = 1

[[vm]]
name = "web-1"
"#;

/// Commands that ask the daemon, each once; those that remove something come last. The incidents of the mails
/// are not open here, so another VM's is used in their place.
fn beside_the_daemon(lines: Vec<String>) -> Vec<String> {
    let asks = |line: &String| line.split_whitespace().nth(1).is_some_and(|name| BESIDE.contains(&name));
    let opened = |line: String| {
        let key = line.split_whitespace().nth(2).filter(|word| word.split('/').count() == 3);
        let is_here = |key: &str| key == "main/disconnect/account";
        match key.filter(|key| !line.contains(" silence ") && !is_here(key)) {
            Some(key) => line.replace(key, "main/vm_error/10001"),
            None => line,
        }
    };
    let lines: BTreeSet<String> = lines.into_iter().filter(asks).map(opened).collect();
    let (last, mut first): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.contains("--remove"));
    first.extend(last);
    first
}

/// The commands that ask the running daemon.
const BESIDE: [&str; 9] =
    ["status", "forecast", "healthcheck", "poll", "incidents", "why", "ack", "silence", "outbox"];

/// The examples in the help of each command beside the daemon, and the commands that need none.
fn examples(machine: &Machine) -> Vec<String> {
    let of = |command: &&str| {
        let help = machine.ok(&format!("hostwatch {command} --help"));
        match help.split_once("Examples:\n") {
            Some((_, examples)) => examples.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>(),
            None if *command == "healthcheck" => vec!["hostwatch healthcheck".to_owned()],
            None => ["", " --json"].map(|flag| format!("hostwatch {command}{flag}")).into(),
        }
    };
    let all = BESIDE.iter().flat_map(of).filter(|line| line.starts_with("hostwatch "));
    // They have a mail that does not exist, and a silence that was removed before.
    let others = ["outbox drop", "silence --remove"];
    let all = all.filter(|line| !others.iter().any(|other| line.contains(other)));
    all.map(|line| line.replace("4711", "10001")).collect()
}

fn every_line_works(machine: &Machine, lines: &[String]) {
    let service = format!("--reuid={SERVICE} --regid={SERVICE} --clear-groups");
    let users = if machine.is_root { vec!["", &service] } else { vec![""] };
    // A thing that was removed once is gone.
    let users = |line: &str| if line.contains("--remove") { &users[..1] } else { &users[..] };
    for (line, user) in lines.iter().flat_map(|line| users(line).iter().map(move |user| (line, user))) {
        let (status, said) = machine.command_as(user, line);
        // 1: something needs somebody; 3: the daemon's last readings are not of now.
        let allowed: &[i32] = match line.split_whitespace().nth(1) {
            Some("status") => &[0, 1],
            Some("forecast") => &[0, 1, 3],
            _ => &[0],
        };
        assert!(allowed.contains(&status), "{line} {user}: {status}: {said}");
        if line.contains("--json") {
            serde_json::from_str::<serde_json::Value>(&said)
                .unwrap_or_else(|error| panic!("{line}: {error}: {said}"));
        } else {
            assert!(said.lines().all(|line| line.chars().count() <= 80), "{line}: {said}");
        }
    }
}

#[test]
fn poll_shows_a_payment_at_once() {
    let (provider, smtp) = (Provider::start(NAMED), SmtpServer::plain());
    provider.lasts_days(2);
    let daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.configure("expected_balance = \"* * * * * *\"", "expected_balance = \"0 0 1 1 *\"");
    let mut daemon = daemon;
    daemon.run();
    wait_for(&smtp, "main/disconnect/account rung:3");
    provider.lasts_days(400);
    let (status, said, error) = daemon.command(&["poll"]);
    let said = flat(&said);
    assert!(status == 0 && said.contains("Cut-off not expected"), "{said}{error}");
    provider.fault(hostwatch_sim::FaultKind::Status, "billing", &[]);
    let (status, said, error) = daemon.command(&["poll", "main"]);
    assert!(status == 1 && flat(&said).contains("expected_balance: failing"), "{said}{error}");
    let (status, said, _) = daemon.command(&["poll", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(status == 1 && said["accounts"][0]["billing"]["balance"].is_string(), "{said}");
}

#[test]
fn only_the_control_socket_answers_commands() {
    let (provider, smtp, mut daemon) = watching("");
    daemon.is_healthy();
    assert_eq!(daemon.request("POST", "/control/v1?%22health%22").0, 404);
    // More than the head of a request may have.
    provider.set_vm(10001, "error");
    wait_for(&smtp, "main/vm_error/10001 opened");
    let comment = "я".repeat(20_000);
    let (status, said, error) = daemon.command(&["ack", "main/vm_error/10001", "--comment", &comment]);
    assert!(status == 0 && said.contains("acknowledged"), "{said}{error}");
    daemon.log.wait("message=\"incident acknowledged\" incident=main/vm_error/10001 note=яя");
    // Stopped by a signal that it cannot see, so its loops stand still.
    daemon.signal("STOP");
    let (status, _, error) = daemon.command(&["healthcheck"]);
    assert!(status == 1 && error.contains("no answer within 5 s"), "{error}");
    daemon.signal("CONT");
    assert_eq!(daemon.stop(), 0);
    let (status, _, error) = daemon.command(&["healthcheck"]);
    assert!(status == 1 && error.contains("no daemon runs on"), "{error}");
}

#[test]
fn a_command_about_another_store_is_refused() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let runtime = tempfile::tempdir().unwrap();
    let of_runtime = || ("RUNTIME_DIRECTORY", runtime.path().display().to_string());
    let mut ours = Daemon::prepare(&provider, smtp.address, "");
    let mut other = Daemon::prepare(&provider, smtp.address, "");
    ours.environment.push(of_runtime());
    other.environment.push(of_runtime());
    ours.run();
    let store = |daemon: &Daemon| daemon.directory.path().canonicalize().unwrap().join("hostwatch.db");
    let silence = ["silence", "main/*", "--for", "1h"];
    for args in
        [&silence[..], &["outbox", "drop", "all"], &["incidents"], &["why", "main/disconnect/account"]]
    {
        let (status, said, error) = other.command(args);
        let both =
            [store(&ours), store(&other)].iter().all(|path| error.contains(&path.display().to_string()));
        assert!(status == 1 && both && error.contains("nothing was done"), "{args:?}: {said}{error}");
    }
    assert_eq!(ours.command(&["silence", "--list"]).1, "no silences\n");
    // The store is its own by any path.
    let link = runtime.path().join("link");
    std::os::unix::fs::symlink(ours.directory.path(), &link).unwrap();
    let (by_name, by_link) = (ours.directory.path().join("hostwatch.db"), link.join("hostwatch.db"));
    ours.configure(&by_name.display().to_string(), &by_link.display().to_string());
    let (status, said, error) = ours.command(&silence);
    assert_eq!(status, 0, "{said}{error}");
    assert!(ours.command(&["silence", "--list"]).1.contains("main/*"));
}

#[test]
fn an_unanswered_request_is_not_repeated() {
    let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
    let mut daemon = Daemon::start(&provider, smtp.address);
    assert_eq!(daemon.stop(), 0);
    let socket = daemon.directory.path().join("hostwatch.db.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    // Takes each request and closes.
    let mute = std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            assert!(std::io::Read::read(&mut stream, &mut [0; 4096]).unwrap() > 0);
        }
    });
    let (status, said, error) = daemon.command(&["silence", "main/*", "--for", "1h"]);
    assert!(status == 1 && error.contains("whether this was done is not known"), "{said}{error}");
    // A command that changes nothing reads the store directly.
    assert_eq!(daemon.command(&["silence", "--list"]).1, "no silences\n");
    mute.join().unwrap();
}
