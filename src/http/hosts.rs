//! The names under which the server may be asked, and the pages that may ask. A foreign web page can neither
//! read the server under a name of its own (DNS rebinding) nor post to it. Only headers are checked.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use hyper::header::{self, HeaderMap};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use parking_lot::Mutex;
use url::{Host, Origin, Url};

use super::body::Body;
use super::response::text;
use super::routes;

/// The number of names that are logged. A client that tries more of them cannot fill the log.
const MOST_LOGGED: usize = 100;

/// The settings in `[web]`.
#[derive(Clone, Default, Debug)]
pub(crate) struct WebSettings {
    /// The address under which people reach the page.
    pub external_url: Option<Url>,
    /// Further names, in lower case.
    pub allowed_hosts: Vec<String>,
}

/// The allowed names; see the module.
#[derive(Debug)]
pub(crate) struct AllowedHosts {
    names: BTreeSet<String>,
    /// The origin of `external_url`.
    origin: Option<Origin>,
    logged: Mutex<BTreeSet<String>>,
}

impl AllowedHosts {
    /// The names in the settings, and this machine's own.
    pub(crate) fn new(settings: &WebSettings, machine: impl IntoIterator<Item = String>) -> Self {
        let mut names: BTreeSet<String> = machine.into_iter().filter_map(|name| domain(&name)).collect();
        names.insert("localhost".to_owned());
        names.extend(settings.allowed_hosts.iter().cloned());
        let external = settings.external_url.as_ref();
        names.extend(external.and_then(|url| domain(url.host_str()?)));
        Self { names, origin: external.map(Url::origin), logged: Mutex::default() }
    }

    /// Refuses a request under a foreign name or from a foreign page; `None` if it is allowed. Clients that
    /// authenticate may use any name, since a foreign page has no credentials under its own name.
    pub(super) fn refuse<B>(&self, request: &Request<B>, authenticates: bool) -> Option<Response<Body>> {
        // Names are ASCII.
        let host = request.headers().get(header::HOST).map(|value| value.to_str().unwrap_or_default());
        if !authenticates && !routes::is_health(request.uri().path()) {
            let whole = request.uri().authority().map(Authority::as_str);
            let names = || host.into_iter().chain(whole);
            if names().any(|name| parsed(name).is_none()) {
                return Some(text(StatusCode::BAD_REQUEST, "400: no host name or address in Host\n"));
            }
            if let Some(name) = names().find(|name| !self.knows(name)) {
                self.log(name, "refused a request under a name that is not this server's; where it is, add the name to web.allowed_hosts");
                return Some(text(
                    StatusCode::MISDIRECTED_REQUEST,
                    "421: not under this name; add it to web.allowed_hosts in the configuration of hostwatch\n",
                ));
            }
        }
        if *request.method() == Method::POST && self.is_foreign_page(request.headers(), host) {
            let origin = request.headers().get(header::ORIGIN).and_then(|value| value.to_str().ok());
            self.log(origin.unwrap_or("unknown"), "refused a POST from the page of another server; where it is this one's, set web.external_url");
            return Some(text(
                StatusCode::FORBIDDEN,
                "403: not from the page of another server; web.external_url names this one's\n",
            ));
        }
        None
    }

    /// Whether a host is allowed. IP addresses always are, since nobody can make a name of them.
    fn knows(&self, authority: &str) -> bool {
        match parsed(authority) {
            Some((Host::Domain(name), _)) => self.names.contains(name.trim_end_matches('.')),
            Some((Host::Ipv4(_) | Host::Ipv6(_), _)) => true,
            None => false,
        }
    }

    fn is_foreign_page(&self, headers: &HeaderMap, host: Option<&str>) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else {
            // Some browsers leave the origin out. All that send this header send the truth.
            let site = headers.get("sec-fetch-site").map(|value| value.as_bytes().to_ascii_lowercase());
            return site.is_some_and(|site| !matches!(site.as_slice(), b"same-origin" | b"none"));
        };
        let Some(page) = origin.to_str().ok().and_then(|text| Url::parse(text).ok()) else { return true };
        let own = host.and_then(parsed).is_some_and(|(host, port)| {
            let default = if page.scheme() == "https" { 443 } else { 80 };
            let port = port.unwrap_or(default);
            page.host().is_some_and(|page| page.to_owned() == host)
                && page.port_or_known_default() == Some(port)
        });
        !own && self.origin.as_ref() != Some(&page.origin())
    }

    fn log(&self, name: &str, what: &'static str) {
        let name: String = name.chars().take(255).collect();
        let mut logged = self.logged.lock();
        if logged.len() < MOST_LOGGED && logged.insert(name.clone()) {
            tracing::warn!(name, "{what}");
        }
    }
}

/// A host as a URL has it, in lower case, and the port if there is one.
fn parsed(authority: &str) -> Option<(Host<String>, Option<u16>)> {
    let whole = Authority::from_str(authority).ok()?;
    let (host, port) = (whole.host(), whole.port_u16());
    // `Authority` accepts a user before the host, and any text behind the brackets of an address.
    let is_whole = match authority.strip_prefix(host)? {
        "" | ":" => true,
        rest => {
            port.is_some()
                && rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|it| it.is_ascii_digit()))
        }
    };
    is_whole.then_some((Host::parse(host).ok()?, port))
}

