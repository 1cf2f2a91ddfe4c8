//! The dates in mails and in the feed as a calendar accepts them: by UID, the highest SEQUENCE wins.

use std::collections::BTreeMap;

use chrono::Duration;

use crate::common::*;
use crate::money::{World, report};

/// UID to (SEQUENCE, DTSTART) of events that are not cancelled.
type Held = BTreeMap<String, (u32, String)>;

/// Takes in a calendar file as a calendar does.
fn take_in(held: &mut Held, seen: &mut BTreeMap<String, u32>, text: &str) {
    assert!(text.lines().all(|line| line.len() <= 75), "{text}");
    let unfolded = text.replace("\r\n ", "");
    for event in unfolded.split("BEGIN:VEVENT\r\n").skip(1) {
        let event = event.split("BEGIN:VALARM").next().unwrap();
        let value = |name: &str| {
            let of_it = |line: &str| {
                let (head, value) = line.split_once(':')?;
                (head.split(';').next() == Some(name)).then(|| value.to_owned())
            };
            event.lines().find_map(of_it)
        };
        let (uid, sequence) = (value("UID").unwrap(), value("SEQUENCE").unwrap().parse().unwrap());
        if seen.get(&uid).is_some_and(|&before| sequence < before) {
            continue;
        }
        seen.insert(uid.clone(), sequence);
        if value("STATUS").as_deref() == Some("CANCELLED") {
            held.remove(&uid);
        } else {
            held.insert(uid, (sequence, value("DTSTART").unwrap()));
        }
    }
}

fn attached(mail: &Received) -> String {
    let parsed = mail_parser::MessageParser::default().parse(&mail.raw).unwrap();
    let files = parsed.parts.iter().filter(|part| {
        let of = mail_parser::MimeHeaders::content_type(*part);
        of.is_some_and(|of| of.c_type == "text" && of.c_subtype.as_deref() == Some("calendar"))
    });
    let files: Vec<String> = files.map(|part| String::from_utf8(part.contents().to_vec()).unwrap()).collect();
    assert_eq!(files.len(), 1, "{}", mail.subject);
    files.concat()
}

#[test]
fn a_date_moves_and_goes_once_paid() {
    let at = |days: i64| move |start: chrono::DateTime<chrono::Utc>| start + Duration::hours(days * 24 + 12);
    let mut world = World::new("", |start| report(start, 100, Some(at(9)(start))));
    let (mut held, mut seen) = (Held::new(), BTreeMap::new());
    let day = |days: i64| at(days)(world.start).date_naive();
    let mut told = 0;
    let mut heard = |world: &World, event: &str, held: &mut Held| {
        take_in(held, &mut seen, &attached(&world.next(told, event)));
        told += 1;
    };
    let start = world.start;
    let event = |days: i64, sequence: u32| {
        let pay_by = (at(days)(start).date_naive() - Duration::days(4)).format("%Y%m%d").to_string();
        Held::from([("main.pay-by@example.com".to_owned(), (sequence, pay_by))])
    };
    let feed = |world: &World| {
        let (status, body) = world.daemon.request("GET", "/calendar.ics");
        assert_eq!(status, 200, "{body}");
        let mut of_feed = Held::new();
        take_in(&mut of_feed, &mut BTreeMap::new(), &body);
        of_feed
    };
    heard(&world, "rung:14", &mut held);
    let first = held["main.pay-by@example.com"].0;
    let event = |days: i64, moves: u32| event(days, first + moves);
    assert_eq!(held, event(9, 0));
    assert_eq!(feed(&world), held);
    world.says(report(start, 130, Some(at(12)(start))));
    heard(&world, &format!("paid:{}", day(12)), &mut held);
    assert_eq!(held, event(12, 1));
    // A restart keeps all numbers.
    world.daemon.stop();
    world.daemon.run();
    world.says(report(start, 60, Some(at(5)(start))));
    heard(&world, "rung:7", &mut held);
    assert_eq!(held, event(5, 2));
    until("the feed", || feed(&world) == held);
    world.says(report(start, 5000, None));
    heard(&world, "resolved", &mut held);
    assert_eq!(held, Held::new());
    until("an empty feed", || feed(&world).is_empty());
}
