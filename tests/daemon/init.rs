//! `hostwatch init` end to end: with flags, and with questions in a terminal, up to the first mail of the
//! daemon that it set up.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use hostwatch_sim::{Args, Span};

use crate::common::smtp::SmtpServer;
use crate::common::telegram::{CHAT, TOKEN, Telegram};
use crate::common::*;

/// A provider that sells its hosting tokens.
fn selling() -> Provider {
    let args = Args { token_lifetime: Some(Span(TimeDelta::seconds(300))), ..Args::default() };
    Provider::start_with(&args, SCENARIO)
}

/// A daemon without any file of its own.
fn nothing(provider: &Provider, smtp: &SmtpServer) -> Daemon {
    let daemon = Daemon::prepare(provider, smtp.address, "");
    fs::remove_file(daemon.config()).unwrap();
    daemon
}

/// All flags, and the directory with the secrets, which lives as long as it is held.
fn flags(daemon: &Daemon, provider: &Provider, smtp: &SmtpServer) -> (Vec<String>, tempfile::TempDir) {
    let secrets = tempfile::tempdir().unwrap();
    let secret = |name: &str, text: &str| {
        let file = secrets.path().join(name);
        fs::write(&file, format!("{text}\n")).unwrap();
        file.display().to_string()
    };
    let url = format!("http://{}", provider.address);
    let pairs = [
        ("--config.file", daemon.config().display().to_string()),
        ("--panel-url", url.clone()),
        ("--vm-api-key-file", secret("vm", "vm-api-key")),
        ("--billing-username", "billing-user".to_owned()),
        ("--billing-password-file", secret("billing", "billing-password")),
        ("--base-url", url.clone()),
        ("--hosting-token-url", format!("{url}/token/")),
        ("--hosting-api-key-file", secret("hosting", "hosting-api-key")),
        ("--time-zone", "UTC".to_owned()),
        ("--container-state", "0=ENABLED".to_owned()),
        ("--smtp-url", format!("smtp://{}", smtp.address)),
        ("--from", "hostwatch <hostwatch@example.com>".to_owned()),
        ("--to", "ops@example.com".to_owned()),
        ("--to", "Ann <ann@example.net>".to_owned()),
    ];
    let pairs = pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
    let all = ["init", "--no-input"].map(str::to_owned).into_iter().chain(pairs).collect();
    (all, secrets)
}

/// Exit status and both outputs.
fn run(args: &[String]) -> (i32, String) {
    run_in(args, &[])
}

/// The same with variables.
fn run_in(args: &[String], variables: &[(&str, &str)]) -> (i32, String) {
    let mut command = Command::new(binary());
    command.args(args).env_clear().envs(variables.iter().copied()).stdin(Stdio::null());
    let (code, out, error) = outcome(&mut command);
    (code, flat(&(out + &error)))
}

fn with(mut args: Vec<String>, flag: &str, value: &str) -> Vec<String> {
    let at = args.iter().position(|arg| arg == flag).unwrap();
    value.clone_into(&mut args[at + 1]);
    args
}

fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn flags_lead_to_the_first_mail() {
    let (provider, smtp) = (selling(), SmtpServer::plain());
    let mut daemon = nothing(&provider, &smtp);
    let (mut args, _secrets) = flags(&daemon, &provider, &smtp);
    args.push("--test-mail".to_owned());
    // The key's variable sets a value that no flag has.
    let (code, said) = run_in(&args, &[("HOSTWATCH_ACCOUNTS__MAIN__CURRENCY", "RUB")]);
    assert!(code == 0 && said.contains("ok token fetched, holds until"), "{said}");
    assert!(said.contains("warn heartbeat heartbeat.url is empty"), "{said}");
    let to: Vec<String> = smtp.seen().accepted().iter().flat_map(|mail| mail.to.clone()).collect();
    assert_eq!(to, ["ann@example.net", "ops@example.com"], "the test mail: {said}");

    let config = fs::read_to_string(daemon.config()).unwrap();
    assert!(config.contains("currency = \"RUB\"\n") && config.contains("0 = \"ENABLED\"\n"), "{config}");
    assert!(config.contains("to = [\"ops@example.com\", \"Ann <ann@example.net>\"]\n"), "{config}");
    let credentials = daemon.directory.path().join("credentials");
    for (name, secret) in [
        ("main.vm_api_key", "vm-api-key"),
        ("main.billing_password", "billing-password"),
        ("main.hosting_api_key", "hosting-api-key"),
    ] {
        let file = credentials.join(name);
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{secret}\n"));
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert!(!config.contains(secret) && !said.contains(secret), "{config}\n{said}");
    }
    assert_eq!(entries(&credentials), 3);

    // The daemon finds the secrets without any variable.
    daemon.run();
    wait_for(&smtp, STARTED);
    assert_eq!(daemon.stop(), 0);
    // A second run overwrites nothing.
    let (code, said) = run(&args);
    assert!(code == 1 && said.contains("is there already, and init overwrites nothing"), "{said}");
    assert_eq!(fs::read_to_string(daemon.config()).unwrap(), config);
    let other = with(args, "--config.file", daemon.directory.path().join("other.toml").to_str().unwrap());
    let (code, said) = run(&other);
    assert!(code == 1 && said.contains("main.vm_api_key, ") && said.contains("are there already"), "{said}");
    assert!(!daemon.directory.path().join("other.toml").exists());
}

/// All answers but one secret are flags.
#[test]
fn variables_answer_as_flags_do_and_may_stay() {
    let (provider, smtp) = (selling(), SmtpServer::plain());
    let daemon = nothing(&provider, &smtp);
    let (mut args, _secrets) = flags(&daemon, &provider, &smtp);
    for flag in ["--vm-api-key-file", "--billing-password-file", "--container-state"] {
        let at = args.iter().position(|arg| arg == flag).unwrap();
        args.drain(at..at + 2);
    }
    fs::write(daemon.directory.path().join("billing"), "billing-password\n").unwrap();
    let variables = [
        ("HOSTWATCH_ACCOUNTS__MAIN__VM_API_KEY", "vm-api-key"),
        ("HOSTWATCH_ACCOUNTS__MAIN__BILLING_PASSWORD_FILE", "billing"),
        ("HOSTWATCH_ACCOUNTS__MAIN__CONTAINER_STATES__0", "ENABLED"),
    ];
    let (code, said) = run_in(&args, &variables);
    assert!(code == 0 && said.contains("ok"), "{said}");
    let config = fs::read_to_string(daemon.config()).unwrap();
    assert!(config.contains("0 = \"ENABLED\"\n") && !config.contains("billing-password"), "{config}");
    let file = daemon.config().display().to_string();
    let doctor = ["doctor", "--config.file", &file].map(str::to_owned);
    for variables in [&variables[..], &[]] {
        let (code, said) = run_in(&doctor, variables);
        assert!(code == 0 && !said.contains("State 0"), "{said}");
    }
    let other = [("HOSTWATCH_ACCOUNTS__MAIN__VM_API_KEY", "another")];
    let (code, said) = run_in(&doctor, &other);
    assert!(code == 1 && said.contains("given beside the credential"), "{said}");
    let wrong = [("HOSTWATCH_ACCOUNTS__MAIN__CONTAINER_STATES__0", "FINE")];
    let elsewhere = with(args, "--config.file", daemon.directory.path().join("new/x.toml").to_str().unwrap());
    let (code, said) = run_in(&elsewhere, &wrong);
    assert!(code == 1 && said.contains("CONTAINER_STATES__0: expected CODE=NAME"), "{said}");
}

