//! `hostwatch doctor` as text.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::terminal::doctor::{Check, Outcome, Section, answer, text};
use crate::terminal::{Answer, Style};

fn sections() -> Vec<Section> {
    let account = vec![
        Check::new("VMs", Outcome::Ok, "4, 1 call, 0.1 s"),
        Check::new(
            "states",
            Outcome::Warn,
            "without a meaning known here: VM 'mi\u{1b}[31mgrating', container '7'",
        )
        .remedy("name the numbers in [accounts.main.container_states]"),
        Check::new(
            "expected balance",
            Outcome::Fail,
            "reading the expected balance (https://panel.example/api/v1/expected_balance/2026-05-31/): the provider \
             answered 401; check billing_username and billing_password",
        ),
        Check::new("hosting", Outcome::Skip, "off: no hosting_token, or no address"),
    ];
    let machine = vec![Check::new("clock", Outcome::Ok, "as that of https://panel.example")];
    let section = |title: &str, checks| Section { title: title.into(), checks };
    vec![section("Account main", account), section("This machine", machine)]
}

#[test]
fn how_everything_is_and_what_to_do() {
    let at = |width| text(&sections(), Style { width, colour: false });
    insta::assert_snapshot!("doctor_80", at(80));
    insta::assert_snapshot!("doctor_40", at(40));
    for width in [20, 40, 80] {
        assert!(at(width).lines().all(|line| line.chars().count() <= width), "{}", at(width));
    }
    let coloured = text(&sections(), Style { width: 80, colour: true });
    insta::assert_snapshot!("doctor_colour", coloured.replace('\u{1b}', "␛"));
    assert_eq!(answer(&sections()), Answer::NeedsYou);
    let mut sound = sections();
    sound[0].checks.retain(|check| check.outcome != Outcome::Fail);
    assert_eq!(answer(&sound), Answer::Fine, "what is to be looked at is no failure");
}
