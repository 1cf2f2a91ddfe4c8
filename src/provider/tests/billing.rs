//! The expected-balance report and the charges: exact and tolerant; missing data are never good news.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::model::forecast::{self, Disconnect};
use crate::model::{Edd, Money, OrderId, OrderState, Report};
use crate::provider::error::ErrorKind;
use crate::provider::hosts::RequestTiming;
use crate::provider::report::{Most, decode};
use crate::provider::wire::{DecodeContext, Diagnostics};

use super::server::{Reply, Server};
use super::{client, client_with, settings, timing};

fn order(id: u64) -> Value {
    json!({
        "id": id, "comment": format!("order {id}"), "last_charge_date": null, "paid_till": "2026-03-01T00:00:00",
        "start_date": "2025-01-01", "end_date": null, "state": "ORDERED",
        "tariff": {"id": 5, "amount": "100.50", "billing_period": [1, "month"], "charge_period": [1, "day"],
            "generic_type": null, "independent": true, "name": "T", "short_name": "t", "type": "std"}
    })
}

fn moment(at: &str, amount: &str, balance: &str, order: &Value) -> Value {
    json!({"amount": amount, "balance": balance, "moment": at, "positive": true, "order": order})
}

fn report() -> Value {
    json!({
        "date": "2026-06-01T00:00:00", "edd": null, "error": null, "expected_balance": "10.10",
        "charge_moments": [
            moment("2026-03-03T00:00:00", "0.20", "99.50", &order(9)),
            moment("2026-03-02T00:00:00", "0.10", "99.70", &order(4)),
            moment("2026-03-03T00:00:00", "0.30", "99.20", &order(4)),
        ]
    })
}

fn read(json: &Value) -> Result<Report, ErrorKind> {
    read_text(&json.to_string()).0
}

fn read_text(text: &str) -> (Result<Report, ErrorKind>, Diagnostics) {
    read_bytes(text.as_bytes())
}

fn read_bytes(body: &[u8]) -> (Result<Report, ErrorKind>, Diagnostics) {
    let settings = settings();
    let context = DecodeContext { zone: settings.time_zone, container_states: settings.container_states };
    let mut notes = Diagnostics::default();
    let most = Most { moments: 1_000, order_bytes: u64::MAX };
    (decode(pieces(body), &context, most, &mut notes), notes)
}

/// A body in pieces of no size that fits it.
fn pieces(body: &[u8]) -> impl Iterator<Item = io::Result<Bytes>> {
    body.chunks(7919).map(|piece| Ok(Bytes::copy_from_slice(piece)))
}

pub(super) fn money(text: &str) -> Money {
    text.parse().unwrap()
}

/// A report in which every field is odd, for the list of fields.
pub(super) fn odd_report_notes() -> Diagnostics {
    let (report, mut notes) = read_text(
        r#"{"expected_balance": "much", "charge_moments": [
            {"moment": "2026-03-02T00:00:00", "balance": 1},
            {"moment": "2026-03-02T00:00:00", "amount": 1, "balance": 1,
             "order": {"id": 1, "state": "?", "tariff": {"generic_type": 1}}},
            {"moment": "2026-03-02T00:00:00", "amount": 1, "balance": 1, "order": {"id": 2, "state": "?"}}
        ]}"#,
    );
    report.unwrap();
    notes.problems.clear();
    notes
}

