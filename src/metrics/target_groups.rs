//! One site or VM as a target group of Prometheus's HTTP service discovery: its address and its labels.
//! docs/discovery.md promises the names of the labels.

// Only addresses as values: this layer must not open sockets.
use core::net::IpAddr;
use std::borrow::Cow;

use rustls::pki_types::DnsName;
use serde::{Serialize, Serializer};
use url::{Host, Url};

use crate::model::{AccountName, Site, Vm};

/// A site by its URL, or a VM by its addresses.
#[derive(Serialize)]
pub(super) struct TargetGroup<'a> {
    targets: Vec<String>,
    #[serde(serialize_with = "known")]
    labels: Vec<Label<'a>>,
}

/// A name and its value. Without a value the label is left out.
type Label<'a> = (&'static str, Option<Cow<'a, str>>);

fn known<S: Serializer>(labels: &[Label<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(labels.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))))
}

impl<'a> TargetGroup<'a> {
    pub(super) fn of_site(account: &'a AccountName, site: &'a Site) -> Self {
        Self {
            targets: url_of(site).into_iter().collect(),
            labels: vec![
                ("__meta_hosting_account", Some(account.as_str().into())),
                ("__meta_hosting_site", Some(site.id.to_string().into())),
                ("__meta_hosting_site_name", site.name.as_deref().map(Cow::from)),
                ("__meta_hosting_container", Some(site.container.to_string().into())),
                ("__meta_hosting_engine", site.engine.as_deref().map(Cow::from)),
                ("__meta_hosting_state", Some(site.state.as_str().into())),
            ],
        }
    }

    pub(super) fn of_vm(account: &'a AccountName, vm: &'a Vm) -> Self {
        let mut targets = Vec::new();
        for host in vm.ips.iter().flatten().filter_map(|ip| host_of(ip.address.as_deref()?)) {
            // An address can have two records, or two spellings.
            if !targets.contains(&host) {
                targets.push(host);
            }
        }
        let labels = vec![
            ("__meta_hosting_account", Some(account.as_str().into())),
            ("__meta_hosting_vm", Some(vm.id.to_string().into())),
            ("__meta_hosting_vm_name", vm.name.as_deref().map(Cow::from)),
            ("__meta_hosting_tariff", vm.tariff.as_deref().map(Cow::from)),
            ("__meta_hosting_state", Some(vm.state.as_str().into())),
        ];
        Self { targets, labels }
    }
}

/// The address under which people open the site; requests to its other names are redirected there. `None` if no
/// name of it can be a host's.
fn url_of(site: &Site) -> Option<String> {
    let scheme = if site.certificate_id.is_some_and(|id| id != 0) { "https" } else { "http" };
    let names = [site.main_alias.as_deref(), site.name.as_deref()];
    names.into_iter().flatten().find_map(|host| url(scheme, host.trim()))
}

/// The URL of this host, perhaps with a port. `None` for a name that would lead to another place.
fn url(scheme: &str, host: &str) -> Option<String> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "/\\@?#%*".contains(c);
    if host.is_empty() || host.contains(odd) {
        return None;
    }
    // The name on the wire is checked too, if it is not ASCII.
    let url = Url::parse(&format!("{scheme}://{host}")).ok()?;
    let is_host = match url.host()? {
        Host::Domain(name) => DnsName::try_from(name).is_ok(),
        // A number that can be read as an address is no name: 7 would be 0.0.0.7.
        Host::Ipv4(address) => host.starts_with(&address.to_string()),
        Host::Ipv6(_) => true,
    };
    is_host.then(|| url.as_str().trim_end_matches('/').to_owned())
}

/// The address as the host of a target, to which a port can be added.
fn host_of(address: &str) -> Option<String> {
    Some(match address.trim().parse::<IpAddr>().ok()? {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_sites() {
        let table = [
            ("shop.example.com", Some("https://shop.example.com")),
            ("Shop.Example.COM", Some("https://shop.example.com")),
            ("127.0.0.1:8443", Some("https://127.0.0.1:8443")),
            ("пример.рф", Some("https://xn--e1afmkfd.xn--p1ai")),
            ("", None),
            ("*.example.com", None),
            ("a b", None),
            ("a\nb.example.com", None),
            ("a.example.com/admin?x#y", None),
            ("user:secret@a.example.com", None),
            ("a\\b", None),
            ("%61.example.com", None),
            ("a.example.com:99999", None),
            ("<script>", None),
            ("under_score.example.com", Some("https://under_score.example.com")),
            ("shop.example.com.", Some("https://shop.example.com.")),
            ("[2001:db8::7]:8443", Some("https://[2001:db8::7]:8443")),
            ("..", None),
            (".", None),
            ("-", None),
            ("a,b.example.com", None),
            ("a..example.com", None),
            ("-a.example.com", None),
            ("a-.example.com", None),
            ("7", None),
            ("010.1.1.1", None),
        ];
        for (host, want) in table {
            assert_eq!(url("https", host).as_deref(), want, "{host:?}");
        }
        let label = "a".repeat(63);
        assert!(url("http", &format!("{label}.example.com")).is_some());
        assert_eq!(url("http", &format!("{label}a.example.com")), None);
        assert_eq!(url("http", &format!("{label}.{label}.{label}.{label}")), None);
    }

    #[test]
    fn addresses_of_vms() {
        let table = [
            ("192.0.2.7", Some("192.0.2.7")),
            ("2001:DB8::7", Some("[2001:db8::7]")),
            (" 192.0.2.7 ", Some("192.0.2.7")),
            ("192.0.2.0/24", None),
            ("fe80::1%eth0", None),
            ("vm.example.com", None),
        ];
        for (address, want) in table {
            assert_eq!(host_of(address).as_deref(), want, "{address:?}");
        }
    }
}
