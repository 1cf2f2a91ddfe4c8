//! Which incident a person means: by its key, or by the name or number of what it is about, where that is one's alone.
//! Pure.

use crate::alert::Incident;
use crate::model::sanitize::one_line;

/// Of more candidates, the rest is counted.
const MOST: usize = 20;

/// The incident of a key; else the only open one, or the only one, about what is called so.
///
/// # Errors
/// With the candidates, or what is near; lines for people.
pub(crate) fn find<'a>(known: &'a [Incident], what: &str) -> Result<&'a Incident, String> {
    if let Some(exact) = known.iter().find(|incident| incident.key.to_string() == what) {
        return Ok(exact);
    }
    let named: Vec<&Incident> = known.iter().filter(|incident| is_about(incident, what)).collect();
    let open: Vec<&Incident> = named.iter().copied().filter(|incident| incident.phase.is_open()).collect();
    match (open.as_slice(), named.as_slice()) {
        ([one], _) | ([], [one]) => Ok(one),
        ([], []) => Err(unknown(known, what)),
        ([], several) | (several, _) => Err(ambiguous(several, what)),
    }
}

fn is_about(incident: &Incident, what: &str) -> bool {
    incident.name() == what || incident.key.resource.to_string() == what
}

fn ambiguous(candidates: &[&Incident], what: &str) -> String {
    let lines =
        candidates.iter().take(MOST).map(|one| format!("\n  {}  {}", one.key, one_line(&one.words(), 80)));
    let lines: String = lines.collect();
    let more = match candidates.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    format!("'{what}' may mean {} incidents; name one by its key:{lines}{more}", candidates.len())
}

fn unknown(known: &[Incident], what: &str) -> String {
    let close = known.iter().filter(|incident| {
        let key = incident.key.to_string();
        !what.is_empty() && (key.contains(what) || what.contains(&key) || incident.name().contains(what))
    });
    let close: Vec<String> = close.take(10).map(|incident| incident.key.to_string()).collect();
    let hint = match close.is_empty() {
        true => "`hostwatch incidents` lists the keys".to_owned(),
        false => format!("did you mean {}?", close.join(", ")),
    };
    format!("there is no incident '{what}', and none of something called so; {hint}")
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::alert::{Key, Kind, Phase, Severity};

    fn incident(account: &str, kind: Kind, id: u64, subject: &str, phase: Phase) -> Incident {
        let key = Key::new(&account.parse().unwrap(), kind, id);
        let mut incident = Incident::new(key, Severity::Critical, DateTime::<Utc>::UNIX_EPOCH);
        (incident.subject, incident.phase) = (subject.to_owned(), phase);
        incident
    }

    #[test]
    fn a_key_a_name_or_a_number_that_is_one_incidents_alone() {
        let known = [
            incident("main", Kind::VmError, 7, "VM web-1", Phase::Firing),
            incident("main", Kind::VmStopped, 7, "VM web-1", Phase::Resolved),
            incident("main", Kind::VmError, 8, "VM db 1", Phase::Resolved),
            incident("main", Kind::SiteError, 9, "Site shop", Phase::Firing),
            incident("main", Kind::SiteStuck, 9, "Site shop", Phase::Recovering),
        ];
        let table = [
            ("main/vm_stopped/7", Ok("main/vm_stopped/7")),
            ("web-1", Ok("main/vm_error/7")),
            ("7", Ok("main/vm_error/7")),
            ("db 1", Ok("main/vm_error/8")),
            (
                "shop",
                Err("'shop' may mean 2 incidents; name one by its key:\n  main/site_error/9  Site shop"),
            ),
            ("9", Err("main/site_stuck/9")),
            ("web", Err("did you mean main/vm_error/7")),
            ("nothing", Err("`hostwatch incidents` lists the keys")),
            ("", Err("`hostwatch incidents` lists the keys")),
        ];
        for (what, want) in table {
            match (find(&known, what), want) {
                (Ok(found), Ok(key)) => assert_eq!(found.key.to_string(), key, "{what}"),
                (Err(said), Err(part)) => assert!(said.contains(part), "{what}: {said}"),
                (got, want) => panic!("{what}: {got:?}, not {want:?}"),
            }
        }
    }
}
