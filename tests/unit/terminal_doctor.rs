//! `hostwatch doctor` as text.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::terminal::doctor::{CheckOutcome, CheckSection, CheckVerdict, answer, text};
use crate::terminal::{Answer, Style};

fn sections() -> Vec<CheckSection> {
    let account = vec![
        ("VMs", CheckVerdict::ok("4, 1 call, 0.1 s")),
        (
            "states",
            CheckVerdict::warn("without a meaning known here: VM 'mi\u{1b}[31mgrating', container '7'")
                .remedy("name the numbers in [accounts.main.container_states]"),
        ),
        (
            "expected balance",
            CheckVerdict::fail(
                "reading the expected balance (https://panel.example/api/v1/expected_balance/2026-05-31/): the provider \
                 answered 401; check billing_username and billing_password",
            ),
        ),
        ("hosting", CheckVerdict::skip("off: no hosting_token, or no address")),
    ];
    let machine = vec![("clock", CheckVerdict::ok("in sync with https://panel.example"))];
    let named = |checks: Vec<(&str, CheckVerdict)>| {
        checks.into_iter().map(|(name, verdict)| (name.to_owned(), verdict)).collect()
    };
    let section = |title: &str, checks| CheckSection::new(title, named(checks));
    vec![section("Account main", account), section("This machine", machine)]
}

#[test]
fn the_state_of_everything_with_advice() {
    let coloured = text(&sections(), Style { width: 80, colour: true });
    insta::assert_snapshot!("doctor_colour", coloured.replace('\u{1b}', "␛"));
    assert_eq!(answer(&sections()), Answer::NeedsYou);
    let mut sound = sections();
    sound[0].checks.retain(|(_, verdict)| verdict.outcome != CheckOutcome::Fail);
    assert_eq!(answer(&sound), Answer::Fine, "what is to be looked at is no failure");
}
