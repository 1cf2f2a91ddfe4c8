//! Finds the incident that a person means: by its key, or by a name or id that only one incident has. Finds the
//! recipient, too. Pure.

use super::{forms, words};
use crate::alert::{Debts, Event, Incident};
use crate::model::sanitize::one_line;
use crate::model::{AccountState, Language, SeenResource, Snapshot, Sort};

/// The number of listed candidates; others are counted.
const MOST: usize = 20;

/// The incident with this key. Otherwise the only open one, or the only one, about a resource of this name
/// or id. The snapshot has the `vm_id` of each VM.
///
/// # Errors
/// The candidates, or the resources without an incident, as lines for people.
pub(crate) fn find<'a>(
    known: impl Iterator<Item = &'a Incident> + Clone,
    snapshot: &Snapshot,
    what: &str,
) -> Result<&'a Incident, String> {
    if let Some(exact) = known.clone().find(|incident| incident.key.to_string() == what) {
        return Ok(exact);
    }
    let named: Vec<&Incident> = known.filter(|incident| is_about(incident, snapshot, what)).collect();
    let open: Vec<&Incident> = named.iter().copied().filter(|incident| incident.phase.is_open()).collect();
    match (open.as_slice(), named.as_slice()) {
        ([one], _) | ([], [one]) => Ok(one),
        ([], []) => Err(unknown(snapshot, what)),
        ([], several) | (several, _) => Err(ambiguous(several, what)),
    }
}

/// The debts to the recipient that a person names. Case does not matter in mail addresses.
///
/// # Errors
/// The recipients to whom something is owed, as lines for people.
pub(crate) fn recipient<'a>(debts: &'a [Debts], to: &str) -> Result<&'a Debts, String> {
    debts.iter().find(|one| one.recipient.eq_ignore_ascii_case(to)).ok_or_else(|| {
        let known: Vec<&str> = debts.iter().take(MOST).map(|one| one.recipient.as_str()).collect();
        let known = if known.is_empty() { "nobody".to_owned() } else { known.join(", ") };
        format!("nothing is owed to '{}'; something is owed to: {known}", one_line(to, 80))
    })
}

fn is_about(incident: &Incident, snapshot: &Snapshot, what: &str) -> bool {
    !what.is_empty()
        && (incident.name() == what
            || incident.key.resource.to_string() == what
            || vm_id(incident, snapshot) == Some(what))
}

/// The provider's text id of the VM that an incident is about.
fn vm_id<'a>(incident: &Incident, snapshot: &'a Snapshot) -> Option<&'a str> {
    let key = &incident.key;
    text_id(snapshot.accounts.get(&key.account)?, key.kind.sort()?, key.id()?)
}

/// The provider's text id of a resource, which only VMs have.
fn text_id(account: &AccountState, sort: Sort, id: u64) -> Option<&str> {
    account.vms.get(id.into()).filter(|_| sort == Sort::Vm)?.vm_id.as_deref()
}

fn ambiguous(candidates: &[&Incident], what: &str) -> String {
    let title = |one: &Incident| words::capital(&forms::listed(one, &Event::Opened, Language::En));
    let lines = candidates.iter().map(|one| format!("{}  {}", one.key, one_line(&title(one), 80)));
    let lines = words::first(lines.collect(), MOST, Language::En);
    let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
    format!("'{what}' may mean {} incidents; name one by its key:{lines}", candidates.len())
}

fn unknown(snapshot: &Snapshot, what: &str) -> String {
    let hint = without_incident(snapshot, what);
    let hint = hint.unwrap_or_else(|| "`hostwatch incidents` lists the keys".to_owned());
    format!("no incident has the key, name or ID '{what}'; {hint}")
}

