//! Odd records: absent values, counted fields, rejected rows, and the problems that are reported.

use std::collections::BTreeSet;

use crate::model::{ContainerId, Group};
use crate::provider::FIELDS;
use crate::provider::error::ErrorKind;
use crate::provider::wire::{
    ChargeRow, ContainerRow, CountedRow, DecodeContext, Diagnostics, IpRow, NextPage, Record, SiteRow, VmRow,
    WirePage, page,
};

use super::server::{Reply, Server};
use super::{client, settings};

fn context() -> DecodeContext {
    let settings = settings();
    DecodeContext { zone: settings.time_zone, container_states: settings.container_states }
}

fn rows<R: Record>(json: &str, group: Group, parent: R::Parent) -> (WirePage<R::Model>, Diagnostics) {
    let list = match group {
        Group::Hosting => "entities",
        Group::Vm => "results",
        Group::Billing => "objects",
    };
    let body = format!(r#"{{"meta": {{}}, "{list}": [{json}]}}"#);
    let mut notes = Diagnostics::default();
    (page::<R>(body.as_bytes(), group, parent, &context(), &mut notes).unwrap(), notes)
}

const FULL: &str = r#"{"id": 7, "vm_id": "v-7", "name": "web", "type": "m", "ncpu": 2, "memsize": 2048,
    "state": "active", "monitoring_enabled": true, "ips": [{"id": 3, "ipvalue": "10.0.0.3"}], "storages": [4, 5]}"#;