#[test]
fn a_bad_flag_writes_nothing() {
    let (provider, smtp) = (selling(), SmtpServer::plain());
    let daemon = nothing(&provider, &smtp);
    let (good, _secrets) = flags(&daemon, &provider, &smtp);
    let wrong = daemon.directory.path().join("wrong");
    fs::write(&wrong, "wrong").unwrap();
    let wrong = wrong.to_str().unwrap();
    for (flag, value, says) in [
        (
            "--time-zone",
            "Mars",
            "--time-zone: 'Mars' is not a time zone name; use one like \"Europe/Moscow\"",
        ),
        ("--time-zone", "", "--time-zone: missing; billing is polled"),
        ("--panel-url", "panel", "--panel-url: has no https:// in front"),
        ("--to", "nobody", "--to: 'nobody' is no mail address"),
        ("--vm-api-key-file", "/nowhere/key", "--vm-api-key-file: /nowhere/key cannot be read: No such file"),
        ("--hosting-api-key-file", wrong, "HTTP 403: missing or [hidden]; check hosting_api_key"),
        ("--smtp-url", "smtp://127.0.0.1:9", "FAIL mail server 127.0.0.1:9: "),
    ] {
        let (code, said) = run(&with(good.clone(), flag, value));
        assert!(code == 1 && said.contains(says), "{flag} {value}: {code} {said}");
        assert_eq!(entries(daemon.directory.path()), 1, "{flag}: {said}");
    }
    let (code, said) = run(&[&good[..], &["--account", "a__b"].map(str::to_owned)].concat());
    assert!(code == 1 && said.contains("--account a__b: no variable could name it"), "{said}");
    let telegram = Telegram::start();
    telegram.leaves(CHAT);
    let token = daemon.directory.path().join("wrong");
    fs::write(&token, TOKEN).unwrap();
    let mut chat = good.clone();
    let (number, token, api) = (CHAT.to_string(), token.display().to_string(), telegram.url());
    let flags =
        [("--telegram-token-file", &token), ("--telegram-chat", &number), ("--telegram-api-url", &api)];
    chat.extend(flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value.clone()]));
    let (code, said) = run(&chat);
    assert!(code == 1 && said.contains("FAIL Telegram chat") && said.contains("chat not found"), "{said}");
    assert_eq!(entries(daemon.directory.path()), 1, "{said}");
    let shown =
        [chat.clone(), ["--telegram-proxy", "socks5h://ann:hunter2@127.0.0.1:1"].map(str::to_owned).to_vec()];
    let (code, said) = run(&shown.concat());
    assert!(
        code == 1 && said.contains("--telegram-proxy: every user") && !said.contains("hunter2"),
        "{said}"
    );
    chat.extend(["--telegram-proxy", "socks5h://127.0.0.1:1"].map(str::to_owned));
    let (code, said) = run(&chat);
    assert!(code == 1 && said.contains("no working connection to Telegram"), "{said}");
    let fields =
        [good.clone(), ["--hosting-token-fields", "secret,token"].map(str::to_owned).to_vec()].concat();
    let (code, said) = run(&fields);
    assert!(code == 1 && said.contains("FAIL"), "{said}");
    let (code, said) = run(&with(good, "--container-state", "0=FINE"));
    assert!(code == 2 && said.contains("expected CODE=NAME"), "{said}");
}

/// A program in a terminal of its own.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    shown: Arc<Mutex<String>>,
    reader: Option<std::thread::JoinHandle<()>>,
    read: usize,
}

