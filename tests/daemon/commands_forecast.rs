//! `hostwatch forecast` end to end: the real binary against the simulated provider, beside a daemon and alone.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::*;

#[test]
fn with_and_without_a_daemon() {
    let (provider, _smtp, mut daemon) = watching("");
    let (code, text, error) = daemon.command(&["forecast"]);
    let is_last_reading = text.contains("Forecast of main, as of ");
    assert!(
        code == 0 && is_last_reading && text.contains("  Cut-off      not expected before "),
        "{code} {text} {error}"
    );
    assert_eq!(daemon.stop(), 0);

    provider.lasts_days(3);
    let requests = || provider.simulator.requests().len();
    let before = requests();
    let (code, text, error) = daemon.command(&["forecast", "main"]);
    assert!(
        code == 1 && text.contains("Forecast of main, ") && text.contains("  Cut-off "),
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
    provider.fails("/api/v1/expected_balance/", 401);
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
