//! Decoding of reports (interface 2.8), and of anything at all: nothing that a provider sends makes a decoder panic.

use crate::model::*;
use crate::provider::FIELDS;
use crate::provider::bench::{Paged, whole_report};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::unit::properties::decode::{Due, account, at, odd, page};
use crate::unit::properties::given;

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
            "id": order.id, "comment": order.comment, "end_date": null, "state": order.state, "tariff": tariff,
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
        let want = Report { moments_rejected: 0, ..report };
        let bytes = serde_json::to_vec(&encode_report(&want)).unwrap();
        let got = whole_report(&bytes, &account(), u64::MAX).unwrap();
        prop_assert_eq!(&got.value, &want);
        let most = want.moments.len() as u64;
        prop_assert!(whole_report(&bytes, &account(), most).is_ok());
        prop_assert!(most == 0 || whole_report(&bytes, &account(), most - 1).is_err());
    }

    /// A moment that is no moment costs itself alone, and the report is no proof any more.
    #[test]
    fn a_broken_moment_costs_itself(report in given::report(), place in any::<Index>(), field in select(vec!["amount", "balance", "moment", ""]), odd in odd()) {
        let mut json = encode_report(&report);
        let moments = json["charge_moments"].as_array_mut().unwrap();
        prop_assume!(!moments.is_empty());
        let index = place.index(moments.len());
        match field {
            "" => moments[index] = json!([1]),
            "moment" => moments[index]["moment"] = odd[Due::Moment as usize].clone(),
            _ => moments[index][field] = odd[Due::Decimal as usize].clone(),
        }
        let got = whole_report(&serde_json::to_vec(&json).unwrap(), &account(), u64::MAX).unwrap().value;
        let left: Vec<_> = report.moments.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, one)| (one.at, one.amount, one.balance, one.positive)).collect();
        let same: Vec<_> = got.moments.iter().map(|one| (one.at, one.amount, one.balance, one.positive)).collect();
        prop_assert_eq!(same, left);
        prop_assert_eq!(got.moments_rejected, 1);
    }
}

/// Any JSON, of names that the interface has and others.
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

/// Puts bytes through every decoder; what one makes of them has to hold together.
pub fn decode_all(bytes: &[u8]) {
    fn one<R: Paged + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
        let account = account();
        let read = R::page(bytes, &account);
        assert_eq!(read.is_ok(), R::page(bytes, &account).is_ok(), "the same bytes, the same answer");
        let Ok(decoded) = read else { return };
        assert!(decoded.fields.keys().all(|field| FIELDS.contains(field)), "{:?}", decoded.fields);
        assert!(decoded.problems.len() <= 8 && (decoded.rejected == 0 || !decoded.problems.is_empty()));
    }
    one::<Vm>(bytes);
    one::<Container>(bytes);
    one::<Site>(bytes);
    one::<Ip>(bytes);
    one::<Counted>(bytes);
    one::<Charge>(bytes);
    if let Ok(report) = whole_report(bytes, &account(), 10_000) {
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
        decode_all(&page(&[json]));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        decode_all(&bytes);
    }
}
