//! Mails about resources, collectors and orders.

use crate::alert::{Cause, Event, Form, Item, Kind, Reason, Severity};
use crate::model::*;
use chrono::Duration;

use super::Entry;
use crate::unit::account::*;
use crate::unit::mail_support::*;

pub fn all() -> Vec<Entry> {
    let mut all = Vec::new();
    for (kind, resource, subject, bad, good) in KINDS {
        let mut opened = Item { detail: bad.into(), ..item(kind, resource, subject, Event::Opened) };
        if kind == Kind::BalanceDrop {
            opened.problem = "dropped 900 RUB more than expected".to_owned();
        }
        all.push((format!("{kind}_opened"), mail(&notice(Form::Opened, vec![opened]), &seen(kind))));
        if kind == Kind::BalanceDrop {
            // Told once; it does not stay open.
            continue;
        }
        let over = over(item(kind, resource, subject, Event::Resolved), good);
        all.push((
            format!("{kind}_resolved"),
            mail(&notice(Form::Closed, vec![over]), &snapshot([&full("main")])),
        ));
    }
    let main = snapshot([&full("main")]);
    let web_1 = |event| item(Kind::VmError, 17, "VM web-1", event);
    let links = super::billing::with_links(&notice(Form::Opened, vec![web_1(Event::Opened)]));
    all.push(("vm_error_with_links".to_owned(), links));
    let mut put = |name: &str, form, items| all.push((name.to_owned(), mail(&notice(form, items), &main)));

    let gone = over(web_1(Event::Removed), "no longer listed by the provider");
    let gone = Item { reason: Cause::NoLongerListed.into(), ..gone };
    put("vm_error_removed", Form::Closed, vec![gone]);
    put("vm_error_was_down", Form::Closed, vec![over(web_1(Event::WasDown), "its state is now active")]);

    for (count, ago) in [(1, 1), (3, 3)] {
        let mut reminder = web_1(Event::Reminder(count));
        reminder.since = now() - Duration::days(ago);
        reminder.reason = Cause::Reminder { count, most: 3 }.into();
        put(&format!("reminder_{count}"), Form::Reminder, vec![reminder]);
    }

    let flapping = Item { reason: Cause::Flapping { changes: 4 }.into(), ..web_1(Event::Flapping) };
    put("flapping", Form::Opened, vec![flapping]);
    let mut stable = over(web_1(Event::Resolved), "its state is now active");
    stable.reason = Cause::Stable.into();
    put("flapping_over", Form::Closed, vec![stable]);

    let mut missed = web_1(Event::Opened);
    missed.unwatched = Some((now() - Duration::hours(9), now() - Duration::minutes(1)));
    put("unwatched", Form::Opened, vec![missed]);

    let mut covering = item(Kind::Disconnect, "account", "Account main", Event::Covered(1));
    covering.severity = Severity::Critical;
    covering.problem = "overdue".into();
    covering.covers = ["VM web-1 blocked", "Container shop disabled"].map(str::to_owned).into();
    put("covered", Form::Covered, vec![covering]);
    let mut retired = web_1(Event::Unwatched);
    retired.since = now() - Duration::hours(5);
    retired.reason = Cause::RuleOff.into();
    put("no_longer_watched", Form::Unwatched, vec![retired]);

    all.push(four_at_once());
    all.push(two_accounts());
    all.extend(names());
    all
}

/// Kind, resource, its words, seen wrong, seen right.
const KINDS: [(Kind, &str, &str, &str, &str); 15] = [
    (
        Kind::BillingReport,
        "account",
        "Balance report",
        "the report carries an error: balance calculation failed",
        "answers again",
    ),
    (Kind::OrderSuspended, "71", "Order shop", "its state is SUSPENDED", "its state is ORDERED"),
    (Kind::BalanceDrop, "account", "Balance", "forecast 5\u{202f}000.50 RUB, actual 4\u{202f}100.50 RUB", ""),
    (Kind::VmError, "17", "VM web-1", "its state is error", "its state is now active"),
    (Kind::VmBlocked, "17", "VM web-1", "its state is blocked", "its state is now active"),
    (Kind::VmStopped, "17", "VM web-1", "its state is stopped", "its state is now active"),
    (Kind::VmStuck, "17", "VM web-1", "its state is building", "its state is now active"),
    (Kind::SiteError, "104", "Site shop.example.com", "its state is Error", "its state is now Active"),
    (
        Kind::SiteBlocked,
        "104",
        "Site shop.example.com",
        "its state is StoppedByQuota",
        "its state is now Active",
    ),
    (Kind::SiteStuck, "104", "Site shop.example.com", "its state is Restarting", "its state is now Active"),
    (
        Kind::ContainerDisabled,
        "31",
        "Container shop",
        "its state is DISABLED_BY_SERVICE",
        "its state is now ENABLED",
    ),
    (Kind::ResourceGone, "vm:17", "VM 17", "no longer listed by the provider", "listed again"),
    (
        Kind::UnknownState,
        "container:7",
        "Unknown container state \"7\"",
        "cannot tell whether resources in this state are OK; name it in container_states",
        "no longer seen",
    ),
    (
        Kind::CollectorFailing,
        "sites",
        "Cannot read sites",
        "GET /hosting/1/virtualhosts: no answer within 30 s",
        "answers again",
    ),
    (
        Kind::CredentialsRejected,
        "billing",
        "Credentials of the billing endpoints",
        "GET /billing/expected-balance: 401 Unauthorized",
        "answers again",
    ),
];

