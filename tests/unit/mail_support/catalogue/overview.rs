//! Mails about many resources or accounts: first start, summary, digest, test.

use crate::alert::{Digest, Event, Form, Incident, Item, Kind, Notice, Phase, Severity, Started};
use crate::mail::{Context, Rendered};
use crate::model::*;
use chrono::Duration;

use super::Entry;
use super::billing::running_dry;
use crate::unit::account::*;
use crate::unit::mail_support::*;

pub fn all() -> Vec<Entry> {
    let mut all = started();
    all.push(("summary".to_owned(), summary_of_ten()));
    all.push(("summary_all_over".to_owned(), summary_all_over(vec![])));
    let gone = item(Kind::SiteError, 7, "Site a.example.com", Event::Unwatched);
    all.push(("summary_unwatched".to_owned(), summary_all_over(vec![gone])));
    all.extend(digests());
    all.push(("test".to_owned(), mail(&notice(Form::Test, vec![]), &snapshot([&full("main")]))));
    all
}

pub fn here(account: &str, vm: &str) -> OwnVm {
    let address = "192.0.2.5".parse().unwrap();
    OwnVm { account: account.parse().unwrap(), vm: VmId::new(17), vm_name: Some(vm.into()), address }
}

fn started() -> Vec<Entry> {
    let (main, dry) = (snapshot([&full("main")]), snapshot([&running_dry()]));
    let write = |facts, items| mail(&notice(Form::Started(facts), items), &main);
    let fine = Started { resources: 5, ..Started::default() };
    let few = vec![item(Kind::VmError, 17, "VM web-1", Event::Started)];
    let needs = Started { resources: 5, cut_offs: 1, ..Started::default() };
    let mut unread = full("main");
    unread.end(Collector::Sites, ended(Some("GET /hosting/1/virtualhosts: 502")), now());
    let unread = mail(
        &notice(Form::Started(Started { resources: 2, ..Started::default() }), vec![]),
        &snapshot([&unread]),
    );
    let (from, context_of) = (from(), |from| context(from, &main));
    let context = Context { lives_on: Some(here("main", "web-1")), ..context_of(&from) };
    let at_home = written(&notice(Form::Started(fine.clone()), vec![]), &context);
    [
        ("started_healthy", write(fine, vec![])),
        ("started_unhealthy", mail(&notice(Form::Started(needs), few), &dry)),
        ("started_unread", unread),
        ("started_on_what_it_watches", at_home),
    ]
    .map(|(name, mail)| (name.to_owned(), mail))
    .into()
}

/// A summary of ten events that the hourly limit held back.
fn summary_of_ten() -> Rendered {
    let mut items: Vec<Item> = (0..7_u64)
        .map(|id| {
            let (kind, subject) = match id % 3 {
                0 => (Kind::SiteError, format!("Site site{id}.example.com")),
                1 => (Kind::VmStuck, format!("VM web-{id}")),
                _ => (Kind::VmError, format!("VM web-{id}")),
            };
            item(kind, 100 + id, &subject, Event::Opened)
        })
        .collect();
    let over = ago(Duration::minutes(50), item(Kind::VmBlocked, 17, "VM web-1", Event::Resolved));
    let brief = ago(Duration::minutes(9), item(Kind::SiteError, 9, "Site b.example.com", Event::WasDown));
    let still = ago(Duration::days(1), item(Kind::VmError, 8, "VM db-1", Event::Reminder(1)));
    items.extend([over, brief, still]);
    items.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.key.cmp(&b.key)));
    mail(&notice(summary(60), items), &snapshot([&full("main")]))
}

fn summary_all_over(more: Vec<Item>) -> Rendered {
    let mut items = vec![item(Kind::VmError, 17, "VM web-1", Event::Resolved)];
    items.extend(more);
    mail(&notice(summary(1), items), &snapshot([&full("main")]))
}

