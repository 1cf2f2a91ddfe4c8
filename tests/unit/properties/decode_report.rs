//! Decoding: an encoded report comes back unchanged, and no answer of a provider makes a decoder panic.

use crate::model::*;
use crate::provider::FIELDS;
use crate::unit::decoding::{Account, Paged, whole_report};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::unit::properties::given;

fn at(moment: Option<chrono::DateTime<chrono::Utc>>) -> Value {
    moment.map_or(Value::Null, |at| Value::from(at.format("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

fn account() -> Account {
    Account { container: ContainerId::new(31), ..Account::default() }
}

/// A page in all three shapes at once: the endpoint decides which one is read.
fn page(row: &Value) -> Vec<u8> {
    let page = json!({
        "count": 1, "next": null, "previous": null, "results": [row], "entities": [row], "objects": [row],
        "meta": {"total_count": 1, "next": null},
    });
    serde_json::to_vec(&page).unwrap()
}

/// A report as the interface writes it (2.8).
fn encode_report(report: &Report) -> Value {
    let order = |order: &Order| {
        let tariff = order.tariff.as_ref().map(|tariff| {
            json!({
                "id": 5, "generic_type": tariff.generic_type, "independent": true, "name": tariff.name,
                "short_name": tariff.short_name,
            })
        });
        json!({
            "id": order.id, "comment": order.comment, "end_date": null, "state": order.state.as_str(), "tariff": tariff,
        })
    };
    let moment = |moment: ChargeMoment| {
        json!({
            "amount": moment.amount, "balance": moment.balance, "moment": at(Some(moment.at)),
            "positive": moment.positive, "order": report.order_of(&moment).map(|one| order(one)),
        })
    };
    let edd = match report.edd {
        Edd::At(edd) => at(Some(edd)),
        Edd::Null => Value::Null,
        Edd::Unknown => Value::from("soon"),
    };
    json!({
        "date": at(report.date), "edd": edd, "error": report.error, "expected_balance": report.expected_balance,
        "charge_moments": report.moments.iter().map(moment).collect::<Vec<_>>(),
    })
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("decode_report", 64))]

    #[test]
    fn an_encoded_report_comes_back_as_it_was(report in given::report()) {
        let mut want = Report { moments_rejected: 0, whole_until: None, ..report };
        let bytes = serde_json::to_vec(&encode_report(&want)).unwrap();
        let last = want.moments.last().map(|last| last.balance);
        want.expected_balance = want.expected_balance.or(last);
        let got = whole_report(&bytes, &account(), u64::MAX).unwrap();
        prop_assert_eq!(&got.value, &want);
        let most = want.moments.len() as u64;
        prop_assert!(whole_report(&bytes, &account(), most).is_some());
        prop_assert!(most == 0 || whole_report(&bytes, &account(), most - 1).is_none());
    }
}

/// Any JSON, with names from the interface and others.
fn any_json() -> impl Strategy<Value = Value> {
    let names = [
        "id",
        "state",
        "name",
        "results",
        "entities",
        "objects",
        "meta",
        "count",
        "next",
        "total_count",
        "ips",
        "storages",
        "charge_moments",
        "order",
        "tariff",
        "moment",
        "amount",
        "balance",
        "edd",
        "error",
        "date",
        "created",
        "event_date",
        "total",
        "billing_period",
        "x",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        given::name().prop_map(Value::from),
        given::any_decimal().prop_map(|decimal| Value::from(decimal.to_string())),
        select(vec!["active", "0", "2026-03-01T12:00:00", "+262142-12-31", "0000-01-01T00:00:00", "1e999"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((select(names.to_vec()), inner), 0..6).prop_map(|members| Value::Object(
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    })
}

/// Decodes bytes with every decoder, and checks each result for consistency.
fn decode_all(bytes: &[u8]) {
    fn one<R: Paged + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
        let account = account();
        let read = R::page(bytes, &account);
        assert_eq!(read.is_some(), R::page(bytes, &account).is_some(), "the same bytes, the same answer");
        let Some(decoded) = read else { return };
        assert!(decoded.fields.keys().all(|field| FIELDS.contains(field)), "{:?}", decoded.fields);
        assert!(decoded.problems.len() <= 8 && (decoded.rejected == 0 || !decoded.problems.is_empty()));
    }
    one::<Vm>(bytes);
    one::<Container>(bytes);
    one::<Site>(bytes);
    one::<Ip>(bytes);
    one::<Counted>(bytes);
    one::<Charge>(bytes);
    if let Some(report) = whole_report(bytes, &account(), 10_000) {
        assert!(report.fields.keys().all(|field| FIELDS.contains(field)), "{:?}", report.fields);
        assert!(report.value.moments.iter().is_sorted_by_key(|moment| moment.at));
        assert!(report.value.orders.is_sorted_by(|a, b| a.id < b.id));
        assert!(
            report
                .value
                .moments
                .iter()
                .all(|one| one.order.is_none() || report.value.order_of(&one).is_some())
        );
    }
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("decode_report", 256))]

    #[test]
    fn any_json_is_decoded_or_refused(json in any_json()) {
        decode_all(&serde_json::to_vec(&json).unwrap());
        decode_all(&page(&json));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        decode_all(&bytes);
    }
}
