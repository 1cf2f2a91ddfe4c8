//! Mails about many things: first start, overflow, digest, test.

use crate::alert::{
    Digest, DigestAccount, Event, Form, Item, Kind, Ladder, Notice, Overflow, Severity, Started,
};
use crate::mail::{Context, LivesOn, Rendered, render, render_test};
use crate::model::*;
use chrono::Duration;

use super::Entry;
use super::billing::{ladder, running_dry};
use crate::unit::account::*;
use crate::unit::mail_support::*;

pub fn all() -> Vec<Entry> {
    let mut all = started();
    all.push(("overflow".to_owned(), overflow(7, 60)));
    all.push(("overflow_all_over".to_owned(), overflow_all_over(vec![])));
    let gone = item(Kind::SiteError, 7, "Site a.example.com", Event::Unwatched);
    all.push(("overflow_unwatched".to_owned(), overflow_all_over(vec![gone])));
    all.extend(digests());
    let (from, main) = (from(), snapshot([&full("main")]));
    all.push(("test".to_owned(), render_test(&["ops@example.com".into()], &context(&from, &main)).unwrap()));
    all
}

pub fn here() -> LivesOn {
    LivesOn { account: "main".parse().unwrap(), vm: "web-1".into() }
}

fn started() -> Vec<Entry> {
    let main = snapshot([&full("main")]);
    let write = |facts, items| mail(&notice(Form::Started(facts), items), &main);
    let fine = Started { resources: 5, ..Started::default() };
    let few = vec![item(Kind::VmError, 17, "VM web-1", Event::Started)];
    let needs = Started { resources: 5, needs: 2, disconnect: true, ..Started::default() };
    let unread = vec!["main: cannot read sites: GET /hosting/1/virtualhosts: 502".to_owned()];
    let unread = Started { resources: 2, unread, ..Started::default() };
    let (from, context_of) = (from(), |from| context(from, &main));
    let context = Context { lives_on: Some(here()), ..context_of(&from) };
    let at_home = render(&notice(Form::Started(fine.clone()), vec![]), &context).unwrap();
    [
        ("started_healthy", write(fine, vec![])),
        ("started_unhealthy", write(needs, few)),
        ("started_unread", write(unread, vec![])),
        ("started_on_what_it_watches", at_home),
    ]
    .map(|(name, mail)| (name.to_owned(), mail))
    .into()
}

/// So many events held back in the hour.
pub fn overflow(count: u64, max_per_hour: u32) -> Rendered {
    let mut items: Vec<Item> = (0..count)
        .map(|id| {
            let (kind, subject) = match id % 3 {
                0 => (Kind::SiteError, format!("Site site{id}.example.com")),
                1 => (Kind::VmStuck, format!("VM web-{id}")),
                _ => (Kind::VmError, format!("VM web-{id}")),
            };
            item(kind, 100 + id, &subject, Event::Opened)
        })
        .collect();
    let mut over = item(Kind::VmBlocked, 17, "VM web-1", Event::Resolved);
    over.since = now() - Duration::minutes(50);
    let brief = Item {
        since: now() - Duration::minutes(9),
        ..item(Kind::SiteError, 9, "Site b.example.com", Event::WasDown)
    };
    let still =
        Item { since: now() - Duration::days(1), ..item(Kind::VmError, 8, "VM db-1", Event::Reminder(1)) };
    let unsteady = item(Kind::SiteError, 7, "Site a.example.com", Event::Flapping);
    items.extend([over, brief, still, unsteady]);
    let facts = Overflow { max_per_hour, since: now() - Duration::minutes(20) };
    mail(&notice(Form::Overflow(facts), items), &snapshot([&full("main")]))
}

fn overflow_all_over(more: Vec<Item>) -> Rendered {
    let mut items = vec![item(Kind::VmError, 17, "VM web-1", Event::Resolved)];
    items.extend(more);
    let facts = Overflow { max_per_hour: 1, since: now() - Duration::minutes(20) };
    mail(&notice(Form::Overflow(facts), items), &snapshot([&full("main")]))
}

/// A digest of these accounts, polled well all week.
pub fn digest(books: &[KnownAccount], items: Vec<Item>) -> Notice {
    let accounts = books.iter().map(|book| DigestAccount {
        name: book.state().profile.name.clone(),
        polls: 21_312,
        polls_failed: 0,
    });
    let facts = Digest {
        date: "2026-03-01".parse().unwrap(),
        from: now() - Duration::days(7),
        to: now(),
        accounts: accounts.collect(),
        mails_sent: 12,
        mails_dead: 0,
        mails_queued: 0,
    };
    let names = facts.accounts.iter().map(|account| account.name.clone()).collect();
    Notice { accounts: names, ..notice(Form::Digest(facts), items) }
}

/// An incident as a digest lists it.
pub fn of_the_week(kind: Kind, resource: u64, subject: &str) -> Item {
    item(kind, resource, subject, Event::Digest("2026-03-01".parse().unwrap()))
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
    let mut gone_dark = disconnect(
        Event::Digest("2026-03-01".parse().unwrap()),
        Severity::Critical,
        Some(Ladder { computed: true, ..ladder("2026-03-04T11:00:00") }),
    );
    gone_dark.since = now() - Duration::days(4);
    let broken = of_the_week(Kind::VmError, 17, "VM web-1");
    let quiet = Item {
        muted: Some("acknowledged".into()),
        since: now() - Duration::days(3),
        ..of_the_week(Kind::SiteError, 105, "Site site105.example.com")
    };
    let past = Item {
        since: now() - Duration::days(2),
        ended: Some(now() - Duration::days(2) + Duration::minutes(42)),
        ..of_the_week(Kind::VmBlocked, 18, "VM web-2")
    };
    let mut needs = digest(&dry, vec![quiet, past, broken, gone_dark]);
    if let Form::Digest(facts) = &mut needs.form {
        facts.mails_dead = 1;
        facts.mails_queued = 2;
        facts.accounts[0].polls_failed = 12;
    }
    let (from, snapshot_of_dry) = (from(), snapshot(&dry));
    let context = Context { lives_on: Some(here()), ..context(&from, &snapshot_of_dry) };
    all.push(("digest_needs_you".to_owned(), render(&needs, &context).unwrap()));

    let several = several();
    let mut notice = digest(&several, vec![]);
    if let Form::Digest(facts) = &mut notice.form {
        facts.accounts[2].polls_failed = 21;
        facts.accounts[4].polls = 0;
    }
    all.push(("digest_several_accounts".to_owned(), write(&notice, &several)));
    let unread = [book(profile("main"))];
    all.push(("digest_nothing_read".to_owned(), write(&digest(&unread, vec![]), &unread)));
    all
}

/// Paid for long, paid in another currency and soon due, read last week, without billing, never read.
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