impl Terminal {
    fn start(args: &[&str]) -> Self {
        let line = format!("exec {} {}", binary().display(), args.join(" "));
        let mut child = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env_clear()
            .env("SHELL", "/bin/sh")
            .env("TERM", "dumb")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let (into, mut from) = (Arc::clone(&shown), child.stdout.take().unwrap());
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                into.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..count]));
            }
        });
        let keys = child.stdin.take().unwrap();
        Self { child, keys, shown, reader: Some(reader), read: 0 }
    }

    fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    /// Waits for a question after the last one, and types.
    fn answer(&mut self, question: &str, keys: &str) {
        let mut found = None;
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while found.is_none() {
            let looked = self.shown();
            found = looked[self.read..].find(question).map(|at| self.read + at + question.len());
            assert!(std::time::Instant::now() < end, "no {question:?} in {looked}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        self.read = found.unwrap();
        if keys.is_empty() {
            return;
        }
        until(&format!("the end of {question}"), || self.shown()[self.read..].contains(": "));
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// The exit status.
    fn ended(&mut self) -> i32 {
        let mut status = None;
        until("its end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        self.reader.take().into_iter().for_each(|reader| reader.join().unwrap());
        status.unwrap().code().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn questions_lead_to_the_first_mail() {
    let (provider, smtp) = (selling(), SmtpServer::plain());
    let mut daemon = nothing(&provider, &smtp);
    let url = format!("http://{}", provider.address);
    let config = daemon.config();
    let mut person = Terminal::start(&["init", "--config.file", config.to_str().unwrap()]);
    person.answer("Address of the panel", "panel.example.com\n");
    person.answer("has no https:// in front", "");
    person.answer("Address of the panel", &format!("{url}\n"));
    person.answer("API key of the VMs", "vm-api-key\n");
    person.answer("User of the billing data", "billing-user\n");
    person.answer("Password of that user", "\n");
    person.answer("Password of that user", "billing-password\n");
    person.answer("Address of the hosting", &format!("{url}\n"));
    person.answer("Token of the hosting", "\n");
    person.answer("Address at which the API key", &format!("{url}/token/\n"));
    person.answer("API key that fetches it", "typed-wrong\n");
    person.answer("Time zone", "UTC\n");
    person.answer("Currency", "RUB\n");
    person.answer("Answer these questions again?", "\n");
    assert!(
        flat(&person.shown()).contains("HTTP 403: missing or wrong; check hosting_api_key"),
        "{}",
        person.shown()
    );
    for question in
        ["Address of the panel", "API key of the VMs", "User of the billing", "Password of that user"]
    {
        person.answer(question, "\n");
    }
    person.answer("Address of the hosting", "\n");
    person.answer("Address at which the API key", "\n");
    person.answer("API key that fetches it", "hosting-api-keж\u{7f}y\n");
    person.answer("Time zone", "\n");
    person.answer("Currency", "\n");
    person.answer("2 containers in state 0, such as", "");
    person.answer("Which is it", "1\n");
    person.answer("Mail server", &format!("smtp://{}\n", smtp.address));
    person.answer("Sender", "hostwatch@example.com\n");
    person.answer("Recipients of the mails", "ops@example.com\n");
    person.answer("Is this mailbox with the same provider?", "y\n");
    person.answer("A second recipient, with another provider", "nobody\n");
    person.answer("A second recipient, with another provider", "ann@example.net\n");
    person.answer("Token of a Telegram bot", "\n");
    person.answer("Address to fetch", "\n");
    person.answer("Send a test message to ops@example.com, ann@example.net?", "\n");
    person.answer("Start it: hostwatch run", "");
    assert_eq!(person.ended(), 0, "{}", person.shown());
    let shown = person.shown();
    for secret in ["vm-api-key", "billing-password", "typed-wrong", "hosting-api-k"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert_eq!(smtp.seen().accepted().len(), 2, "{shown}");
    daemon.run();
    wait_for(&smtp, STARTED);
}

/// The mail questions fill what the flags leave out.
#[test]
fn a_flag_about_mail_leads_on_to_the_questions_beside_it() {
    let (provider, smtp) = (selling(), SmtpServer::plain());
    for (flag, want) in [
        ("--to=ops@example.com,ann@example.net", "to = [\"ops@example.com\", \"ann@example.net\"]"),
        ("--from=hostwatch@example.com", "currency = \"RUB\"\n"),
    ] {
        let (daemon, mails) = (nothing(&provider, &smtp), flag.starts_with("--to"));
        let config = daemon.config();
        let file = format!("--config.file={}", config.display());
        let mut person = Terminal::start(&["init", "--no-check", &file, flag]);
        person.answer("Address of the panel", &format!("http://{}\n", provider.address));
        person.answer("API key of the VMs", "vm-api-key\n");
        person.answer("User of the billing data", "\n");
        person.answer("Address of the hosting", "\n");
        person.answer("Time zone", "UTC\n");
        person.answer("Currency", "RUB\n");
        person.answer("Mail server", &format!("smtp://{}\n", smtp.address));
        if mails {
            person.answer("Sender", "hostwatch@example.com\n");
        } else {
            // The chat may be the only recipient, so this is said after its question.
            person.answer("Recipients of the mails", "\n");
            person.answer("Token of a Telegram bot", "\n");
            person.answer("nobody would get the mails: name a recipient", "");
            // The sender goes with the mail server.
            person.answer("Mail server", "-\n");
        }
        person.answer("Token of a Telegram bot", "\n");
        person.answer("Address to fetch", "\n");
        assert_eq!(person.ended(), 0, "{}", person.shown());
        let written = fs::read_to_string(&config).unwrap();
        assert!(written.contains(want) && written.contains("[email]") == mails, "{written}");
    }
}

#[test]
fn a_secret_that_exists_is_refused_before_the_first_question() {
    let (provider, smtp) = (selling(), SmtpServer::plain());
    for name in ["main.vm_api_key", "smtp.password", "telegram.chat.token"] {
        let daemon = nothing(&provider, &smtp);
        let credentials = daemon.directory.path().join("credentials");
        fs::create_dir(&credentials).unwrap();
        fs::write(credentials.join(name), "theirs").unwrap();
        let mut person = Terminal::start(&["init", "--config.file", daemon.config().to_str().unwrap()]);
        assert_eq!(person.ended(), 1, "{}", person.shown());
        let shown = flat(&person.shown());
        assert!(shown.contains(&format!("{name} is there already")) && !shown.contains("Address"), "{shown}");
    }
}

#[test]
fn a_bad_flag_that_no_question_mends_is_refused_before_the_first_question() {
    let (provider, smtp) = (selling(), SmtpServer::plain());
    for bad in ["--hosting-token-fields=api_key", "--telegram-api-url=ftp://127.0.0.1"] {
        let daemon = nothing(&provider, &smtp);
        let mut person = Terminal::start(&["init", "--config.file", daemon.config().to_str().unwrap(), bad]);
        assert_eq!(person.ended(), 1, "{}", person.shown());
        let (shown, flag) = (flat(&person.shown()), bad.split('=').next().unwrap());
        assert!(shown.contains(&format!("{flag}: ")) && !shown.contains("Address of"), "{shown}");
    }
}

#[test]
fn an_interruption_leaves_nothing() {
    let (provider, smtp) = (selling(), SmtpServer::plain());
    let daemon = nothing(&provider, &smtp);
    let config = daemon.config();
    let start = || {
        let mut person = Terminal::start(&["init", "--config.file", config.to_str().unwrap()]);
        person.answer("Address of the panel", &format!("http://{}\n", provider.address));
        person
    };
    let (ctrl_c, ctrl_d) = ("\u{3}", "\u{4}");
    for keys in [ctrl_c, ctrl_d] {
        // Once while the input is hidden, and once while it is not.
        let mut person = start();
        person.answer("API key of the VMs", keys);
        assert_eq!(person.ended(), 1, "{}", person.shown());
        assert!(person.shown().contains("nothing was written"), "{}", person.shown());
        let mut person = start();
        person.answer("API key of the VMs", "vm-api-key\n");
        person.answer("User of the billing data", keys);
        assert_ne!(person.ended(), 0, "{}", person.shown());
    }
    assert_eq!(entries(daemon.directory.path()), 0);
}
