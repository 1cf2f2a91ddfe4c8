//! Mails about resources, collectors and orders.

use crate::alert::{Cause, Detail, Event, Form, Item, Kind, Subject};
use crate::mail::Rendered;
use crate::model::Sort;
use crate::model::*;
use chrono::Duration;

use super::Entry;
use crate::unit::account::*;
use crate::unit::mail_support::*;

pub fn all() -> Vec<Entry> {
    let mut all = Vec::new();
    for (kind, resource, subject, bad, good) in KINDS {
        let mut opened = seen(bad, item(kind, resource, subject, Event::Opened));
        if kind.is_momentary() {
            opened = ago(Duration::zero(), opened);
        }
        if kind == Kind::ContainerDisabled {
            opened.covers = vec![
                incident(Kind::VmBlocked, 17, "VM web-1"),
                incident(Kind::SiteBlocked, 101, "Site site101.example.com"),
            ];
        }
        all.push((format!("{kind}_opened"), mail(&notice(Form::News, vec![opened]), &account_of(kind))));
        if kind == Kind::BalanceDrop {
            // It is told once, and does not stay open.
            continue;
        }
        let over = over(item(kind, resource, subject, Event::Resolved), good);
        all.push((
            format!("{kind}_resolved"),
            mail(&notice(Form::News, vec![over]), &snapshot([&full("main")])),
        ));
    }
    all.push(("order_cost_dearer".to_owned(), dearer()));
    let main = snapshot([&full("main")]);
    let web_1 = |event| item(Kind::VmError, 17, "VM web-1", event);
    let links = super::billing::with_links(&notice(Form::News, vec![web_1(Event::Opened)]));
    all.push(("vm_error_with_links".to_owned(), links));
    let mut put = |name: &str, form, items| all.push((name.to_owned(), mail(&notice(form, items), &main)));

    let gone = over(web_1(Event::Removed), "no longer listed by the provider");
    let gone = Item { why: Cause::NoLongerListed, ..gone };
    put("vm_error_removed", Form::News, vec![gone]);
    let missed = Item { episodes: 3, ..over(web_1(Event::WasDown), "its state is now active") };
    put("vm_error_was_down_thrice", Form::News, vec![missed]);

    let reminder = ago(Duration::days(3), web_1(Event::Reminder(3)));
    let why = Cause::Reminder { count: 3, most: 3 };
    put("reminder_3", Form::News, vec![Item { why, is_reminded: false, ..reminder }]);

    let mut stable = over(web_1(Event::Resolved), "its state is now active");
    stable.why = Cause::Stable;
    put("flapping_over", Form::News, vec![stable]);

    let mut retired = ago(Duration::hours(5), web_1(Event::Unwatched));
    retired.why = Cause::RuleOff;
    put("no_longer_watched", Form::News, vec![retired]);

    all.push(four_at_once());
    all.push(two_accounts());
    all.push(attack());
    all
}

/// An order that costs half as much again.
fn dearer() -> Rendered {
    let day = now().date_naive();
    let item = ago(Duration::zero(), item(Kind::OrderCost, "71", "Order shop", Event::Dearer(day)));
    let item = Item { why: Cause::Dearer, incident: dearer_order(), ..item };
    mail(&notice(Form::News, vec![item]), &account_of(Kind::OrderCost))
}

/// Its incident.
pub fn dearer_order() -> Incident {
    let (from, to, currency) = (money("100"), money("150"), "RUB".to_owned());
    Incident {
        since: now(),
        subject: Subject::Dearer { name: "shop".to_owned(), from, to, currency: currency.clone() },
        detail: Detail::CostPerDay { from, to, currency },
        ..incident(Kind::OrderCost, 71, "Order shop")
    }
}

