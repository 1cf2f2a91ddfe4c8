//! The promises of docs/security.md under the real binary: no output has a credential, and only a provider that
//! proves itself gets one.
#![allow(clippy::unwrap_used)]

mod impostors;

use crate::common::certificates::Authority;
use crate::common::smtp::{Act, Protection, Setup, SmtpServer, Stage};
use crate::common::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hostwatch_sim::Args;

const TOKEN: &str = "planted-hosting-token-5d1c";
const KEY: &str = "planted-vm-key-9a77";
const BILLING: &str = "planted-billing-password-31f0";
const MAIL: &str = "planted-mail-password-c2e8";
const PING: &str = "planted-ping-path-77b4";

/// All forms in which a credential is sent.
fn planted() -> Vec<String> {
    let mut forms: Vec<String> = [TOKEN, KEY, BILLING, MAIL, PING].map(str::to_owned).into();
    forms.push(BASE64.encode(format!("billing-user:{BILLING}")));
    forms.push(BASE64.encode(format!("\0user\0{MAIL}")));
    forms.push(BASE64.encode(MAIL));
    forms
}

fn is_clean(what: &str, text: &str) {
    for secret in planted() {
        let at = text.find(&secret);
        let around = at.map(|at| &text[text.floor_char_boundary(at.saturating_sub(200))..at + secret.len()]);
        assert!(around.is_none(), "{what} shows {secret}: …{}", around.unwrap_or_default());
    }
}

/// A daemon with every sort of secret, each given in another way, against a provider and a mail server that
/// require them.
fn guarded(extra: &str) -> (Provider, SmtpServer, Daemon) {
    let args = Args {
        hosting_token: TOKEN.to_owned(),
        vm_api_key: KEY.to_owned(),
        billing_password: BILLING.to_owned(),
        ..Args::default()
    };
    let provider = Provider::start_with(&args, SCENARIO);
    let authority = Authority::new("a test's own");
    let smtp = SmtpServer::start(Setup {
        protection: Protection::Implicit(authority.server(&["127.0.0.1"])),
        login: Some(("user".to_owned(), MAIL.to_owned())),
        ..Setup::default()
    });
    // Nobody answers at the heartbeat's address, and the error must not name it.
    let heartbeat = format!("[heartbeat]\nurl = \"http://127.0.0.1:9/{PING}\"\n");
    let mut daemon = Daemon::prepare(&provider, smtp.address, &format!("{heartbeat}{extra}"));
    let directory = daemon.directory.path().to_owned();
    let secret = |name: &str, text: &str| {
        std::fs::create_dir_all(directory.join("secrets")).unwrap();
        std::fs::write(directory.join("secrets").join(name), format!("{text}\n")).unwrap();
    };
    daemon.configure("hosting_token = \"hosting-token\"", "hosting_token_file = \"secrets/token\"");
    secret("token", TOKEN);
    daemon.configure("vm_api_key = \"vm-api-key\"", &format!("vm_api_key = \"{KEY}\""));
    daemon.configure("billing_password = \"billing-password\"\n", "");
    secret("main.billing_password", BILLING);
    secret("smtp.password", MAIL);
    daemon.environment.push(("CREDENTIALS_DIRECTORY", directory.join("secrets").display().to_string()));
    daemon.environment.push(("RUST_BACKTRACE", "full".to_owned()));
    daemon.environment.push(("HOSTWATCH_HASTE", "60".to_owned()));
    daemon.configure("smtp_url = \"smtp://", "ca_file = \"ca.pem\"\nsmtp_url = \"smtps://user@");
    std::fs::write(directory.join("ca.pem"), authority.pem()).unwrap();
    (provider, smtp, daemon)
}

/// Checks the daemon's pages, files and command line, and the output of commands beside it.
fn outputs_are_clean(daemon: &Daemon) {
    is_clean("POST /-/reload", &daemon.request("POST", "/-/reload").1);
    let commands: &[&[&str]] = &[
        &["check-config"],
        &["doctor"],
        &["rehearse"],
        &["forecast"],
        &["status"],
        &["status", "--json"],
        &["incidents"],
        &["outbox"],
        &["why", "main/vm_error/10001"],
        &["test-message"],
        &["metrics"],
    ];
    for (name, text) in daemon.shown(commands) {
        is_clean(&name, &text);
    }
}

fn log_is_clean(daemon: &Daemon) {
    is_clean("the log", &daemon.log.lines().join("\n"));
}

#[test]
fn no_output_has_credentials() {
    let (provider, smtp, mut daemon) = guarded("");
    for format in ["--log.format=logfmt", "--log.format=json"] {
        daemon.run_with(&["--web.listen-address=127.0.0.1:0", "--log.level=debug", format]);
        // Everything was read, mailed, and refused once.
        provider.all_polled(2);
        // The first mail would list the VM as well.
        wait_for(&smtp, "main/started/account started");
        // The next mail logs in again.
        smtp.seen_when_blocking(|seen| seen.closed == seen.connections);
        let refusal = format!("535 {MAIL} is wrong for user, {}", BASE64.encode(format!("\0user\0{MAIL}")));
        smtp.once(Stage::Auth, Act::reply(&refusal));
        provider.set_vm(10001, "error");
        wait_for(&smtp, "main/vm_error/10001 opened");
        provider.set_vm(10001, "active");
        provider.fails("all", 401);
        provider.all_polled(1);
        daemon.shows(r#"hostwatch_collector_success{account="main",collector="vms"} 0"#);
        outputs_are_clean(&daemon);
        provider.clear_faults();
        assert_eq!(daemon.stop(), 0);
        log_is_clean(&daemon);
        assert!(daemon.log.count("asked the provider") > 0, "the log is as loud as it can be");
    }
    for mail in received(&smtp) {
        is_clean(&mail.subject, &String::from_utf8_lossy(&mail.raw));
    }
    assert!(received(&smtp).len() >= 2, "there were mails");
}

#[test]
fn a_panic_shows_no_credential() {
    let (provider, smtp, mut daemon) = guarded("");
    daemon.arm("");
    daemon.run_with(&["--web.listen-address=127.0.0.1:0", "--log.level=debug"]);
    provider.all_polled(2);
    daemon.has_sent(1);
    daemon.arm("panic committing");
    provider.set_vm(10001, "error");
    assert_eq!(daemon.ended(), 1, "better a restart than a daemon that looks alive");
    assert!(daemon.log.count("the failpoint committing") > 0, "{:#?}", daemon.log.lines());
    log_is_clean(&daemon);
    // After a new start nothing is lost.
    daemon.arm("");
    daemon.run();
    wait_for(&smtp, "main/vm_error/10001 opened");
}