/// The account as it stands when this kind opens.
fn seen(kind: Kind) -> Snapshot {
    let mut book = full("main");
    let shop = |state| Site { name: Some("shop.example.com".into()), ..site(104, 31, state) };
    #[allow(clippy::wildcard_enum_match_arm)] // the others show in no listing
    match kind {
        Kind::SiteError | Kind::SiteBlocked | Kind::SiteStuck => {
            let state = match kind {
                Kind::SiteError => "Error",
                Kind::SiteBlocked => "StoppedByQuota",
                _ => "Restarting",
            };
            book.apply(Read::Sites(ContainerId::new(31), all_of(vec![shop(state)])), read_at());
        }
        Kind::ContainerDisabled => {
            book.apply(Read::Containers(all_of(vec![container(31, "DISABLED_BY_SERVICE")])), read_at());
            let sites =
                (100..125).map(|id| site(id, 31, if id == 101 { "StoppedByService" } else { "Active" }));
            book.apply(Read::Sites(ContainerId::new(31), all_of(sites.collect())), read_at());
            let vms = vec![vm(17, "blocked", "web-1"), vm(18, "active", "web-2")];
            book.apply(Read::Vms(all_of(vms)), read_at());
        }
        _ => {}
    }
    snapshot([&book])
}

fn all_of<T>(rows: Vec<T>) -> Rows<T> {
    crate::unit::account::all(rows)
}

fn over(item: Item, detail: &str) -> Item {
    let (detail, reason) = (detail.to_owned(), Cause::OkInARow { polls: 2.into() }.into());
    Item { detail, reason, since: now() - Duration::minutes(50), ..item }
}

fn four_at_once() -> Entry {
    let mut blocked = item(Kind::SiteBlocked, 104, "Site site104.example.com", Event::Opened);
    blocked.detail = "its state is StoppedByQuota".into();
    let mut stuck = item(Kind::VmStuck, 18, "VM web-2", Event::Opened);
    stuck.detail = "its state is building".into();
    stuck.since = now() - Duration::hours(3);
    let mut failing = item(Kind::CollectorFailing, "sites", "Cannot read sites", Event::Opened);
    failing.detail = "GET /hosting/1/virtualhosts: no answer within 30 s".into();
    let mut book = full("main");
    let site = Site { state: SiteState::StoppedByQuota, ..site(104, 31, "Active") };
    book.apply(Read::Sites(ContainerId::new(31), all_of(vec![site])), read_at());
    let web_1 = item(Kind::VmError, 17, "VM web-1", Event::Opened);
    let notice = notice(Form::Opened, vec![web_1, blocked, failing, stuck]);
    ("group_of_four".to_owned(), mail(&notice, &snapshot([&book])))
}

fn two_accounts() -> Entry {
    let mut other = item(Kind::SiteError, 104, "Site site104.example.com", Event::Opened);
    other.detail = "its state is Error".into();
    other.key.account = "shop".parse().unwrap();
    let web_1 = item(Kind::VmError, 17, "VM web-1", Event::Opened);
    let notice = notice(Form::Opened, vec![web_1, other]);
    ("group_of_two_accounts".to_owned(), mail(&notice, &snapshot([&full("main"), &full("shop")])))
}

/// What customers and attackers call their things.
pub const NASTY: &str = "<b>x</b>\r\nBcc: evil@example.org\r\n\r\n\u{202e}<script>alert(1)</script> имя 🎉";

fn names() -> Vec<Entry> {
    let named = |name: &str| {
        let mut book = full("main");
        book.apply(Read::Vms(all_of(vec![vm(17, "error", name)])), read_at());
        book
    };
    let names = [
        ("name_in_cyrillic", "Сервер бухгалтерии и склада № 1 (главный)"),
        ("name_of_emoji", "🚀 shop 👩‍👩‍👧 Straße"),
        ("name_from_right_to_left", "שרת הדואר הראשי"),
        (
            "name_that_never_ends",
            "a-name-without-any-place-to-break-it-because-someone-thought-that-a-name-can-be-a-key",
        ),
    ];
    let mut entries: Vec<Entry> = names
        .into_iter()
        .map(|(entry, name)| {
            let item = item(Kind::VmError, 17, &format!("VM {name}"), Event::Opened);
            (entry.to_owned(), mail(&notice(Form::Opened, vec![item]), &snapshot([&named(name)])))
        })
        .collect();
    let mut one = item(Kind::VmError, 17, &format!("VM {NASTY}"), Event::Opened);
    one.detail = NASTY.into();
    one.reason = Reason::Text(NASTY.into());
    let mut book = named(NASTY);
    let site = Site { name: Some(NASTY.into()), ..site(104, 31, NASTY) };
    for _ in 0..2 {
        book.apply(Read::Sites(ContainerId::new(31), all_of(vec![site.clone()])), read_at());
    }
    let disabled = item(Kind::ContainerDisabled, 31, &format!("Container {NASTY}"), Event::Opened);
    let notice = notice(Form::Opened, vec![one, disabled]);
    entries.push(("names_that_attack".to_owned(), mail(&notice, &snapshot([&book]))));
    entries
}