#[test]
fn a_report_is_read_exactly_with_its_moments_by_time_and_each_order_once() {
    let (report, notes) = read_text(&report().to_string());
    let report = report.unwrap();
    assert_eq!(notes, Diagnostics::default());
    assert_eq!((report.edd, report.error.clone(), report.moments_rejected), (Edd::Null, None, 0));
    assert_eq!(report.expected_balance, Some(money("10.10")));
    // Midnight in Moscow.
    assert_eq!(report.date.unwrap().to_rfc3339(), "2026-05-31T21:00:00+00:00");
    let amounts: Vec<String> = report.moments.iter().map(|moment| moment.amount.to_string()).collect();
    assert_eq!(amounts, ["0.1", "0.2", "0.3"], "by time, and in the provider's order within one");
    assert_eq!(report.orders.iter().map(|order| order.id.get()).collect::<Vec<_>>(), [4, 9]);
    let of = |place: usize| report.order_of(&report.moments.get(place).unwrap()).unwrap();
    assert_eq!((of(0).id.get(), of(1).id.get(), of(2).id.get()), (4, 9, 4));
    assert!(Arc::ptr_eq(of(0), of(2)), "one order, one object");
    let order = of(0);
    assert_eq!((order.id, &order.state), (OrderId::new(4), &OrderState::Ordered));
    let tariff = order.tariff.as_ref().unwrap();
    assert_eq!((tariff.name.as_deref(), tariff.short_name.as_deref()), (Some("T"), Some("t")));
    assert!(Arc::ptr_eq(tariff, of(1).tariff.as_ref().unwrap()), "one tariff, one object");
}

#[test]
fn the_disconnect_date_is_a_date_null_or_unknown() {
    let edd = |change: fn(&mut Value)| {
        let mut json = report();
        change(&mut json);
        read(&json).unwrap().edd
    };
    assert!(matches!(edd(|it| it["edd"] = json!("2026-04-01T10:00:00")), Edd::At(_)));
    assert!(matches!(edd(|it| it["edd"] = json!("2026-04-01")), Edd::At(_)));
    assert_eq!(edd(|_| {}), Edd::Null);
    let table = [
        (json!("soon"), "the text \"soon\""),
        (json!("0"), "the text \"0\""),
        (json!(7), "the number 7"),
        (json!(true), "true"),
        (json!([1]), "a list"),
        (json!("2000-01-01T00:00:00"), "1999-12-31 21:00:00 UTC is long past"),
    ];
    for (odd, held) in table {
        let mut json = report();
        json["edd"] = odd.clone();
        let (read, notes) = read_text(&json.to_string());
        assert_eq!(read.unwrap().edd, Edd::Unknown, "{odd}");
        assert_eq!(notes.problems, [format!("$.edd: {held}")]);
    }
    let never = json!("9999-12-31T23:59:59Z");
    for none in
        [json!(""), json!("null"), json!(false), json!({}), json!([]), json!("0000-00-00 00:00:00"), never]
    {
        let mut json = report();
        json["edd"] = none.clone();
        let (read, notes) = read_text(&json.to_string());
        assert_eq!((read.unwrap().edd, notes), (Edd::Null, Diagnostics::default()), "{none}");
    }
    assert_eq!(edd(|it| drop(it.as_object_mut().unwrap().remove("edd"))), Edd::Unknown);
}