/// A digest of these accounts.
pub fn digest(books: &[KnownAccount], items: Vec<Item>) -> Notice {
    let accounts = books.iter().map(|book| book.state().profile.name.clone());
    let facts = Digest {
        date: "2026-03-01".parse().unwrap(),
        from: now() - Duration::days(7),
        to: now(),
        accounts: accounts.collect(),
    };
    Notice { accounts: facts.accounts.clone(), ..notice(Form::Digest(facts), items) }
}

/// An incident as a digest lists it.
pub fn of_the_week(kind: Kind, resource: u64, subject: &str) -> Item {
    item(kind, resource, subject, Event::Digest("2026-03-01".parse().unwrap()))
}

/// The same incident, over since this time.
pub fn over_since(at: chrono::DateTime<chrono::Utc>, item: Item) -> Item {
    let incident = Incident { phase: Phase::Resolved, ended: Some(at), ..item.incident };
    Item { incident, ..item }
}

pub fn write(notice: &Notice, books: &[KnownAccount]) -> Rendered {
    mail(notice, &snapshot(books))
}

fn digests() -> Vec<Entry> {
    let healthy = [full("main")];
    let mut all = vec![("digest_healthy".to_owned(), write(&digest(&healthy, vec![]), &healthy))];

    let mut dry = running_dry();
    dry.apply(
        Read::Vms(crate::unit::account::all(vec![vm(17, "error", "web-1"), vm(18, "active", "web-2")])),
        read_at(),
    );
    let dry = [dry];
    let event = Event::Digest("2026-03-01".parse().unwrap());
    let gone_dark = disconnect(event, Severity::Critical, Some(computed("2026-03-04T11:00:00")));
    let gone_dark = ago(Duration::days(4), gone_dark);
    let broken = of_the_week(Kind::VmError, 17, "VM web-1");
    let quiet = Item {
        muted: acknowledged(),
        ..ago(Duration::days(3), of_the_week(Kind::SiteError, 105, "Site site105.example.com"))
    };
    let past = ago(Duration::days(2), of_the_week(Kind::VmBlocked, 18, "VM web-2"));
    let past = over_since(now() - Duration::days(2) + Duration::minutes(42), past);
    let needs = digest(&dry, vec![gone_dark, broken, quiet, past]);
    let (from, snapshot_of_dry) = (from(), snapshot(&dry));
    let context = Context { lives_on: Some(here("main", "web-1")), ..context(&from, &snapshot_of_dry) };
    all.push(("digest_needs_you".to_owned(), written(&needs, &context)));

    let several = several();
    let notice = digest(&several, vec![]);
    all.push(("digest_several_accounts".to_owned(), write(&notice, &several)));
    let unread = [book(profile("main"))];
    let nothing = digest(&unread, vec![]);
    all.push(("digest_nothing_read".to_owned(), write(&nothing, &unread)));
    all
}

/// Accounts: paid for long, in another currency and due soon, read last week, without billing, and never read.
fn several() -> Vec<KnownAccount> {
    let mut berlin = book(Profile {
        currency: "EUR".into(),
        time_zone: Some(chrono_tz::Europe::Berlin),
        ..profile("berlin")
    });
    fill(&mut berlin, read_at());
    berlin.apply(Read::ExpectedBalance(report("105.50", "10.00")), read_at());
    let mut stale = book(profile("old-shop"));
    let last_week = read_at() - Duration::days(6);
    fill(&mut stale, last_week);
    for collector in Collector::ALL {
        stale.end(collector, ended(Some("no answer within 30 s")), now());
    }
    let collectors = [Collector::Vms, Collector::Ips].into();
    let mut free = book(Profile { collectors, ..profile("free") });
    let vms = vec![vm(17, "active", "web-1"), vm(18, "paused", "web-2")];
    free.apply(Read::Vms(crate::unit::account::all(vms)), read_at());
    free.end(Collector::Vms, ended(None), read_at());
    vec![full("main"), berlin, stale, free, book(profile("new"))]
}