/// A part of the full VM, and what stands in its place.
const ODD_VMS: [(&str, &str); 7] = [
    (r#""memsize": 2048"#, r#""memsize": "much""#),
    (r#""memsize": 2048"#, r#""memsize": null"#),
    (r#""memsize": 2048"#, r#""other": {"memsize": 1}"#),
    (r#""storages": [4, 5]"#, r#""storages": {}"#),
    (r#""ncpu": 2"#, r#""ncpu": true"#),
    (r#""name": "web""#, r#""name": "\ud800""#),
    // Addresses are objects or bare ids, and are written in one way.
    (
        r#"{"id": 3, "ipvalue": "10.0.0.3"}"#,
        r#"5, "6", {"ipvalue": "2001:0DB8:0:0:0:0:0:0007"}, "FD00::0001", {"ipvalue": " ::FFFF:10.0.0.3 "}, null, {}"#,
    ),
];

/// Rows of which some lack an id or a state.
const ODD_ROWS: [&str; 7] = [
    r#"{"state": "active"}"#,
    r#"{"id": null, "state": "active"}"#,
    r#"{"id": -1, "state": "active"}"#,
    r#"{"id": 9}"#,
    r#"{"id": 9, "state": 3}"#,
    r#"{"id": 9, "state": " "}"#,
    r#"7, {"id": 1, "state": "error"}, []"#,
];

const CONTAINER_STATES: [&str; 12] = [
    "0",
    "\"1\"",
    "1.0",
    "\"DISABLED_BY_QUOTA\"",
    "7",
    "-1",
    "\"PAUSED\"",
    "null",
    "true",
    "[0]",
    "\"\"",
    "0.5",
];

const CHARGES: [&str; 11] = [
    r#""2026-03-01", "total": 1.50"#,
    r#"" 2026-03-01 ", "total": 1.50"#,
    r#""2026-03-01T10:00:00", "total": 1.50"#,
    r#""2026-03-01 10:00", "total": 1.50"#,
    r#""2026-03-01Z", "total": 1.50"#,
    r#""2026-03-011", "total": 1.50"#,
    r#""2026-03-0", "total": 1.50"#,
    r#""2026-02-30", "total": 1.50"#,
    r#""soon", "total": 1.50"#,
    r#""2026-03-01", "total": "much""#,
    r#""2026-03-01", "price": 2"#,
];

/// Each odd row or field costs itself alone, and is named.
#[test]
fn odd_records_read_as_they_did() {
    fn read<R: Record<Parent = ()>>(json: &str, group: Group) -> String
    where
        R::Model: std::fmt::Debug,
    {
        let (page, notes) = rows::<R>(json, group, ());
        let first = notes.problems.first().map_or("fine", String::as_str);
        format!("{json}\n  {:?}\n  {} left out; {first}\n", page.rows, page.rejected)
    }
    let vms = ODD_VMS.map(|(good, odd)| read::<VmRow>(&FULL.replace(good, odd), Group::Vm));
    let rows = ODD_ROWS.map(|json| read::<VmRow>(json, Group::Vm));
    let counted = read::<CountedRow>(r#"7, {"id": 1, "name": "a", "charset": 7}, []"#, Group::Hosting);
    let ip = read::<IpRow>(r#"{"id": 1, "vm": 7, "ipvalue": "2001:DB8::0:1"}"#, Group::Vm);
    let states = CONTAINER_STATES.map(|state| {
        let json = format!(r#"{{"id": 1, "state": {state}}}"#);
        let (page, notes) = self::rows::<ContainerRow>(&json, Group::Hosting, ());
        let read = page.rows.first().map(|row| &row.state);
        format!("container {state}: {read:?}, counted as unknown: {:?}", notes.fields.get("container.state"))
    });
    let charges =
        CHARGES.map(|rest| read::<ChargeRow>(&format!(r#"{{"event_date": {rest}}}"#), Group::Billing));
    let all = [&vms[..], &rows, &[counted, ip], &states, &charges].concat();
    insta::assert_snapshot!("odd_records", all.join("\n"));
    // Values nested too deep are absent, too.
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let (page, _) = self::rows::<VmRow>(&FULL.replace("2048", &deep), Group::Vm, ());
    assert_eq!(page.rows[0].memsize, None);
}

#[test]
fn none_for_a_list_is_an_empty_one_unless_there_should_be_rows() {
    for (page_of, want) in [
        (r#"{"count": 0, "results": null}"#, true),
        (r#"{"results": null}"#, true),
        (r#"{"count": "0", "results": false}"#, true),
        (r#"{"count": 0, "results": {}}"#, true),
        (r#"{"count": 2, "results": null}"#, false),
        (r#"{"count": 0}"#, false),
        (r#"{"count": 0, "results": {"id": 1}}"#, false),
        (r#"{"count": 0, "results": "none at all"}"#, false),
    ] {
        let read = page::<VmRow>(page_of.as_bytes(), Group::Vm, (), &context(), &mut Diagnostics::default());
        assert_eq!(read.is_ok_and(|read| read.rows.is_empty()), want, "{page_of}");
    }
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
fn eight_problems_are_kept_and_lost_records_come_first() {
    let odd = |id: usize| format!(r#"{{"id": {id}, "vm": 7, "ipvalue": 7}}"#);
    let bad = r#"{"vm": 7, "ipvalue": "b"}"#.to_owned();
    let path = |index: usize, field: &str| format!("$.results[{index}].{field}");
    let paths = |notes: &Diagnostics| {
        let path = |one: &String| one.split_once(": ").unwrap().0.to_owned();
        notes.problems.iter().map(path).collect::<Vec<_>>()
    };
    // Six odd rows, then three that are rejected.
    let json: Vec<String> = (1..=6).map(odd).chain(vec![bad.clone(); 3]).collect();
    let (first, mut notes) = rows::<IpRow>(&json.join(","), Group::Vm, ());
    assert_eq!((first.rows.len(), first.rejected), (6, 3));
    let refused = [6, 7, 8].map(|index| path(index, "id"));
    let odds = [0, 1, 2, 3, 4].map(|index| path(index, "ipvalue"));
    assert_eq!(paths(&notes), [refused.as_slice(), &odds].concat());
    assert_eq!(notes.fields, [("ip.ipvalue", 6)].into(), "the counts go on");

    // A later page is noted in the same place: its refusals come after those of the first page, and before problems that
    // are only odd.
    let later = |json: &[String], notes: &mut Diagnostics| {
        let body = format!(r#"{{"meta": {{}}, "results": [{}]}}"#, json.join(","));
        page::<IpRow>(body.as_bytes(), Group::Vm, (), &context(), notes).unwrap();
    };
    later(&[odd(7), bad.clone()], &mut notes);
    assert_eq!(paths(&notes), [refused.as_slice(), &[path(1, "id")], &odds[..4]].concat());
    assert_eq!(notes.fields, [("ip.ipvalue", 7)].into());
    let (_, only_odd) = rows::<IpRow>(&(1..=9).map(odd).collect::<Vec<_>>().join(","), Group::Vm, ());
    assert_eq!(only_odd.problems.len(), 8);
    let (_, many) = rows::<IpRow>(&vec![bad.clone(); 12].join(","), Group::Vm, ());
    assert_eq!(paths(&many), (0..8).map(|index| path(index, "id")).collect::<Vec<_>>());
    later(&vec![bad; 12], &mut notes);
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
        (r#", "next": "?page=2""#, NextPage::At("page=2".into())),
        (r#", "next": "undefined""#, NextPage::Unsaid),
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
    assert_eq!(charges(whole).unwrap(), (Some(5), NextPage::At("offset=2".into()), 0));
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
fn the_list_of_fields_has_all_fields_that_are_counted() {
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
    assert!(listed.shows_all && listed.rejected == 0, "a row with an odd field is a row");
    assert_eq!(listed.problems.len(), 2);
    assert_eq!(log.fields(), [("vm.memsize", 2)].into());
}
