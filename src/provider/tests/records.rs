//! Odd records: what is absent, what is counted, what is left out, and what is said about it.

use std::collections::BTreeSet;

use crate::model::{Charge, ContainerId, ContainerState, Group, Order, OrderId, OrderState};
use crate::model::{Tariff, Vm, VmId, VmIp};
use crate::provider::FIELDS;
use crate::provider::error::ErrorKind;
use crate::provider::wire::{
    ChargeRow, ContainerRow, CountedRow, DecodeContext, Diagnostics, IpRow, NextPage, OrderRecord,
    Record as _, RowOf, SiteRow, VmRow, WirePage, page,
};

use super::server::{Reply, Server};
use super::{client, settings};

fn context() -> DecodeContext {
    let settings = settings();
    DecodeContext { zone: settings.time_zone, container_states: settings.container_states }
}

fn rows<R: RowOf>(json: &str, group: Group, parent: R::Parent) -> (WirePage<R::Model>, Diagnostics) {
    let list = match group {
        Group::Hosting => "entities",
        Group::Vm => "results",
        Group::Billing => "objects",
    };
    let body = format!(r#"{{"meta": {{}}, "{list}": [{json}]}}"#);
    let mut notes = Diagnostics::default();
    (page::<R>(body.as_bytes(), group, parent, &context(), &mut notes).unwrap(), notes)
}

fn vm(json: &str) -> (Option<Vm>, Diagnostics) {
    let (mut page, notes) = rows::<VmRow>(json, Group::Vm, ());
    (page.rows.pop(), notes)
}

fn problem(path: &str, what: &str) -> String {
    format!("{path}: {what}")
}

const FULL: &str = r#"{"id": 7, "vm_id": "v-7", "name": "web", "type": "m", "ncpu": 2, "memsize": 2048,
    "state": "active", "monitoring_enabled": true, "ips": [{"id": 3, "ipvalue": "10.0.0.3"}], "storages": [4, 5]}"#;

