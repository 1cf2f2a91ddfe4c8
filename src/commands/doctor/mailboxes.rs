//! Whether a mail still arrives if the account, or this daemon, is off. It warns of mailboxes and a mail server
//! on watched machines, of a single recipient, and of a daemon that nobody watches.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::lookup_host;

use super::mx;
use crate::commands::reading::in_order;
use crate::config::Settings;
use crate::model::{Snapshot, lives_on, site_of};
use crate::terminal::doctor::CheckVerdict;

/// The time limit for all names together.
const PATIENCE: Duration = Duration::from_secs(3);
const MAIL_PORT: u16 = 25;
const RESOLV_CONF: &str = "/etc/resolv.conf";
const ELSEWHERE: &str = "name a second recipient with another provider";

/// A row for each finding, and one for the heartbeat.
pub(super) async fn checks(settings: &Settings, snapshot: &Snapshot) -> Vec<(String, CheckVerdict)> {
    if !settings.mails {
        return Vec::new();
    }
    let mut checks = vec![("heartbeat".to_owned(), heartbeat(settings.heartbeat_url.is_some()))];
    let recipients: BTreeSet<&String> = settings.accounts.iter().flat_map(|account| &account.to).collect();
    let server = settings.email.as_ref().map(|email| email.server.host.as_str());
    // Texts that are no address are skipped.
    let mailboxes = recipients.iter().filter_map(|mailbox| Some((mailbox, mailbox.rsplit_once('@')?.1)));
    let name_servers = mx::name_servers(&std::fs::read_to_string(RESOLV_CONF).unwrap_or_default());
    // A mail server is named itself; a domain names its mail servers.
    let names = mailboxes.clone().map(|(_, domain)| (domain, name_servers.as_slice()));
    let places = places(names.chain(server.map(|host| (host, [].as_slice())))).await;
    for (mailbox, domain) in mailboxes {
        if let Some(what) = watched(domain, &places, snapshot) {
            let says = format!("{mailbox} is on {what}: once that is off, nobody reads there that it is");
            checks.push(("recipients".to_owned(), CheckVerdict::warn(says).remedy(ELSEWHERE)));
        }
    }
    if let (Some(only), 1) = (recipients.first(), recipients.len()) {
        let says = format!("{only} alone");
        let advice = "a second recipient, with another provider, hears of it where the first cannot";
        checks.push(("recipients".to_owned(), CheckVerdict::ok(says).remedy(advice)));
    }
    if let Some(host) = server
        && let Some(what) = watched(host, &places, snapshot)
    {
        let says = format!("{host} is on {what}: once that is off, no mail leaves");
        let remedy = "send through a mail server elsewhere, or set heartbeat.url";
        checks.push(("mail server".to_owned(), CheckVerdict::warn(says).remedy(remedy)));
    }
    checks
}

/// The addresses of each name, or of its mail servers where the name servers tell any. Several are
/// looked up at a time. A name whose answer comes too late has no address.
async fn places<'a>(names: impl Iterator<Item = (&'a str, &[SocketAddr])>) -> BTreeMap<String, Vec<IpAddr>> {
    let (names, lookups): (Vec<String>, Vec<_>) = names
        .map(|(name, name_servers)| {
            let lookup = addresses(name.to_owned(), name_servers.to_vec());
            let lookup = async { tokio::time::timeout(PATIENCE, lookup).await.unwrap_or_default() };
            (name.to_owned(), lookup)
        })
        .unzip();
    names.into_iter().zip(in_order(lookups.into_iter()).await).collect()
}

async fn addresses(name: String, name_servers: Vec<SocketAddr>) -> Vec<IpAddr> {
    let mut hosts = mx::mail_servers(&name, &name_servers).await;
    if hosts.is_empty() {
        hosts.push(name);
    }
    let mut addresses = Vec::new();
    for host in hosts {
        if let Ok(found) = lookup_host((host, MAIL_PORT)).await {
            addresses.extend(found.map(|one| one.ip()));
        }
    }
    addresses
}

fn heartbeat(is_set: bool) -> CheckVerdict {
    if is_set {
        let says = "heartbeat.url is set; doctor does not ping it, since a ping says that the daemon works";
        return CheckVerdict::skip(says)
            .remedy("make sure that its service alerts somebody when the pings stop");
    }
    CheckVerdict::warn("heartbeat.url is empty: nobody notices when this daemon or its machine is gone")
        .remedy(
            "set it to an address of a service that alerts you when the pings stop, such as healthchecks.io",
        )
}

/// The watched site or VM behind a name, in words.
fn watched(name: &str, places: &BTreeMap<String, Vec<IpAddr>>, snapshot: &Snapshot) -> Option<String> {
    if let Some((account, site)) = site_of(snapshot, name) {
        return Some(format!("the watched site {site} of account {account}"));
    }
    let vm = lives_on(snapshot, places.get(name)?)?;
    let named = vm.vm_name.map_or_else(|| vm.vm.to_string(), |name| format!("{name} ({})", vm.vm));
    Some(format!("the watched VM {named} of account {}", vm.account))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::doctor::CheckOutcome;

    #[test]
    fn an_empty_heartbeat_is_warned_of_and_one_that_is_not_tried_is_not_ok() {
        assert_eq!(heartbeat(true).outcome, CheckOutcome::Skip);
        assert_eq!(heartbeat(false).outcome, CheckOutcome::Warn);
    }
}