#[test]
fn an_error_is_any_value_but_none_and_0() {
    let table = [
        (json!(null), None),
        (json!(""), None),
        (json!(" \n"), None),
        (json!("no contract"), Some("no contract")),
        (json!(5), Some("5")),
        (json!(false), None),
        (json!([]), None),
        (json!({}), None),
        (json!("null"), None),
        (json!(0), None),
        (json!("0"), None),
        (json!(true), Some("true")),
        (json!({"code": 1}), Some("{\"code\":1}")),
    ];
    for (error, want) in table {
        let mut json = report();
        json["error"] = error.clone();
        assert_eq!(read(&json).unwrap().error.as_deref(), want, "{error}");
    }
    // A report with an error needs no other field, and none is counted as missing.
    let (report, notes) = read_text(r#"{"error": "no contract"}"#);
    let report = report.unwrap();
    assert_eq!((report.error.as_deref(), report.edd), (Some("no contract"), Edd::Unknown));
    assert_eq!((report.expected_balance, report.moments.len(), notes), (None, 0, Diagnostics::default()));
}

#[test]
fn a_missing_expected_balance_is_that_after_the_last_moment() {
    let after = |expected: &str, moments: Value| {
        let mut json = report();
        json["charge_moments"] = moments;
        let text = json.to_string().replace(r#","expected_balance":"10.10""#, expected);
        let (read, notes) = read_text(&text);
        (read.unwrap().expected_balance, notes.fields.len())
    };
    let all = || report()["charge_moments"].clone();
    for none in
        ["", r#","expected_balance":null"#, r#","expected_balance":"""#, r#","expected_balance":false"#]
    {
        assert_eq!(after(none, all()), (Some(money("99.20")), 0), "{none}");
        assert_eq!(after(none, json!(null)), (None, 0), "{none}");
        assert_eq!(after(none, json!([all()[0], 7])), (None, 0), "a moment is missing");
    }
    assert_eq!(after(r#","expected_balance":"much""#, all()), (None, 1));
}

#[test]
fn an_invalid_report_is_no_good_news() {
    for text in ["{}", "[]", "null", "7", r#"{"edd": null, "expected_balance": "5"}"#] {
        assert!(matches!(read_text(text).0, Err(ErrorKind::WrongShape(_))), "{text}");
    }
    let mut odd = report();
    for moments in [json!({"secret": 1}), json!("secret"), json!(5)] {
        odd["charge_moments"] = moments.clone();
        let Err(ErrorKind::WrongShape(words)) = read(&odd) else { panic!("{moments}") };
        assert!(!words.contains("secret"), "it is not quoted: {words}");
    }
    let whole = report().to_string();
    for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
        assert!(matches!(read_text(&whole[..cut]).0, Err(ErrorKind::NotJson(_))), "{cut}");
    }
    assert!(matches!(read_text(&format!("{whole} x")).0, Err(ErrorKind::NotJson(_))));
}

#[test]
fn a_moment_without_time_or_balance_is_counted_as_rejected() {
    for field in ["moment", "balance"] {
        for (odd, held) in [(json!(null), "null"), (json!("x"), "the text \"x\""), (json!([7]), "a list")] {
            let mut json = report();
            json["charge_moments"][1][field] = odd.clone();
            let (read, notes) = read_text(&json.to_string());
            let read = read.unwrap();
            assert_eq!((read.moments.len(), read.moments_rejected), (2, 1), "{field} {odd}");
            // It is earlier than the first one. If its time cannot be read, the order of the list counts.
            let first = read.moments.first().map(|first| first.at);
            let nothing = Some(DateTime::<Utc>::MIN_UTC);
            assert_eq!(read.whole_until, if field == "balance" { nothing } else { first }, "{field} {odd}");
            json["charge_moments"].as_array_mut().unwrap().push(moment(
                "2026-03-02T00:00:00",
                "1",
                "1",
                &order(4),
            ));
            assert_eq!(self::read(&json).unwrap().whole_until, nothing, "a list that is not sorted");
            let (place, what) = notes.problems[0].split_once(": ").unwrap();
            assert!(place == format!("$.charge_moments[1].{field}") && what.contains(held), "{notes:?}");
        }
    }
    let mut json = report();
    json["charge_moments"][0] = json!(7);
    json["charge_moments"][1]["order"] = json!({"comment": "without id"});
    json["charge_moments"][2]["positive"] = json!("yes");
    let read = read(&json).unwrap();
    assert_eq!((read.moments.len(), read.moments_rejected), (2, 1));
    assert_eq!(read.whole_until, Some(DateTime::<Utc>::MIN_UTC));
    let moment = |place| read.moments.get(place).unwrap();
    assert_eq!((moment(0).order, moment(1).positive), (None, None));
    // Numbers are as exact as strings.
    let (read, _) = read_text(
        r#"{"edd": null, "expected_balance": 12345678901234567890.12, "charge_moments": [
            {"moment": "2026-03-02T00:00:00", "amount": 0.1, "balance": -0.30, "positive": 0, "order": null}]}"#,
    );
    let read = read.unwrap();
    assert_eq!(read.expected_balance, Some(money("12345678901234567890.12")));
    let moment = read.moments.first().unwrap();
    assert_eq!((moment.amount, moment.balance, moment.positive), (money("0.1"), money("-0.3"), Some(false)));
}

#[test]
fn a_report_is_read_whatever_its_bytes() {
    let with = |from: &str, to: &[u8]| {
        let text = report().to_string();
        let at = text.find(from).unwrap();
        [&text.as_bytes()[..at], to, &text.as_bytes()[at + from.len()..]].concat()
    };
    let comment = "order 9";
    for (body, want) in [
        (with(comment, b"\xcf\xf0\xe8"), "\u{fffd}\u{fffd}\u{fffd}"),
        (with(comment, b"a\tb\0\n"), "a b  "),
        (with(comment, b"\\ud800"), "\u{fffd}"),
        (with("{", b"\xef\xbb\xbf\xef\xbb\xbf\r\n{"), comment),
        (with(comment, br"a\x41\'"), r"a\x41\'"),
        ([report().to_string().as_bytes(), b"\0"].concat(), comment),
        (with(r#""end_date":null"#, br#""end_date":NaN"#), comment),
        (with(r#"{"amount""#, br#"{"x":[-Infinity,1e999],"amount""#), comment),
    ] {
        let (read, notes) = read_bytes(&body);
        let read = read.unwrap();
        assert_eq!((read.moments.len(), &notes), (3, &Diagnostics::default()), "{want:?}");
        assert_eq!(read.orders[1].comment.as_deref(), Some(want));
    }
    for odd in ["NaN", "-Infinity", "1e999"] {
        let edd = read_bytes(&with(r#""edd":null"#, format!(r#""edd":{odd}"#).as_bytes())).0.unwrap().edd;
        assert_eq!(edd, Edd::Unknown, "{odd} is no word for none");
        let body = with(r#""error":null"#, format!(r#""error":{odd}"#).as_bytes());
        assert_eq!(read_bytes(&body).0.unwrap().error.as_deref(), Some("NaN"));
        let (read, notes) =
            read_bytes(&with(r#""positive":true"#, format!(r#""positive":{odd}"#).as_bytes()));
        assert_eq!(read.unwrap().moments.len(), 3, "{odd}");
        assert_eq!(notes.fields.into_iter().collect::<Vec<_>>(), [("moment.positive", 1)], "{odd}");
    }
}

/// Bodies like those of a provider whose encoder writes a member twice.
#[test]
fn of_a_members_values_the_last_one_counts() {
    let twice = |name: &str, value: &str| format!(r#""{name}":"odd","{name}":{value}"#);
    let mut text = report().to_string();
    for (name, value) in
        [("amount", r#""0.30""#), ("balance", r#""99.20""#), ("state", r#""ORDERED""#), ("id", "4")]
    {
        let once = format!(r#""{name}":{value}"#);
        assert!(text.contains(&once), "{once}");
        text = text.replace(&once, &twice(name, value));
    }
    assert_eq!(read_text(&text), (Ok(read(&report()).unwrap()), Diagnostics::default()));
    let list = r#""charge_moments":"#;
    let all = report()["charge_moments"].to_string();
    for other in [&all, "[7]", "null", "5"] {
        let text = report().to_string().replace(list, &format!("{list}{other},{list}"));
        assert_eq!(read_text(&text).0, read(&report()), "{other}");
    }
    let none = report().to_string().replace(&all, &format!("{all},{list}[]"));
    assert!(read(&report()).is_ok() && read_text(&none).0.unwrap().moments.is_empty());
}

#[test]
fn a_moment_without_an_amount_costs_the_difference_of_the_balances_around_it() {
    for odd in [json!(null), json!("x"), json!([]), json!("NaN")] {
        let mut json = report();
        json["charge_moments"][0]["amount"] = odd.clone();
        let (read, notes) = read_text(&json.to_string());
        let read = read.unwrap();
        let amounts: Vec<String> = read.moments.iter().map(|moment| moment.amount.to_string()).collect();
        assert_eq!((amounts, read.moments_rejected), (vec!["0.1".into(), "0.2".into(), "0.3".into()], 0));
        assert_eq!(notes.fields.into_iter().collect::<Vec<_>>(), [("moment.amount", 1)], "{odd}");
    }
}

/// An account with 100 RUB was told that it is overdue: its charge in 25 days counted as 0.
#[test]
fn the_balance_before_a_first_charge_without_an_amount_is_not_known() {
    let mut json = report();
    json["charge_moments"] = json!([moment("2026-03-02T00:00:00", "", "-1100.00", &order(4))]);
    let report = read(&json).unwrap();
    let at = report.moments.first().unwrap().at;
    assert_eq!((forecast::balance_now(&report), forecast::next_charge(&report, at)), (None, None));
    assert_eq!(forecast::disconnect(&report), Disconnect::At { at, computed: true });
}

#[test]
fn each_part_of_a_report_stands_by_itself() {
    let edd = json!("2026-04-01T10:00:00");
    for moments in [
        None,
        Some(json!(null)),
        Some(json!({"secret": 1})),
        Some(json!("secret")),
        Some(json!(-5)),
        Some(json!(0.5)),
    ] {
        let mut json = report();
        json["edd"] = edd.clone();
        drop(json.as_object_mut().unwrap().remove("charge_moments"));
        if let Some(moments) = &moments {
            json["charge_moments"] = moments.clone();
        }
        let (read, notes) = read_text(&json.to_string());
        let read = read.unwrap();
        assert!(matches!(read.edd, Edd::At(_)), "{moments:?}");
        assert_eq!((read.moments.len(), read.moments_rejected), (0, 1), "{moments:?}");
        assert_eq!(notes.problems, ["$.charge_moments: no list, so the record is left out"]);
    }
    for none in [json!(null), json!([]), json!({}), json!(false), json!("")] {
        let mut json = report();
        json["charge_moments"] = none.clone();
        let read = read(&json).unwrap();
        assert_eq!((read.moments.len(), read.moments_rejected), (0, 0), "{none}");
    }
    let mut json = report();
    (json["edd"], json["error"]) = (edd, json!("1 of 2 orders could not be priced"));
    let read = read(&json).unwrap();
    assert!(matches!(read.edd, Edd::At(_)) && read.error.is_some() && read.moments.len() == 3);
}

#[tokio::test]
async fn a_report_over_the_cap_or_too_slow_asks_for_less() {
    let big = || {
        let mut json = report();
        let one = json["charge_moments"][0].clone();
        json["charge_moments"] = vec![one; 50].into();
        json.to_string()
    };
    let date = "2026-06-01".parse().unwrap();
    let server = Server::start(move |_, _| Reply::json(big())).await;
    let (client, _) = client_with(&server, RequestTiming { report_moments: 49, ..timing() });
    let error = client.expected_balance(date).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge { limit: 49, unit: "charge moments" });
    assert!(error.wants_less());
    let (client, _) = client_with(&server, RequestTiming { report_bytes: 5_000, ..timing() });
    let error = client.expected_balance(date).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge { limit: 5_000, unit: "bytes" });
    let (client, log) = client_with(&server, RequestTiming { report_moments: 50, ..timing() });
    assert_eq!(client.expected_balance(date).await.unwrap().report.moments.len(), 50);
    assert_eq!(log.codes(), ["200"]);

    let begun = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"charge_moments\": [".to_vec();
    let server = Server::start(move |_, _| Reply::Stall(begun.clone())).await;
    let (client, _) =
        client_with(&server, RequestTiming { whole: std::time::Duration::from_millis(150), ..timing() });
    let error = client.expected_balance(date).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Timeout(_)) && error.wants_less(), "{error}");
}

#[test]
fn a_report_is_read_as_far_as_its_parts_end() {
    let blanks = |count: usize| " ".repeat(count);
    let settings = settings();
    let context = DecodeContext { zone: settings.time_zone, container_states: settings.container_states };
    let most = Most { moments: 1_000, order_bytes: u64::MAX };
    // A member is as long in pieces of any size.
    for (count, is_short) in [(4_194_000, true), (4_195_000, false)] {
        let text = report().to_string().replacen('{', &format!(r#"{{"invoice":"{}","#, blanks(count)), 1);
        for size in [8 << 10, 60_000, 5 << 20] {
            let pieces = text.as_bytes().chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece)));
            let read = decode(pieces, &context, most, &mut Diagnostics::default());
            assert_eq!(read.is_ok(), is_short, "{count} in pieces of {size}: {read:?}");
        }
    }
    for start in [
        "",
        "{",
        r#"{"x":""#,
        r#"{"error":""#,
        r#"{"charge_moments":["#,
        r#"{"charge_moments":[{"amount":1,"#,
    ] {
        let text = format!("{start}{}", blanks(5 << 20));
        let Err(ErrorKind::WrongShape(words)) = read_text(&text).0 else { panic!("{start}") };
        assert_eq!(words, "a part of it has more than 4194304 bytes", "{start}");
    }
}

#[test]
fn the_orders_of_a_report_take_so_much_memory() {
    let mut json = report();
    let moments = (0..50).map(|id| moment("2026-03-03T00:00:00", "1", "1", &order(id)));
    json["charge_moments"] = moments.collect();
    let settings = settings();
    let context = DecodeContext { zone: settings.time_zone, container_states: settings.container_states };
    let read = |order_bytes: u64| {
        let most = Most { moments: 50, order_bytes };
        decode(pieces(json.to_string().as_bytes()), &context, most, &mut Diagnostics::default())
    };
    assert_eq!(read(50 * 2000).unwrap().orders.len(), 50);
    let too_large = ErrorKind::TooLarge { limit: 50 * 200, unit: "bytes of orders" };
    assert_eq!(read(50 * 200), Err(too_large));
}

#[tokio::test]
async fn a_report_over_the_cap_is_read_no_further() {
    let one = moment("2026-03-03T00:00:00", "0.20", "99.50", &order(9)).to_string();
    let long = format!(r#"{{"charge_moments": [{}]}}"#, vec![one; 40_000].join(","));
    let whole = long.len() as u64;
    let server = Server::start(move |_, _| Reply::json(long.clone())).await;
    let caps = RequestTiming { report_moments: 49, report_bytes: whole - 1, ..timing() };
    let error =
        client_with(&server, caps).0.expected_balance("2026-06-01".parse().unwrap()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge { limit: 49, unit: "charge moments" });
}

#[tokio::test]
async fn a_report_that_breaks_off_is_an_error_and_404_is_not_found() {
    let text = report().to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len() + 10);
    let server = Server::start(move |_, _| Reply::Cut(head.clone().into())).await;
    let date = "2026-06-01".parse().unwrap();
    let error = client(&server).0.expected_balance(date).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Closed(_)), "all moments came, but not the end: {error}");
    let server = Server::start(|_, _| Reply::status(404)).await;
    assert!(client(&server).0.expected_balance(date).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_problem_quotes_no_credential() {
    let server = Server::start(|_, _| {
        let mut json = report();
        json["charge_moments"][0]["balance"] = json!("billing-secret");
        Reply::json(json.to_string())
    })
    .await;
    let date = "2026-06-01".parse().unwrap();
    let read = client(&server).0.expected_balance(date).await.unwrap();
    assert!(read.problems[0].contains("\"[hidden]\" is no decimal"), "{:?}", read.problems);
}
