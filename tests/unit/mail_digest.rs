//! Digests and summaries: counts and bounds.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use crate::alert::{Event, Item, Kind, Severity};
use crate::model::*;
use account::*;
use chrono::Duration;
use mail_support::catalogue::overview::{digest, of_the_week, over_since, write};
use mail_support::*;

#[test]
fn accounts_without_number_make_a_mail_of_bounded_size() {
    let books: Vec<KnownAccount> = (0..500)
        .map(|n| {
            let currency = if n % 5 == 0 { "EUR" } else { "RUB" };
            let mut book = book(Profile { currency: currency.into(), ..profile(&format!("acc{n:03}")) });
            fill(&mut book, read_at());
            // The report of every tenth account cannot be read.
            book.apply(Read::ExpectedBalance(report("25.50", "10.00")), read_at());
            if n % 10 == 9 { self::book(profile(&format!("acc{n:03}"))) } else { book }
        })
        .collect();
    let items = (0..200).map(|id| of_the_week(Kind::VmError, id, &format!("VM web-{id}")));
    let over = (0..200).map(|id: i64| {
        let item = of_the_week(Kind::SiteError, id.unsigned_abs(), &format!("Site s{id}"));
        over_since(now() - Duration::minutes(id), item)
    });
    let rendered = write(&digest(&books, items.chain(over.clone()).collect()), &books);
    let text = text(&rendered).replace(['\u{202f}', '\u{a0}'], " ");
    assert!(rendered.raw.len() < 200_000, "{} bytes", rendered.raw.len());
    assert_eq!(text.matches("and 450 more: hostwatch forecast").count(), 1, "{text}");
    // Fifty incidents by name, then counts.
    assert_eq!(
        (text.matches("and 150 more: ").count(), text.matches("and 200 more: ").count()),
        (1, 1),
        "{text}"
    );
    assert_eq!(headers(&rendered, "X-Hostwatch-Event").len(), 50, "and all 400 as JSON");
    assert_eq!(String::from_utf8_lossy(&rendered.raw).matches("\"incident\":").count(), 400);
    assert_eq!(headers(&rendered, "List-Id"), ["<500-accounts.hostwatch.example.com>"]);
    // Of the incidents that are over, the latest comes first.
    let text = self::text(&write(&digest(&books, over.collect()), &books));
    let over = text.split("Resolved since").nth(1).unwrap();
    assert!(over.find("Site s0 ").unwrap() < over.find("Site s1 ").unwrap());
}

#[test]
fn a_digest_counts_the_problems_of_each_account() {
    let mut book = full("main");
    book.apply(Read::Vms(all(vec![bare_vm(17, "error"), bare_vm(18, "error")])), now());
    let books = [book];
    let text = text(&write(&digest(&books, Vec::new()), &books));
    assert!(text.contains("2 problems, 1 off, 2 fine"), "{text}");
}

/// The page counts and calls the same.
#[test]
fn a_digest_leads_with_what_somebody_has_to_act_on() {
    let books = [full("main")];
    let subject = |items| write(&digest(&books, items), &books).subject;
    let container = of_the_week(Kind::ContainerDisabled, 31, "Container shop");
    let mut site = of_the_week(Kind::SiteError, 105, "Site site105.example.com");
    site.incident.cause = Some(container.key.clone());
    assert_eq!(subject(vec![container, site]), "[DIGEST] Container shop disabled (main)");
    let ahead = |severity, edd| {
        let event = Event::Digest("2026-03-01".parse().unwrap());
        disconnect(event, severity, Some(computed(edd)))
    };
    let seen = |item| Item { muted: acknowledged(), ..item };
    let (far, near) = ("2026-04-10T11:00:00", "2026-03-04T11:00:00");
    let no_problem = "[DIGEST] No new problems, 5 resources, paid until 31 May at least (main)";
    assert_eq!(subject(vec![ahead(Severity::Info, far)]), no_problem);
    assert_eq!(subject(vec![seen(ahead(Severity::Warning, far))]), no_problem);
    assert!(subject(vec![ahead(Severity::Warning, far)]).starts_with("[DIGEST] Cut-off Fri 10 Apr"));
    assert!(subject(vec![seen(ahead(Severity::Critical, near))]).starts_with("[DIGEST] Cut-off Wed 4 Mar"));
}

#[test]
fn a_digest_names_what_is_paid_for_and_perhaps_not_needed() {
    let stopped = |days| ago(Duration::days(days), of_the_week(Kind::VmStopped, 18, "VM web-2"));
    let mut book = full("main");
    let said = |book: &KnownAccount, items| {
        let text = text(&write(&digest(std::slice::from_ref(book), items), std::slice::from_ref(book)));
        let part = text.split("Perhaps no longer needed\n").nth(1).unwrap_or_default();
        part.split("\n\n").next().unwrap_or_default().to_owned()
    };
    assert_eq!(said(&book, vec![stopped(29)]), "  IP addresses without a VM: 192.0.2.9.");
    let both = "  VMs stopped for 30 days or longer: web-2.\n  IP addresses without a VM: 192.0.2.9.";
    assert_eq!(said(&book, vec![stopped(30)]), both);
    // One VM was stopped before it was first seen, and the other one has a mail.
    let off = |id, name| vm(id, "stopped", name);
    book.apply(Read::Vms(account::all(vec![off(17, "web-1"), off(18, "web-2")])), read_at());
    let first = "  VMs that are stopped and had no mail: web-1.\n";
    assert_eq!(said(&book, vec![stopped(1)]).split_inclusive('\n').next(), Some(first));
    let running = vec![vm(17, "active", "web-1"), vm(18, "active", "web-2")];
    book.apply(Read::Vms(account::all(running)), read_at());
    // At least one address has to name its VM, and both listings have to be whole.
    let ip = |id, vm: Option<u64>| Ip { id: IpId::new(id), address: None, vm: vm.map(VmId::new) };
    let listed = |book: &mut KnownAccount, rows: Vec<Ip>| {
        // An address is gone after two listings without it.
        (0..2).for_each(|_| drop(book.apply(Read::Ips(account::all(rows.clone())), read_at())));
    };
    listed(&mut book, vec![ip(1, None), ip(2, None)]);
    assert_eq!(said(&book, vec![]), "");
    listed(&mut book, vec![ip(1, None), ip(2, Some(17))]);
    assert_eq!(said(&book, vec![]), "  IP addresses without a VM: 1.");
    // A VM lists the address that names no VM.
    let listed_by_vm = Ip { address: Some("192.0.2.5".into()), ..ip(1, None) };
    listed(&mut book, vec![listed_by_vm, ip(2, Some(17))]);
    assert_eq!(said(&book, vec![]), "");
    listed(&mut book, vec![ip(1, None), ip(2, Some(17))]);
    book.apply(Read::Vms(Rows::new(vec![], false)), read_at());
    assert_eq!(said(&book, vec![]), "");
}