/// A name in the form for comparisons; `None` for an address, or a text that is no name.
pub(crate) fn domain(name: &str) -> Option<String> {
    match Host::parse(name).ok()? {
        Host::Domain(name) => Some(name.trim_end_matches('.').to_owned()).filter(|name| !name.is_empty()),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> AllowedHosts {
        let settings = WebSettings {
            external_url: Some(Url::parse("https://watch.example.com/hw/").unwrap()),
            allowed_hosts: vec!["mon.lan".to_owned(), "my_service".to_owned()],
        };
        AllowedHosts::new(&settings, ["Box-1".to_owned(), "box-1.example.org".to_owned()])
    }

    fn status(method: &str, path: &str, headers: &[(&str, &str)], authenticates: bool) -> Option<u16> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let refusal = hosts().refuse(&request.body(()).unwrap(), authenticates);
        refusal.map(|refusal| refusal.status().as_u16())
    }

    #[test]
    fn names() {
        let known = [
            "127.0.0.1",
            "127.0.0.1:10245",
            "127.1",
            "10.1.2.3:80",
            "[::1]",
            "[fd00::2]:10245",
            "localhost",
            "LOCALHOST:1",
            "localhost.",
            "box-1",
            "BOX-1:10245",
            "box-1.example.org",
            "watch.example.com",
            "Watch.Example.com:443",
            "mon.lan",
            "MON.LAN:10245",
            "my_service:10245",
            "localhost:",
            "localhost:00080",
            "localhost:0",
        ];
        for name in known {
            assert_eq!(status("GET", "/metrics", &[("Host", name)], false), None, "{name}");
        }
        let foreign = [
            "evil.example",
            "evil.example:10245",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "x.localhost",
            "box-1.evil.example",
            "example.com",
            "mon.lan.evil.example",
        ];
        let malformed = [
            "",
            ":80",
            "[::1",
            "a b",
            "1.2.3.4.5",
            "evil@localhost",
            "evil:secret@localhost:10245",
            "[::1].evil",
            "[::1]evil:80",
            "localhost:80:80",
            "localhost:99999",
            "localhost:x",
            "localhost\u{e9}",
        ];
        let all = foreign.iter().map(|name| (name, 421)).chain(malformed.iter().map(|name| (name, 400)));
        for (name, refused) in all {
            assert_eq!(status("GET", "/metrics", &[("Host", name)], false), Some(refused), "{name:?}");
            for health in ["/-/healthy", "/-/ready", "//-/healthy", "/-//ready", "/%2d/healthy"] {
                assert_eq!(status("GET", health, &[("Host", name)], false), None, "{name:?} {health}");
            }
            assert_eq!(status("GET", "/metrics", &[("Host", name)], true), None, "{name:?}");
        }
        let whole = status("GET", "http://evil.example/metrics", &[("Host", "127.0.0.1")], false);
        assert_eq!(whole, Some(421), "the name in the request line counts too");
        let whole = status("GET", "http://evil@localhost/metrics", &[("Host", "127.0.0.1")], false);
        assert_eq!(whole, Some(400));
        assert_eq!(status("GET", "/metrics", &[], false), None, "HTTP/1.0 names nobody; browsers always do");
    }

    #[test]
    fn pages() {
        let post = |headers: &[(&str, &str)]| status("POST", "/-/reload", headers, true);
        let me = ("Host", "127.0.0.1:10245");
        let own = [
            vec![me],
            vec![me, ("Origin", "http://127.0.0.1:10245")],
            vec![me, ("Origin", "https://watch.example.com")],
            vec![("Host", "mon.lan"), ("Origin", "https://mon.lan")],
            vec![("Host", "[::1]:10245"), ("Origin", "http://[::1]:10245")],
            vec![me, ("Sec-Fetch-Site", "same-origin")],
            vec![me, ("Sec-Fetch-Site", "none")],
            vec![me, ("Sec-Fetch-Site", "cross-site"), ("Origin", "http://127.0.0.1:10245")],
        ];
        for headers in own {
            assert_eq!(post(&headers), None, "{headers:?}");
        }
        let foreign = [
            "http://evil.example",
            "https://127.0.0.1",
            "http://127.0.0.1:10246",
            "null",
            "",
            "x",
            "http://watch.example.com",
            "https://watch.example.com:8443",
            "http://127.0.0.1.evil.example:10245",
        ];
        for origin in foreign {
            assert_eq!(post(&[me, ("Origin", origin)]), Some(403), "{origin}");
            assert_eq!(status("GET", "/", &[me, ("Origin", origin)], false), None, "{origin}");
        }
        for site in ["cross-site", "same-site", "Cross-Site"] {
            assert_eq!(post(&[me, ("Sec-Fetch-Site", site)]), Some(403), "{site}");
        }
    }
}