/// Kind, resource, the resource's words, its state when wrong, its state when right.
const KINDS: [(Kind, &str, &str, &str, &str); 15] = [
    (
        Kind::BillingReport,
        "account",
        "Balance report",
        "the report carries an error: balance calculation failed",
        "answers again",
    ),
    (Kind::OrderSuspended, "71", "Order shop", "its state is SUSPENDED", "its state is ORDERED"),
    (Kind::BalanceDrop, "account", "Balance dropped 900 RUB more than expected", "a fifth less", ""),
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
        "containers",
        "Unknown container state \"7\"",
        "what a container's number means",
        "no longer seen",
    ),
    (
        Kind::CollectorFailing,
        "account",
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

/// The state of the account when an incident of this kind opens.
fn account_of(kind: Kind) -> Snapshot {
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
    let item = ago(Duration::minutes(50), seen(detail, item));
    Item { why: Cause::OkInARow { polls: 2 }, ..item }
}

/// The same, with this last state.
fn seen(detail: &str, mut item: Item) -> Item {
    let money = |text: &str| text.parse().unwrap();
    item.incident.detail = match detail {
        "no longer listed by the provider" => Detail::NotListed,
        "listed again" => Detail::ListedAgain,
        "no longer seen" => Detail::NoLongerSeen,
        "answers again" => Detail::Answers,
        "what a container's number means" => Detail::CannotTell { sort: Sort::Container },
        "a fifth less" => Detail::Balance {
            foreseen: money("5000.50"),
            actual: money("4100.50"),
            currency: "RUB".to_owned(),
        },
        text => Detail::Text(text.to_owned()).of_stored(),
    };
    item
}

fn four_at_once() -> Entry {
    let blocked = item(Kind::SiteBlocked, 104, "Site site104.example.com", Event::Opened);
    let blocked = seen("its state is StoppedByQuota", blocked);
    let stuck = seen("its state is building", item(Kind::VmStuck, 18, "VM web-2", Event::Opened));
    let stuck = ago(Duration::hours(3), stuck);
    let failing = item(Kind::CollectorFailing, "account", "Cannot read sites", Event::Opened);
    let failing = seen("GET /hosting/1/virtualhosts: no answer within 30 s", failing);
    let mut book = full("main");
    let site = Site { state: SiteState::StoppedByQuota, ..site(104, 31, "Active") };
    book.apply(Read::Sites(ContainerId::new(31), all_of(vec![site])), read_at());
    let web_1 = item(Kind::VmError, 17, "VM web-1", Event::Opened);
    let notice = notice(Form::News, vec![web_1, blocked, failing, stuck]);
    ("group_of_four".to_owned(), mail(&notice, &snapshot([&book])))
}

fn two_accounts() -> Entry {
    let other = item(Kind::SiteError, 104, "Site site104.example.com", Event::Opened);
    let other = of_account("shop", seen("its state is Error", other));
    let web_1 = item(Kind::VmError, 17, "VM web-1", Event::Opened);
    let notice = notice(Form::News, vec![web_1, other]);
    ("group_of_two_accounts".to_owned(), mail(&notice, &snapshot([&full("main"), &full("shop")])))
}

/// Names that customers and attackers give to their resources.
const NASTY: &str = "<b>x</b>\r\nBcc: evil@example.org\r\n\r\n\u{202e}<script>alert(1)</script> имя 🎉";

fn attack() -> Entry {
    let one = seen(NASTY, item(Kind::VmError, 17, &format!("VM {NASTY}"), Event::Opened));
    let one = Item { why: Cause::NoRecovery { detail: Detail::Text(NASTY.into()) }, ..one };
    let mut book = full("main");
    book.apply(Read::Vms(all_of(vec![vm(17, "error", NASTY)])), read_at());
    let site = Site { name: Some(NASTY.into()), ..site(104, 31, NASTY) };
    for _ in 0..2 {
        book.apply(Read::Sites(ContainerId::new(31), all_of(vec![site.clone()])), read_at());
    }
    let disabled = item(Kind::ContainerDisabled, 31, &format!("Container {NASTY}"), Event::Opened);
    let notice = notice(Form::News, vec![one, disabled]);
    ("names_that_attack".to_owned(), mail(&notice, &snapshot([&book])))
}
