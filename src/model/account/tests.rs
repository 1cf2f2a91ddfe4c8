//! The state of an account after one listing and another.

use std::time::Duration;

use super::*;
use crate::model::Sort;
use crate::model::snapshot::{Failure, FailureKind};
use crate::unit::account::{self as given, bare_vm, profile, site};

fn known() -> KnownAccount {
    KnownAccount::new(Arc::new(profile("main")))
}

fn ids(listing: &Listing<Vm>) -> Vec<u64> {
    listing.rows.iter().map(|vm| vm.id.get()).collect()
}

fn at() -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000, 0).unwrap()
}

/// The rows that are there after several listings, each complete or not.
#[test]
fn a_row_is_gone_after_two_complete_listings_without_it() {
    /// Listings with their completeness, and the rows after them.
    type Case<'a> = (&'a [(&'a [u64], bool)], &'a [u64]);
    let table: [Case<'_>; 6] = [
        (&[(&[1, 2], true), (&[1], true)], &[1, 2]),
        (&[(&[1, 2], true), (&[1], true), (&[1], true)], &[1]),
        (&[(&[1, 2], true), (&[1], true), (&[1, 2], true), (&[1], true)], &[1, 2]),
        (&[(&[1, 2], true), (&[1], true), (&[1], false), (&[1], true)], &[1]),
        (&[(&[1, 2], true), (&[1], true), (&[2], false), (&[1], true)], &[1, 2]),
        (&[(&[1, 2], true), (&[1], false), (&[1], false), (&[1], true)], &[1, 2]),
    ];
    for (listings, want) in table {
        let mut known = known();
        for &(shown, complete) in listings {
            let rows = shown.iter().map(|&id| bare_vm(id, "active")).collect();
            known.apply(Read::Vms(Rows::new(rows, complete)), at());
        }
        assert_eq!(ids(&known.state().vms), want, "{listings:?}");
    }
}

/// The other rows are all there is.
#[test]
fn an_unreadable_row_stands_for_itself_alone() {
    let mut known = known();
    let all = [1, 2, 3].map(|id| bare_vm(id, "active"));
    known.apply(Read::Vms(Rows::new(all.into(), true)), at());
    for want in [&[1, 2, 3][..], &[1, 2], &[1, 2]] {
        let unreadable = [2].into();
        let rows = Rows { rows: vec![bare_vm(1, "active")], shows_all: true, unreadable };
        let seen = known.apply(Read::Vms(rows), at());
        let Observed::Vms(seen) = &seen[0] else { panic!("{seen:?}") };
        assert_eq!(ids(&known.state().vms), want);
        assert!(!seen.shown.contains(&2) && !seen.removed.contains_key(&2) && !known.state().vms.complete);
        let listed = known.state().resource(Sort::Vm, 2).unwrap().is_listed;
        assert!(!listed, "its state is not known");
    }
    known.apply(Read::Vms(Rows::new(vec![bare_vm(1, "active")], true)), at());
    assert_eq!(ids(&known.state().vms), [1, 2], "one reading without it is no proof");
}

#[test]
fn a_listing_that_is_suddenly_empty_removes_nothing_for_an_hour() {
    // Minutes, the rows of a complete listing, and the rows after it.
    let table: [(i64, &[u64], &[u64]); 8] = [
        (0, &[1, 2], &[1, 2]),
        (1, &[], &[1, 2]),
        (60, &[], &[1, 2]),
        (61, &[1, 2], &[1, 2]),
        (62, &[], &[1, 2]),
        (121, &[], &[1, 2]),
        (122, &[], &[1, 2]),
        (123, &[], &[]),
    ];
    let mut known = known();
    for (minutes, shown, want) in table {
        let rows = shown.iter().map(|&id| bare_vm(id, "active")).collect();
        let read = Read::Vms(Rows::new(rows, true));
        let seen = known.apply(read, at() + chrono::Duration::minutes(minutes));
        assert_eq!(ids(&known.state().vms), want, "{minutes}");
        let Observed::Vms(seen) = &seen[0] else { panic!("{seen:?}") };
        assert_eq!(seen.removed.is_empty(), minutes < 123, "{minutes}");
    }
}

#[test]
fn a_vm_is_newly_stopped_if_it_was_active_shortly_before() {
    let table = [
        ("active", "stopped", 1, true),
        ("active", "stopped", 16, false),
        ("stopped", "stopped", 1, false),
        ("error", "stopped", 1, false),
        ("active", "active", 1, false),
    ];
    for (before, now, minutes, want) in table {
        let mut profile = (*known().state().profile).clone();
        profile.stale_after.insert(Collector::Vms, Duration::from_secs(900));
        let mut known = KnownAccount::new(Arc::new(profile));
        let read = |state| Read::Vms(Rows::new(vec![bare_vm(1, state)], true));
        known.apply(read(before), at());
        let seen = known.apply(read(now), at() + chrono::Duration::minutes(minutes));
        let Observed::Vms(seen) = &seen[0] else { panic!("{seen:?}") };
        assert_eq!(seen.stopped.contains(&1), want, "{before}, {minutes} min later {now}");
    }
}

#[test]
fn rows_stay_the_same_object_where_nothing_changed() {
    let mut known = known();
    let read = || Read::Vms(Rows::new(vec![bare_vm(1, "active")], true));
    known.apply(read(), at());
    let before = Arc::clone(&known.state().vms.rows);
    known.apply(read(), at());
    assert!(Arc::ptr_eq(&before, &known.state().vms.rows));
}

#[test]
fn a_site_lives_in_one_container_only_and_goes_with_it() {
    let mut known = known();
    let sites = |container, ids: &[u64]| {
        let rows = ids.iter().map(|&id| site(id, container, "Active")).collect();
        Read::Sites(ContainerId::new(container), Rows::new(rows, true))
    };
    known.apply(sites(1, &[10, 11]), at());
    known.apply(sites(1, &[10]), at());
    known.apply(sites(2, &[20, 11]), at());
    assert_eq!(known.state().all_sites().map(|site| site.id.get()).collect::<Vec<_>>(), [10, 11, 20]);
    assert_eq!(known.state().site(SiteId::new(11)).unwrap().container, ContainerId::new(2));
    // A later listing of the old container, which lacks the site, does not remove it from the new one.
    let seen = known.apply(sites(1, &[10]), at());
    let Observed::Sites(_, seen) = &seen[0] else { panic!("{seen:?}") };
    assert!(seen.removed.is_empty());
    assert!(known.state().site(SiteId::new(11)).is_some());
    // A container that is deleted keeps no site that another one lists.
    let containers = |ids: &[u64]| {
        Read::Containers(Rows::new(ids.iter().map(|&id| given::container(id, "ENABLED")).collect(), true))
    };
    for read in [containers(&[1, 2]), containers(&[2]), sites(2, &[20, 11, 10]), containers(&[2])] {
        known.apply(read, at());
    }
    assert_eq!(known.state().all_sites().map(|site| site.id.get()).collect::<Vec<_>>(), [10, 11, 20]);
}

/// It does not move at each poll: its labels and its cause would change.
#[test]
fn a_site_that_two_containers_list_stays_in_the_first_while_that_is_read() {
    let mut known = known();
    let mut minute = 0;
    let mut read = |container, ids: &[u64]| {
        minute += 1;
        let rows = ids.iter().map(|&id| site(id, container, "Active")).collect();
        let rows = Rows::new(rows, true);
        known.apply(Read::Sites(ContainerId::new(container), rows), at() + TimeDelta::minutes(minute));
        known.state().site(SiteId::new(11)).unwrap().container.get()
    };
    assert_eq!(read(2, &[20, 11]), 2);
    for sweep in 0..3 {
        assert_eq!((read(1, &[10, 11]), read(2, &[20, 11])), (1, 1), "{sweep}");
    }
    assert_eq!((read(1, &[10]), read(2, &[20, 11])), (1, 2), "it moved");
    assert_eq!(read(1, &[10, 11]), 1);
    assert_eq!((read(2, &[20, 11]), read(2, &[20, 11])), (1, 2), "the first is not read any more");
}

#[test]
fn of_a_site_that_two_containers_list_the_worse_state_counts() {
    // The readings of one minute after the other, and what is known after each: the container and the state.
    let table: [&[(u64, &str, u64, &str)]; 3] = [
        &[
            (1, "Active", 1, "Active"),
            (2, "Error", 2, "Error"),
            (1, "Active", 2, "Error"),
            (2, "Error", 2, "Error"),
            (1, "Active", 2, "Error"),
            (2, "Active", 2, "Active"),
            (1, "Active", 1, "Active"),
            (2, "Active", 1, "Active"),
        ],
        &[
            (2, "Active", 2, "Active"),
            (1, "Error", 1, "Error"),
            (2, "Active", 1, "Error"),
            (1, "Active", 1, "Active"),
            (2, "Active", 1, "Active"),
        ],
        // The second container is not read any more.
        &[
            (1, "Active", 1, "Active"),
            (2, "Error", 2, "Error"),
            (1, "Active", 2, "Error"),
            (1, "Active", 1, "Active"),
            (1, "Active", 1, "Active"),
        ],
    ];
    for reads in table {
        let mut known = known();
        for (minute, &(container, shown, home, state)) in (1..).zip(reads) {
            let rows = Rows::new(vec![site(11, container, shown)], true);
            known.apply(Read::Sites(ContainerId::new(container), rows), at() + TimeDelta::minutes(minute));
            let site = known.state().site(SiteId::new(11)).unwrap();
            assert_eq!((site.container.get(), site.state.as_str()), (home, state), "{reads:?} {minute}");
        }
    }
}

proptest::proptest! {
    /// After any readings in any order a site is in exactly one place: where a listing shows it.
    #[test]
    fn a_site_is_found_where_it_is_listed(
        reads in proptest::collection::vec((0..4_u64, proptest::collection::vec(0..8_u64, 0..5), proptest::bool::ANY), 1..20)
    ) {
        let mut known = known();
        for (container, ids, complete) in reads {
            if container == 0 {
                // From now on these are the containers of the account.
                let rows = ids.into_iter().filter(|id| (1..4).contains(id)).map(|id| given::container(id, "ENABLED")).collect();
                known.apply(Read::Containers(Rows::new(rows, complete)), at());
            } else {
                let rows = ids.into_iter().map(|id| site(id, container, "Active")).collect();
                known.apply(Read::Sites(ContainerId::new(container), Rows::new(rows, complete)), at());
            }
            let listed: Vec<_> = known.state().all_sites().map(|site| (site.id, site.container)).collect();
            for id in (0..8).map(SiteId::new) {
                let homes: Vec<_> = listed.iter().filter(|(site, _)| *site == id).map(|&(_, home)| home).collect();
                proptest::prop_assert!(homes.len() <= 1, "{id} is in {homes:?}");
                proptest::prop_assert_eq!(known.state().has_site(id), !homes.is_empty());
                proptest::prop_assert_eq!(known.state().site(id).map(|site| site.container), homes.first().copied());
            }
        }
    }
}

#[test]
fn orders_that_stay_the_same_are_kept_once() {
    use crate::model::forecast::tests::report;
    use crate::model::{Edd, OrderState};
    let mut known = known();
    known.apply(Read::ExpectedBalance(report("100", "10", 5, Edd::Null)), at());
    let mut next = report("90", "10", 5, Edd::Null);
    Arc::make_mut(&mut next.orders[1]).state = OrderState::Suspended;
    known.apply(Read::ExpectedBalance(next.clone()), at());
    let billing = &known.state().billing;
    let (old, new) = (billing.previous.as_ref().unwrap(), billing.report.as_ref().unwrap());
    assert_eq!(**new, next);
    assert!(Arc::ptr_eq(&old.orders[0], &new.orders[0]) && !Arc::ptr_eq(&old.orders[1], &new.orders[1]));
}

#[test]
fn a_report_that_withdraws_a_cut_off_without_proof_is_not_kept() {
    use crate::model::forecast::tests::report;
    use crate::model::{Edd, LastReport, Report};
    let edd = Edd::At(at() + chrono::Duration::days(4));
    let dated = report("100", "10", 5, edd);
    let mut bare = report("100", "10", 5, Edd::Null);
    bare.moments.edit(Vec::clear);
    let mut garbled = report("100", "10", 5, Edd::Unknown);
    garbled.expected_balance = None;
    let mut negative = Report { edd: Edd::Unknown, ..bare.clone() };
    negative.expected_balance = Some(crate::model::forecast::tests::money("-400"));
    let last = LastReport::of(&dated, at());
    let lives: [(&str, KnownAccount); 2] = [
        ("read by this life", {
            let mut known = known();
            known.apply(Read::ExpectedBalance(dated.clone()), at());
            known
        }),
        ("read by an earlier one", known().remembering(Some(&last))),
    ];
    for (life, mut known) in lives {
        for hours in [1, 2, 20] {
            let later = at() + chrono::Duration::hours(hours);
            for doubtful in [&bare, &garbled, &negative, &bare] {
                known.apply(Read::ExpectedBalance(doubtful.clone()), later);
                let billing = &known.state().billing;
                let named = billing.report.as_deref().map(|report| report.edd);
                assert_eq!((named, billing.read_at), (Some(edd), Some(at())), "{life}");
                let (newest, read_at) = billing.latest().unwrap();
                assert_eq!((&**newest, read_at), (doubtful, later), "{life}");
            }
        }
        // A date beside an error is a date, and its amounts are not known.
        let moved = at() + chrono::Duration::hours(90);
        let erring = Report { edd: Edd::At(moved), error: Some("no price".into()), ..garbled.clone() };
        known.apply(Read::ExpectedBalance(erring), at() + chrono::Duration::hours(21));
        let billing = &known.state().billing;
        assert_eq!((billing.error(), billing.read_at), (Some("no price"), Some(at())), "{life}");
        assert_eq!(billing.disconnect().unwrap().at(), Some(moved), "{life}");
        known.apply(Read::ExpectedBalance(bare.clone()), at() + chrono::Duration::hours(22));
        // A day with such reports only.
        known.apply(Read::ExpectedBalance(bare.clone()), at() + chrono::Duration::hours(47));
        let billing = &known.state().billing;
        assert_eq!((billing.report.as_deref(), billing.doubted.is_some()), (Some(&bare), false), "{life}");
    }
}

#[test]
fn one_good_report_does_not_end_the_belief_in_a_cut_off() {
    use crate::model::forecast::tests::report;
    use crate::model::{Believed, Edd, forecast::Disconnect};
    let good = report("100", "10", 5, Edd::Null);
    let mut bare = good.clone();
    bare.moments.edit(Vec::clear);
    let past = Disconnect::At { at: at() - chrono::Duration::days(1), computed: false };
    for (cut_off, kept) in [(Some(past), &good), (Some(Disconnect::Now), &good), (None, &bare)] {
        let mut known = known();
        known.believe(Believed { cut_off, bare_since: None, was_read: true });
        known.apply(Read::ExpectedBalance(good.clone()), at());
        known.apply(Read::ExpectedBalance(bare.clone()), at() + chrono::Duration::hours(1));
        assert_eq!(known.state().billing.last_known().unwrap().0, kept, "{cut_off:?}");
    }
}

#[test]
fn a_first_report_without_charges_proves_nothing_if_one_was_read_before() {
    use crate::model::forecast::tests::report;
    use crate::model::{Believed, Edd};
    let mut bare = report("100", "10", 5, Edd::Null);
    bare.moments.edit(Vec::clear);
    for (was_read, bare_since) in [(false, at() - chrono::Duration::hours(24)), (true, at())] {
        let mut known = known();
        known.believe(Believed { was_read, ..Believed::default() });
        known.apply(Read::ExpectedBalance(bare.clone()), at());
        assert_eq!(known.state().billing.bare_since, Some(bare_since), "{was_read}");
    }
}

#[test]
fn failures_are_counted_from_the_first_and_forgotten_at_success() {
    let mut known = known();
    let end = |failed: bool| PollEnd {
        duration: Duration::from_secs(1),
        failure: failed.then(|| Failure::new(FailureKind::Other, "down")),
        complete: true,
        problem: None,
    };
    known.end(Collector::Vms, end(true), at());
    known.end(Collector::Vms, end(true), at() + chrono::Duration::seconds(60));
    let status = &known.state().collectors[&Collector::Vms];
    assert_eq!(status.failing_since, Some(at()));
    assert!(!status.success && !status.complete && status.last_success.is_none());
    known.end(Collector::Vms, end(false), at());
    let status = &known.state().collectors[&Collector::Vms];
    assert_eq!((status.failing_since, status.success), (None, true));
}

#[test]
fn a_skipped_poll_changes_no_failure() {
    let mut known = known();
    let end = |asked: bool, message: &str| PollEnd {
        duration: Duration::from_secs(1),
        failure: Some(Failure { asked, ..Failure::new(FailureKind::Credentials, message) }),
        complete: true,
        problem: None,
    };
    let table = [
        (false, "not asked", "not asked"),
        (true, "answered 401", "answered 401"),
        (false, "not asked", "answered 401"),
    ];
    for (asked, message, want) in table {
        known.end(Collector::Vms, end(asked, message), at());
        let failure = known.state().collectors[&Collector::Vms].failure.as_ref().unwrap();
        assert_eq!(failure.message, want);
    }
}