/// `VM web-1 (7, account main) was active when it was last read`: the watched resources of this name or id.
fn without_incident<'a>(snapshot: &'a Snapshot, what: &str) -> Option<String> {
    let of_account = |account: &'a AccountState| {
        account.resources().filter(move |seen| {
            let names = [seen.name, text_id(account, seen.kind, seen.id)];
            names.contains(&Some(what)) || seen.id.to_string() == what
        })
    };
    let said = |seen: SeenResource<'_>| {
        let (sort, name) =
            (words::sort_label(seen.kind, Language::En), one_line(seen.name.unwrap_or(""), 80));
        format!("{sort} {name} ({}, account {}) was {}", seen.id, seen.account, one_line(seen.state, 80))
    };
    let all: Vec<String> = snapshot.accounts.values().flat_map(|one| of_account(one)).map(said).collect();
    (!all.is_empty())
        .then(|| format!("{} when it was last read", words::first(all, MOST, Language::En).join(", ")))
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::alert::{Key, Kind, Phase, Subject};
    use crate::unit::account::{full, snapshot};

    fn incident(account: &str, kind: Kind, id: u64, subject: &str, phase: Phase) -> Incident {
        let key = Key::new(&account.parse().unwrap(), kind, id);
        let mut incident = Incident::new(key, DateTime::<Utc>::UNIX_EPOCH);
        incident.subject = Subject::Text(subject.to_owned()).of_stored(&incident.key);
        incident.phase = phase;
        incident
    }

    #[test]
    fn a_key_a_name_or_a_number_that_is_one_incidents_alone() {
        let known = [
            incident("main", Kind::VmError, 7, "VM web-1", Phase::Firing),
            incident("main", Kind::VmStopped, 7, "VM web-1", Phase::Resolved),
            incident("main", Kind::VmError, 8, "VM db 1", Phase::Resolved),
            incident("main", Kind::VmStopped, 18, "VM web-2", Phase::Firing),
            incident("main", Kind::SiteError, 17, "Site 17", Phase::Firing),
            incident("main", Kind::SiteError, 9, "Site shop", Phase::Firing),
            incident("main", Kind::SiteStuck, 9, "Site shop", Phase::Recovering),
        ];
        // Its VMs are 17 and 18.
        let snapshot = snapshot([&full("main")]);
        let table = [
            ("main/vm_stopped/7", Ok("main/vm_stopped/7")),
            ("web-1", Ok("main/vm_error/7")),
            ("7", Ok("main/vm_error/7")),
            ("db 1", Ok("main/vm_error/8")),
            ("cvds-18", Ok("main/vm_stopped/18")),
            ("cvds-17", Err("; VM web-1 (17, account main) was active when it was last read")),
            (
                "site104.example.com",
                Err("; Site site104.example.com (104, account main) was Active when it was last read"),
            ),
            ("31", Err("; Container shop (31, account main) was ENABLED when it was last read")),
            (
                "shop",
                Err("'shop' may mean 2 incidents; name one by its key:\n  main/site_error/9  Site shop"),
            ),
            ("9", Err("main/site_stuck/9")),
            ("nothing", Err("`hostwatch incidents` lists the keys")),
            ("", Err("`hostwatch incidents` lists the keys")),
        ];
        for (what, want) in table {
            match (find(known.iter(), &snapshot, what), want) {
                (Ok(found), Ok(key)) => assert_eq!(found.key.to_string(), key, "{what}"),
                (Err(said), Err(part)) => assert!(said.contains(part), "{what}: {said}"),
                (got, want) => panic!("{what}: {got:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn a_recipient_is_found_however_its_address_is_written() {
        let debts = |to: &str| Debts { recipient: to.to_owned(), ..Debts::default() };
        let all = [debts("Ann@example.com"), debts("webhook:chat")];
        assert_eq!(recipient(&all, "ann@Example.com").unwrap().recipient, "Ann@example.com");
        assert_eq!(recipient(&all, "webhook:chat").unwrap().recipient, "webhook:chat");
        let said = recipient(&all, "bob@example.com").unwrap_err();
        assert_eq!(
            said,
            "nothing is owed to 'bob@example.com'; something is owed to: Ann@example.com, webhook:chat"
        );
        assert!(recipient(&[], "bob").unwrap_err().ends_with("something is owed to: nobody"));
    }
}
