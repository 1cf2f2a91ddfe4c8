//! Hosting tokens that end, under the real binary: bought again in time, never shown; and credentials whose
//! files change.
#![allow(clippy::unwrap_used)]

use crate::common;

use chrono::TimeDelta;
use common::smtp::SmtpServer;
use common::*;
use hostwatch_sim::{Args, Span};

const KEY: &str = "planted-hosting-key-2f60";
/// The beginning of every simulated token.
const WEB_TOKEN: &str = "eyJ";

/// Its tokens end when a test says so, and not by a clock that a busy machine outruns.
fn selling() -> Provider {
    let args = Args {
        token_lifetime: Some(Span(TimeDelta::seconds(3600))),
        hosting_api_key: KEY.to_owned(),
        ..Args::default()
    };
    Provider::start_with(&args, SCENARIO)
}

/// A daemon that buys its token, at most once a second.
fn buyer(provider: &Provider, smtp: &SmtpServer) -> Daemon {
    let mut daemon = Daemon::prepare(provider, smtp.address, "");
    let url = format!("hosting_token_url = \"http://{}/token/\"", provider.address);
    daemon.configure("hosting_token = \"hosting-token\"", &format!("{url}\nhosting_api_key_file = \"key\""));
    std::fs::write(daemon.directory.path().join("key"), format!("{KEY}\n")).unwrap();
    daemon.environment.push(("HOSTWATCH_HASTE", "60".to_owned()));
    daemon
}

fn purchases(provider: &Provider) -> usize {
    provider.polls("/token/")
}

fn refusals(provider: &Provider) -> usize {
    provider.simulator.requests().iter().filter(|entry| entry.status == 401).count()
}

fn fails(daemon: &Daemon) -> bool {
    daemon.page().lines().any(|line| {
        line.starts_with("hostwatch_collector_polls_total")
            && line.contains("failure")
            && !line.ends_with(" 0")
    })
}

#[test]
fn expiring_tokens_fail_no_poll() {
    let (provider, smtp) = (selling(), SmtpServer::plain());
    let mut daemon = buyer(&provider, &smtp);
    daemon.run_with(&["--web.listen-address=127.0.0.1:0", "--log.level=debug"]);
    wait_for(&smtp, STARTED);
    // A token that ends before its first use is no better than a wrong one, and fails a poll.
    provider.polled("/api/v1/hosting/containers/", 2);
    for _ in 0..2 {
        let (refused, bought) = (refusals(&provider), purchases(&provider));
        provider.say("{}", "end_tokens");
        until("another was bought", || purchases(&provider) > bought);
        provider.polled("/api/v1/hosting/containers/", 2);
        assert!(refusals(&provider) > refused, "it was refused");
    }
    assert!(!fails(&daemon), "{}", daemon.page());
    let unexpected = provider
        .simulator
        .requests()
        .into_iter()
        .find(|entry| (entry.method == "POST") != (entry.path == "/token/"));
    assert!(unexpected.is_none(), "{unexpected:?}");

    let (_, doctor, error) = daemon.command(&["doctor"]);
    assert!(flat(&doctor).contains("ok token fetched, holds until "), "{doctor} {error}");
    let status = daemon.request("GET", "/api/v1/status").1;
    assert_eq!(daemon.stop(), 0);
    let store = std::fs::read(daemon.directory.path().join("hostwatch.db")).unwrap();
    let log = daemon.log.lines().join("\n");
    assert!(log.contains("fetched a hosting token"), "{log}");
    for text in [&log, &doctor, &error, &status, &*String::from_utf8_lossy(&store)] {
        assert!(!text.contains(KEY) && !text.contains(WEB_TOKEN), "{text}");
    }
}

/// A token with this payload: `{"exp":1000000000}`.
const ENDED: &str = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjEwMDAwMDAwMDB9.c2lnbmVk";

#[test]
fn doctor_believes_the_provider_before_the_end_that_a_token_names() {
    for (taken, want) in [
        (ENDED, "warn token the token says that it ended Sun 9 Sep 2001"),
        ("another", "FAIL token the token ended Sun 9 Sep 2001"),
    ] {
        let args = Args { hosting_token: taken.to_owned(), ..Args::default() };
        let (provider, smtp) = (Provider::start_with(&args, SCENARIO), SmtpServer::plain());
        let daemon = Daemon::prepare(&provider, smtp.address, "");
        daemon.configure("hosting_token = \"hosting-token\"", &format!("hosting_token = \"{ENDED}\""));
        let (_, doctor, error) = daemon.command(&["doctor"]);
        let doctor = flat(&doctor);
        assert!(doctor.contains(want), "{doctor} {error}");
        assert!(!doctor.contains(WEB_TOKEN) && !error.contains(WEB_TOKEN), "{doctor} {error}");
    }
}

/// Without a refusal a change is noticed after ten seconds, and believed ten seconds later. By then more polls
/// were refused, and after the fifth the provider is not asked for minutes.
#[test]
fn a_refused_token_is_read_again() {
    for is_credential in [false, true] {
        let (provider, smtp) = (Provider::start(SCENARIO), SmtpServer::plain());
        let mut daemon = Daemon::prepare(&provider, smtp.address, "");
        let directory = daemon.directory.path().join("credentials");
        std::fs::create_dir(&directory).unwrap();
        let file = directory.join("main.hosting_token");
        std::fs::write(&file, "old").unwrap();
        let named =
            if is_credential { "" } else { "hosting_token_file = \"credentials/main.hosting_token\"" };
        daemon.configure("hosting_token = \"hosting-token\"", named);
        daemon.configure("containers = \"* * * * * *\"", "containers = \"*/4 * * * * *\"");
        if is_credential {
            daemon.environment.push(("CREDENTIALS_DIRECTORY", directory.display().to_string()));
        }
        daemon.run();
        until("a refusal", || refusals(&provider) > 0);
        let draft = directory.join("draft");
        std::fs::write(&draft, "hosting-token").unwrap();
        std::fs::rename(draft, &file).unwrap();
        let before = refusals(&provider);
        daemon.shows(r#"hostwatch_collector_success{account="main",collector="containers"} 1"#);
        // One may be on its way.
        assert!(refusals(&provider) <= before + 2, "{before} and then {}", refusals(&provider));
    }
}
