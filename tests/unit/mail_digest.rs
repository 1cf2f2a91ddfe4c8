//! Digest and overflow mails: what is counted, what is bounded, what is called not known.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use crate::alert::{DigestAccount, Form, Item, Kind, Severity};
use crate::model::*;
use account::*;
use chrono::Duration;
use mail_support::catalogue::overview::{digest, of_the_week, overflow, write};
use mail_support::*;

fn subject_of(books: &[KnownAccount], items: Vec<Item>) -> String {
    write(&digest(books, items), books).subject
}

#[test]
fn the_subject_says_what_counts() {
    let due = |name: &str, balance: &str| {
        let mut book = full(name);
        book.apply(Read::ExpectedBalance(report(balance, "10.00")), read_at());
        book
    };
    let error = || of_the_week(Kind::VmError, 17, "VM web-1");
    let quiet = || Item { muted: Some("acknowledged".into()), ..error() };
    let over = || Item { ended: Some(now()), ..error() };
    let mut silent = full("main");
    silent.apply(Read::ExpectedBalance(Report { edd: Edd::Unknown, ..report("5000", "10") }), read_at());
    let unread = book(profile("main"));
    let at_least = "paid until 31 May at least (main)";
    for (books, items, want) in [
        (vec![full("main")], vec![], format!("All well, 5 resources, {at_least}")),
        (vec![full("main")], vec![over()], format!("All well, 5 resources, {at_least}")),
        (vec![full("main")], vec![error()], "VM web-1 in error (main)".to_owned()),
        (vec![full("main")], vec![error(), quiet()], "VM web-1 in error (main)".to_owned()),
        (vec![full("main")], vec![quiet()], format!("No new problems, 5 resources, {at_least}")),
        (
            vec![full("main"), due("shop", "105")],
            vec![],
            "All well, 10 resources, paid until 12 Mar (main, shop)".to_owned(),
        ),
        (
            vec![full("shop"), book(Profile { collectors: [Collector::Vms].into(), ..profile("vmonly") })],
            vec![],
            "Some data is missing, 5 resources, shop paid until 31 May at least (shop, vmonly)".to_owned(),
        ),
        (
            vec![due("main", "-1")],
            vec![],
            "Balance used up, cut-off Mon 2 Mar: pay 302 RUB now (main)".to_owned(),
        ),
        (vec![silent], vec![], "All well, 5 resources, 1 balance not known (main)".to_owned()),
        (
            vec![full("shop"), unread],
            vec![],
            "Some data is missing, 5 resources, 1 balance not known (main, shop)".to_owned(),
        ),
    ] {
        assert_eq!(subject_of(&books, items), format!("[DIGEST] {want}"));
    }
}

#[test]
fn accounts_without_number_make_a_mail_of_bounded_size_and_totals_over_all() {
    let books: Vec<KnownAccount> = (0..500)
        .map(|n| {
            let currency = if n % 5 == 0 { "EUR" } else { "RUB" };
            let mut book = book(Profile { currency: currency.into(), ..profile(&format!("acc{n:03}")) });
            fill(&mut book, read_at());
            // 275 to pay each; every tenth account's report cannot be had.
            book.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
            if n % 10 == 9 { self::book(profile(&format!("acc{n:03}"))) } else { book }
        })
        .collect();
    let items = (0..200).map(|id| of_the_week(Kind::VmError, id, &format!("VM web-{id}")));
    let ended = (0..200).map(|id| Item {
        ended: Some(now() - Duration::minutes(id)),
        ..of_the_week(Kind::SiteError, id.unsigned_abs(), &format!("Site s{id}"))
    });
    let rendered = write(&digest(&books, items.chain(ended.clone()).collect()), &books);
    let text = text(&rendered).replace(['\u{202f}', '\u{a0}'], " ");
    assert!(rendered.raw.len() < 200_000, "{} bytes", rendered.raw.len());
    // 275 a head of 100 in euros and 350 in roubles; 50 are not known.
    let sum = "27 500 EUR and 96 250 RUB";
    let joined = text.replace('\n', " ");
    assert!(joined.contains(&format!("In all {sum} for 450 accounts.")), "{text}");
    assert_eq!(joined.matches(sum).count(), 1, "said once: {text}");
    assert!(text.contains("How much to pay is not known for 50 accounts: acc009, acc019,"), "{text}");
    assert_eq!(text.matches("and 450 more accounts").count(), 4, "{text}");
    // Fifty incidents by name, then counts.
    assert_eq!(
        (text.matches("and 150 more: ").count(), text.matches("200 incidents: ").count()),
        (1, 1),
        "{text}"
    );
    assert_eq!(headers(&rendered, "X-Hostwatch-Event").len(), 50, "and all 400 as JSON");
    assert_eq!(String::from_utf8_lossy(&rendered.raw).matches("\"incident\":").count(), 400);
    assert_eq!(headers(&rendered, "List-Id"), ["<500-accounts.hostwatch.example.com>"]);
    // The latest of those that are over comes first.
    let text = self::text(&write(&digest(&books, ended.collect()), &books));
    let over = text.split("Resolved since").nth(1).unwrap();
    assert!(over.find("Site s0 ").unwrap() < over.find("Site s1 ").unwrap());
}

