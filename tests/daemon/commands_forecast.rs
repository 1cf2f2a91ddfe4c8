//! `hostwatch forecast` end to end: the real binary against the simulated provider, with no daemon.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::io::{Read as _, Write as _};

use chrono::{Days, NaiveDate};
use common::smtp::SmtpServer;
use common::*;
use hostwatch::sim::FaultKind;

#[test]
fn with_and_without_a_daemon() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::start(&provider, smtp.address);
    let (code, text, error) = daemon.command(&["forecast"]);
    assert!(code == 0 && text.contains("  Cut-off      not expected before "), "{code} {text} {error}");
    assert_eq!(daemon.stop(), 0);

    provider.lasts_days(5);
    let requests = || provider.simulator.requests().len();
    let before = requests();
    let (code, text, error) = daemon.command(&["forecast", "main"]);
    assert!(
        code == 1 && text.contains("Forecast of main, ") && text.contains("▲ cut-off "),
        "{text} {error}"
    );
    assert_eq!(requests(), before + 1, "one call an account");

    let (code, json, _) = daemon.command(&["forecast", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["accounts"][0]["billing"]["disconnect"]), (1, &"at".into()));
    assert!(json["accounts"][0]["billing"]["orders"].as_array().is_some_and(|orders| !orders.is_empty()));

    provider.report_error(Some("no data \\u001b[2J for you"));
    let (code, text, _) = daemon.command(&["forecast"]);
    assert!(code == 3 && text.contains("the report carries an error: no data [2J for you"), "{code} {text}");
    provider.report_error(None);
    provider.fault(FaultKind::ExpiredCredentials, "/api/v1/expected_balance/", &[]);
    let (code, text, _) = daemon.command(&["forecast"]);
    assert!(code == 3 && text.contains("billing_password"), "{code} {text}");

    let (code, _, error) = daemon.command(&["forecast", "nobody"]);
    assert!(code == 3 && error.contains("no account is called 'nobody'; there is main"), "{code} {error}");
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    let config = config
        .replace("billing_username", "# billing_username")
        .replace("billing_password", "# billing_password");
    std::fs::write(daemon.config(), config).unwrap();
    let (code, text, error) = daemon.command(&["forecast"]);
    assert!(code == 3 && text.contains("billing is off; set "), "{code} {text} {error}");
}

/// A provider that answers everything with one report: the account is cut off at the midnight at Moscow with which
/// `day` begins.
fn cut_off_with_the_day(day: NaiveDate) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let end = day + Days::new(100);
    let body = format!(
        r#"{{"date": "{end}", "edd": "{day}T00:00:00", "error": null, "expected_balance": "5.00", "charge_moments":
            [{{"amount": "1.00", "balance": "5.00", "moment": "{day}T00:00:00", "positive": true, "order": null}}]}}"#
    );
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let head =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    address
}

#[test]
fn a_cut_off_at_midnight_belongs_to_the_day_it_ends() {
    let today = crate::common::now().with_timezone(&chrono_tz::Europe::Moscow).date_naive();
    let (cut_off, last) = (today + Days::new(20), today + Days::new(16));
    let address = cut_off_with_the_day(cut_off);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hostwatch.toml");
    let config = format!(
        "[accounts.main]\npanel_url = 'http://{address}'\nbilling_username = 'u'\nbilling_password = 'p'\ntime_zone = \
         'Europe/Moscow'\n[billing]\nlead_days = 3\n[alerts]\ndisconnect_days = [25, 4]\n[email]\nsmtp_url = \
         'smtp://127.0.0.1:1'\nfrom = 'a@example.com'\nto = ['b@example.com']\n"
    );
    std::fs::write(&file, config).unwrap();
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hostwatch"));
        let output = command.args(args).arg("--config.file").arg(&file).env_clear().output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (json, error) = run(&["forecast", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect(&error);
    assert_eq!(json["accounts"][0]["billing"]["pay_by"], last.to_string());
    let said = last.format("%a %-d %b").to_string();
    let (text, error) = run(&["forecast"]);
    assert!(text.contains(&format!("  Pay by       {said}")), "{said}: {text} {error}");
    let (text, error) = run(&["rehearse"]);
    assert!(text.contains(&format!("    pay by {said}")), "{said}: {text} {error}");
}