#[test]
fn one_odd_field_costs_that_field() {
    // (what replaces it, the field, the problem at its path)
    let table = [
        (r#""memsize": 2048"#, r#""memsize": "much""#, "vm.memsize", "a string"),
        (r#""memsize": 2048"#, r#""memsize": null"#, "vm.memsize", "null"),
        (r#""memsize": 2048"#, r#""other": {"memsize": 1}"#, "vm.memsize", "missing"),
        (r#""storages": [4, 5]"#, r#""storages": {}"#, "vm.storages", "an object"),
        (r#""ncpu": 2"#, r#""ncpu": true"#, "vm.ncpu", "a boolean"),
    ];
    for (good, odd, field, what) in table {
        let json = FULL.replace(good, odd);
        assert_ne!(json, FULL);
        let (vm, notes) = vm(&json);
        assert_eq!(vm.unwrap().id, VmId::new(7), "{odd}");
        assert_eq!(notes.fields, [(field, 1)].into(), "{odd}");
        let path = format!("$.results[0].{}", &field[3..]);
        assert_eq!(notes.problems, [problem(&path, what)], "{odd}");
    }
}

#[test]
fn ips_are_objects_or_bare_ids() {
    let ips = r#"[5, "6", {"ipvalue": "10.0.0.7"}, "10.0.0.8", null, {}]"#;
    let json = FULL.replace(r#"[{"id": 3, "ipvalue": "10.0.0.3"}]"#, ips);
    let (vm, notes) = vm(&json);
    let want = [None, None, Some("10.0.0.7"), Some("10.0.0.8")];
    let want = want.map(|address| VmIp { address: address.map(Into::into) });
    assert_eq!(vm.unwrap().ips.as_deref(), Some(&want[..]));
    assert_eq!(notes.fields, [("vm.ips", 2)].into());
}

#[test]
fn only_a_record_without_id_or_state_is_left_out() {
    let long = format!(r#"{{"id": 9, "state": "{}"}}"#, "x".repeat(200));
    let bad = [
        (r#"{"state": "active"}"#, "id", "missing"),
        (r#"{"id": null, "state": "active"}"#, "id", "null"),
        (r#"{"id": -1, "state": "active"}"#, "id", "a number"),
        (r#"{"id": 9}"#, "state", "missing"),
        (r#"{"id": 9, "state": 3}"#, "state", "a number"),
        (r#"{"id": 9, "state": " "}"#, "state", "empty or far too long for a state"),
        (&long, "state", "empty or far too long for a state"),
    ];
    for (json, field, what) in bad {
        let (page, notes) =
            rows::<VmRow>(&format!(r#"{{"id": 1, "state": "error"}}, {json}"#), Group::Vm, ());
        assert_eq!((page.rows.len(), page.rejected), (1, 1), "{json}");
        let want = problem(&format!("$.results[1].{field}"), &format!("{what}, so the record is left out"));
        assert!(notes.problems[0] == want, "{json}: {:?}", notes.problems);
    }
    let (page, notes) =
        rows::<CountedRow>(r#"7, {"id": 1, "name": "a", "charset": 7}, []"#, Group::Hosting, ());
    assert_eq!((page.rows.len(), page.rejected), (1, 2));
    assert_eq!(notes.problems[0], problem("$.entities[0]", "no object, so the record is left out"));
}

#[test]
fn a_state_of_128_letters_is_one_and_a_longer_one_is_none() {
    for (length, kept) in [(1, 1), (128, 1), (129, 0)] {
        let state = "x".repeat(length);
        let (page, _) = rows::<VmRow>(&format!(r#"{{"id": 1, "state": "{state}"}}"#), Group::Vm, ());
        assert_eq!(page.rows.len(), kept, "{length}");
    }
}

#[test]
fn eight_problems_are_kept_and_those_that_cost_a_record_come_first() {
    let odd = |id: usize| format!(r#"{{"id": {id}, "vm": 7, "ipvalue": 7}}"#);
    let bad = r#"{"vm": 7, "ipvalue": "b"}"#.to_owned();
    let path = |index: usize, field: &str| format!("$.results[{index}].{field}");
    let paths = |notes: &Diagnostics| {
        let path = |one: &String| one.split_once(": ").unwrap().0.to_owned();
        notes.problems.iter().map(path).collect::<Vec<_>>()
    };
    // Six odd ones, then three that are left out.
    let json: Vec<String> = (1..=6).map(odd).chain(vec![bad.clone(); 3]).collect();
    let (page, mut notes) = rows::<IpRow>(&json.join(","), Group::Vm, ());
    assert_eq!((page.rows.len(), page.rejected), (6, 3));
    let refused = [6, 7, 8].map(|index| path(index, "id"));
    let odds = [0, 1, 2, 3, 4].map(|index| path(index, "ipvalue"));
    assert_eq!(paths(&notes), [refused.as_slice(), &odds].concat());
    assert_eq!(notes.fields, [("ip.ipvalue", 6)].into(), "the counts go on");

    // A later page: its refusals come after those of the first, before what is only odd.
    let (_, later) = rows::<IpRow>(&[odd(7), bad.clone()].join(","), Group::Vm, ());
    notes.add(later);
    let want = [refused.as_slice(), &[path(1, "id")], &odds[..4]].concat();
    assert_eq!(paths(&notes), want);
    assert_eq!(notes.fields, [("ip.ipvalue", 7)].into());
    let (_, only_odd) = rows::<IpRow>(&(1..=9).map(odd).collect::<Vec<_>>().join(","), Group::Vm, ());
    assert_eq!(only_odd.problems.len(), 8);
    let (_, many) = rows::<IpRow>(&vec![bad; 12].join(","), Group::Vm, ());
    assert_eq!(paths(&many), (0..8).map(|index| path(index, "id")).collect::<Vec<_>>());
    notes.add(many);
    let want: Vec<String> =
        refused.into_iter().chain([1, 0, 1, 2, 3].map(|index| path(index, "id"))).collect();
    assert_eq!(paths(&notes), want);
}

#[test]
fn a_page_says_how_many_there_are_and_where_the_next_is() {
    let next = |json: &str| {
        let body = format!(r#"{{"count": 7, "results": [] {json}}}"#);
        let page =
            page::<VmRow>(body.as_bytes(), Group::Vm, (), &context(), &mut Diagnostics::default()).unwrap();
        assert_eq!(page.count, Some(7));
        page.next
    };
    let table = [
        (r#", "next": null"#, NextPage::End),
        (r#", "next": " ""#, NextPage::End),
        (r#", "next": "?page=2""#, NextPage::At("?page=2".into())),
        (r#", "next": 2"#, NextPage::Unsaid),
        ("", NextPage::Unsaid),
    ];
    for (json, want) in table {
        assert_eq!(next(json), want, "{json}");
    }
    let charges = |body: &str| {
        let read =
            page::<ChargeRow>(body.as_bytes(), Group::Billing, (), &context(), &mut Diagnostics::default());
        read.map(|page| (page.count, page.next, page.rows.len()))
    };
    let whole = r#"{"meta": {"total_count": 5, "next": "?offset=2"}, "objects": []}"#;
    assert_eq!(charges(whole).unwrap(), (Some(5), NextPage::At("?offset=2".into()), 0));
    for (body, what) in [
        (r#"{"objects": []}"#, "$.meta is no object"),
        (r#"{"meta": {}}"#, "$.objects is no list"),
        ("[]", "it is no object"),
    ] {
        assert_eq!(charges(body).unwrap_err(), ErrorKind::WrongShape(what.into()), "{body}");
    }
    assert!(matches!(charges("{").unwrap_err(), ErrorKind::NotJson(_)));
}

#[test]
fn a_charge_has_a_date_and_a_total_or_what_it_comes_to() {
    let charge = |json: &str| rows::<ChargeRow>(json, Group::Billing, ()).0.rows.pop();
    let dated = |date: &str| charge(&format!(r#"{{"event_date": "{date}", "total": "1.50"}}"#));
    for (date, read) in [
        ("2026-03-01", true),
        (" 2026-03-01 ", true),
        ("2026-03-01T10:00:00", true),
        ("2026-03-01 10:00", true),
        ("2026-03-01Z", false),
        ("2026-03-011", false),
        ("2026-03-0", false),
        ("2026-02-30", false),
        ("soon", false),
    ] {
        assert_eq!(
            dated(date).map(|charge| charge.event_date.to_string()),
            read.then(|| "2026-03-01".into())
        );
    }
    let exact = charge(r#"{"event_date": "2026-03-01", "price": "0.10", "quantity": 3}"#).unwrap();
    assert_eq!(exact.total.to_string(), "0.3");
    let given = charge(r#"{"event_date": "2026-03-01", "price": 2, "quantity": 3, "total": 5}"#).unwrap();
    assert_eq!((given.total.to_string(), given.quantity), ("5".into(), Some(3.into())));
    assert!(charge(r#"{"event_date": "2026-03-01", "price": 2}"#).is_none());
}

#[test]
fn a_containers_state_is_a_number_a_numeric_string_or_a_name() {
    let unknown = |text: &str| ContainerState::Unknown(text.into());
    let table = [
        ("0", ContainerState::Enabled, 0),
        ("\"1\"", ContainerState::DisabledByService, 0),
        ("1.0", ContainerState::DisabledByService, 0),
        ("\"DISABLED_BY_QUOTA\"", ContainerState::DisabledByQuota, 0),
        ("7", unknown("7"), 1),
        ("-1", unknown("-1"), 1),
        ("\"PAUSED\"", unknown("PAUSED"), 1),
    ];
    for (state, want, counted) in table {
        let json = format!(r#"{{"id": 1, "state": {state}}}"#);
        let (page, notes) = rows::<ContainerRow>(&json, Group::Hosting, ());
        assert_eq!(page.rows[0].state, want, "{state}");
        assert_eq!(notes.fields.get("container.state").copied().unwrap_or(0), counted, "{state}");
    }
    for state in ["null", "true", "[0]", "\"\"", "0.5"] {
        let json = format!(r#"{{"id": 1, "state": {state}}}"#);
        assert_eq!(rows::<ContainerRow>(&json, Group::Hosting, ()).0.rejected, 1, "{state}");
    }
}

#[test]
fn oddities_that_break_a_decoder_cost_no_more_than_their_row_or_field() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    for odd in ["1e999", r#""\ud800""#, &deep] {
        let (page, _) = rows::<VmRow>(&format!("{FULL}, {}", FULL.replace("2048", odd)), Group::Vm, ());
        assert_eq!((page.rows.len(), page.rejected), (2, 0), "{odd}");
        assert_eq!((page.rows[0].memsize, page.rows[1].memsize), (Some(2048), None), "{odd}");
    }
    let twice = FULL.replace(r#""ncpu": 2"#, r#""ncpu": 2, "ncpu": 3"#);
    let (vm, _) = vm(&twice);
    assert_eq!(vm.unwrap().ncpu, Some(3));
}

#[test]
fn the_list_of_fields_is_the_list_of_what_can_be_counted() {
    let mut counted = BTreeSet::new();
    let mut add = |notes: Diagnostics| counted.extend(notes.fields.into_keys());
    let bare = r#"{"id": 1, "state": "?"}"#;
    add(rows::<VmRow>(bare, Group::Vm, ()).1);
    add(rows::<ContainerRow>(bare, Group::Hosting, ()).1);
    add(rows::<SiteRow>(bare, Group::Hosting, ContainerId::new(1)).1);
    add(rows::<CountedRow>(bare, Group::Hosting, ()).1);
    add(rows::<IpRow>(bare, Group::Vm, ()).1);
    add(rows::<ChargeRow>(
        r#"{"event_date": "2026-03-01"}, {"event_date": "2026-03-01", "total": 1}"#,
        Group::Billing,
        (),
    )
    .1);
    add(super::billing::odd_report_notes());
    let listed: BTreeSet<&str> = FIELDS.iter().copied().collect();
    assert_eq!(listed.len(), FIELDS.len(), "no field twice");
    assert_eq!(counted, listed);
}

#[tokio::test]
async fn the_observer_hears_of_each_odd_field_once_a_page() {
    let server = Server::start(|_, _| {
        let odd = FULL.replace("2048", "null");
        let other = odd.replace(r#""id": 7"#, r#""id": 8"#);
        Reply::json(format!(r#"{{"count": 2, "next": null, "results": [{odd}, {other}]}}"#))
    })
    .await;
    let (client, log) = client(&server);
    let listed = client.vms().await.unwrap();
    assert!(listed.complete && listed.rejected == 0, "a row with an odd field is a row");
    assert_eq!(listed.problems.len(), 2);
    assert_eq!(log.fields(), [("vm.memsize", 2)].into());
}

/// What a row weighs beyond one that says nothing, the rest of which is given.
fn weight_of<R: RowOf>(
    bare: &str,
    full: &str,
    group: Group,
    parent: impl Fn() -> R::Parent,
) -> (usize, usize) {
    let weigh = |json: &str| R::weight(&rows::<R>(json, group, parent()).0.rows[0]);
    (weigh(bare), weigh(full) - weigh(bare))
}

/// A poll is stopped by what its rows weigh, so each has to weigh at least what it keeps.
#[test]
fn a_row_weighs_itself_and_its_texts() {
    let none = || ();
    let bare = r#"{"id": 1, "state": "active"}"#;
    // 7 bytes of texts, two addresses, one of them of 8 bytes.
    let full = r#"{"id": 1, "state": "active", "vm_id": "v-7", "name": "web", "type": "m",
        "ips": [{"id": 3, "ipvalue": "10.0.0.3"}, 4]}"#;
    let of_ips = 2 * size_of::<VmIp>() + 8;
    assert_eq!(weight_of::<VmRow>(bare, full, Group::Vm, none), (256 + 6, 7 + of_ips));
    let bare = r#"{"id": 1, "state": 0}"#;
    let full = r#"{"id": 1, "state": 0, "login": "abc", "name": "de", "service_address": "f"}"#;
    let state = context().container_states[&0].len();
    assert_eq!(weight_of::<ContainerRow>(bare, full, Group::Hosting, none), (256 + state, 6));
    let bare = r#"{"id": 1, "state": "Running"}"#;
    let full =
        r#"{"id": 1, "state": "Running", "name": "a.example", "engine": "php", "engine_version": "8"}"#;
    let parent = || ContainerId::new(1);
    assert_eq!(weight_of::<SiteRow>(bare, full, Group::Hosting, parent), (256 + 7, 13));
    let full = r#"{"id": 1, "name": "db", "comment": "nightly", "title": "laptop"}"#;
    assert_eq!(weight_of::<CountedRow>(r#"{"id": 1}"#, full, Group::Hosting, none), (256, 0));
    let full = r#"{"id": 1, "ipvalue": "10.0.0.3"}"#;
    assert_eq!(weight_of::<IpRow>(r#"{"id": 1}"#, full, Group::Vm, none), (256, 8));
    // What tells a charge from others is remembered beside it.
    let bare = r#"{"event_date": "2026-01-01", "total": "1"}"#;
    let full = r#"{"event_date": "2026-01-01", "total": "1", "description": "abc", "resource_uri": "/c/1/"}"#;
    assert_eq!(weight_of::<ChargeRow>(bare, full, Group::Billing, none), (size_of::<Charge>(), 2 * 8));
    let order = |comment: &str, tariff: Option<Tariff>| {
        let comment = Some(comment.into());
        let state = OrderState::Ordered;
        let id = OrderId::new(1);
        Order { id, state, comment, tariff }
    };
    assert_eq!(OrderRecord::weight(&order("abc", None)), 2 * size_of::<Order>() + 3);
    let tariff = Tariff {
        generic_type: Some("hosting".into()),
        name: Some("Big".into()),
        short_name: Some("b".into()),
    };
    assert_eq!(OrderRecord::weight(&order("", Some(tariff))), 2 * size_of::<Order>() + 7 + 4);
}