#[test]
fn what_is_not_known_is_never_a_number() {
    let unread = [book(profile("main"))];
    let mut notice = digest(&unread, vec![]);
    if let Form::Digest(facts) = &mut notice.form {
        facts.accounts = vec![DigestAccount { polls: 0, polls_failed: 0, ..facts.accounts[0].clone() }];
    }
    let rendered = write(&notice, &unread);
    let text = text(&rendered);
    assert!(text.contains("How much to pay for 1 account is not known."), "{text}");
    assert!(text.contains("Polls: none: nothing was watched"), "{text}");
    for number in ["0.00", " 0 ", "nothing to pay", "Nothing to pay", "all well"] {
        assert!(!text.contains(number), "{number} in {text}");
    }
    assert_eq!(
        rendered.subject,
        "[DIGEST] Some data is missing, no resources read yet, 1 balance not known (main)"
    );
}

#[test]
fn the_date_of_an_open_disconnect_outlives_the_report() {
    let unread = [book(profile("main"))];
    let ladder = mail_support::catalogue::billing::ladder("2026-03-10T11:00:00");
    let mut open = disconnect(
        crate::alert::Event::Digest("2026-03-01".parse().unwrap()),
        Severity::Critical,
        Some(ladder),
    );
    open.since = now() - Duration::days(2);
    let rendered = write(&digest(&unread, vec![open]), &unread);
    assert!(rendered.subject.contains("pay by Sat 7 Mar"), "{}", rendered.subject);
}

#[test]
fn a_digest_belongs_to_no_thread_and_an_overflow_to_those_it_ends() {
    let threads = [("Ops <ops@example.com>".to_owned(), "a@example.com".to_owned())];
    let item = Item { threads: threads.into(), ..of_the_week(Kind::VmError, 17, "VM web-1") };
    let books = [full("main")];
    let mut notice = digest(&books, vec![item]);
    assert!(headers(&write(&notice, &books), "References").is_empty());
    let facts = crate::alert::Overflow { max_per_hour: 60, since: now() };
    notice.form = Form::Overflow(facts);
    assert_eq!(headers(&write(&notice, &books), "References"), ["<a@example.com>"]);
}

#[test]
fn an_overflow_of_any_size_lists_what_servers_take() {
    let rendered = overflow(3000, 60);
    assert_eq!(
        rendered.subject,
        "[CRITICAL] 3004 more events: 1000 VMs in error, VM db-1 still in error, 1000 sites in error, site a.example.com keeps failing and 1002 more (main)"
    );
    assert_eq!(headers(&rendered, "X-Hostwatch-Event").len(), 50);
    let text = text(&rendered).replace("\n  ", " ");
    assert!(text.contains(" open and ") && text.contains(" closed are not listed"), "{text}");
    assert!(rendered.raw.len() < 1_000_000, "{} bytes", rendered.raw.len());
}
