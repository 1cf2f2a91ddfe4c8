//! The parts that the clients of all accounts share: connections, places in flight by host, the clock, and the
//! limits of time and size.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::{Client, ClientBuilder, Proxy, Url, redirect};
use secrecy::ExposeSecret as _;

use super::endpoints::Priority;
use super::error::{ErrorKind, innermost};
use super::limits::{Gate, Permit};
use super::retry;
use crate::clock::Clock;
use crate::failpoint;
use crate::model::Via;
use crate::trust::{self, TrustError};

/// The number of requests in flight to one host.
const IN_FLIGHT: u32 = 8;

/// Time and size limits. Only tests use other values.
#[derive(Clone, Debug)]
pub(super) struct RequestTiming {
    pub connect: Duration,
    /// The time from sending to the end of the body.
    pub whole: Duration,
    pub backoff: [Duration; 2],
    /// The time between two purchases of a token.
    pub purchases_apart: Duration,
    pub page_bytes: u64,
    pub report_bytes: u64,
    pub report_moments: u64,
    pub pages: u64,
    /// The JSON of one listing, or of the orders of one report.
    pub listing_bytes: u64,
}

impl Default for RequestTiming {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            whole: Duration::from_secs(30) / failpoint::time_out_haste(),
            backoff: retry::BACKOFF.map(|pause| pause / failpoint::haste()),
            purchases_apart: Duration::from_secs(60) / failpoint::haste(),
            page_bytes: 32 << 20,
            report_bytes: 1 << 30,
            report_moments: 2_000_000,
            pages: 10_000,
            listing_bytes: 128 << 20,
        }
    }
}

/// The settings of all HTTP requests: our own user agent, a limit of `whole`, no redirects, no referrer, and no
/// proxy from the environment.
pub(crate) fn http_client(whole: Duration) -> ClientBuilder {
    // Only the first call installs it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("hostwatch/", env!("CARGO_PKG_VERSION")))
        .timeout(whole)
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        // Browsers take all of these, so servers and proxies send them.
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_max_headers(256)
}

/// The same by a proxy, and with more authorities.
///
/// # Errors
/// If the proxy is no address, or TLS cannot be set up.
pub(crate) fn http_client_via(whole: Duration, via: &Via) -> Result<ClientBuilder, String> {
    let mut builder = http_client(whole);
    if let Some(proxy) = &via.proxy {
        let proxy = Proxy::all(proxy.expose_secret()).map_err(|_| "its proxy is no address".to_owned())?;
        builder = builder.proxy(proxy);
    }
    match trust::client(via.authorities.as_deref()) {
        Ok(config) => Ok(builder.tls_backend_preconfigured(config)),
        // Plain http needs no authority. With TLS nobody is trusted.
        Err(TrustError::NoRoots(_)) => Ok(builder.tls_backend_preconfigured(trust::of_nobody())),
        Err(error) => Err(error.to_string()),
    }
}

/// Clients by their proxy and authority. One ends with the last account that uses it.
type Clients = Vec<(Via, Weak<Client>)>;

/// The shared parts; see the module. Clones share them, and all accounts should share one. A client for each
/// account would hold the TLS authorities once more, half a megabyte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    gates: Arc<Mutex<HashMap<String, Arc<Gate>>>>,
    http: Arc<Mutex<Clients>>,
    /// Held while a large page is decoded. A server cannot hold it up, since the page is here already.
    pub(super) decoding: Arc<tokio::sync::Mutex<()>>,
    pub(super) clock: Clock,
    pub(super) timing: RequestTiming,
}

impl Hosts {
    /// No hosts yet. The times in their answers go to this clock.
    pub(crate) fn told_to(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }

    /// Waits for a place. Dropping the permit frees it.
    pub(super) async fn place(&self, url: &Url, priority: Priority) -> Permit {
        let host = format!("{}:{}", url.host_str().unwrap_or(""), url.port_or_known_default().unwrap_or(0));
        let gate = {
            let mut gates = self.gates.lock();
            Arc::clone(gates.entry(host).or_insert_with(|| Arc::new(Gate::new(IN_FLIGHT, Duration::ZERO))))
        };
        gate.enter(priority).await
    }

    /// The shared HTTP client of one way, which the first call makes. It ends with its last user.
    pub(super) fn http(&self, via: &Via) -> Result<Arc<Client>, ErrorKind> {
        let mut http = self.http.lock();
        http.retain(|(_, client)| client.strong_count() > 0);
        if let Some(client) = http.iter().find(|(its, _)| its == via).and_then(|(_, client)| client.upgrade())
        {
            return Ok(client);
        }
        let made = self.client(via).map_err(ErrorKind::Setup)?.build();
        let made = Arc::new(made.map_err(|error| ErrorKind::Setup(innermost(&error).to_string()))?);
        http.push((via.clone(), Arc::downgrade(&made)));
        Ok(made)
    }

    /// The settings of a connection to the provider.
    pub(super) fn client(&self, via: &Via) -> Result<ClientBuilder, String> {
        Ok(http_client_via(self.timing.whole, via)?
            .connect_timeout(self.timing.connect)
            // This is shorter than servers keep idle connections, so that a connection is seldom closed while it
            // is used.
            .pool_idle_timeout(Duration::from_secs(30)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_nobody_uses_is_let_go() {
        let hosts = Hosts::default();
        let via =
            |port: u32| Via { proxy: Some(format!("http://127.0.0.1:{port}").into()), authorities: None };
        let used = hosts.http(&via(1)).unwrap();
        drop(hosts.http(&via(2)).unwrap());
        let other = hosts.http(&via(3)).unwrap();
        assert_eq!(hosts.http.lock().len(), 2);
        drop((used, other));
    }

    #[tokio::test(start_paused = true)]
    async fn each_host_has_at_most_eight_calls_at_a_time() {
        let hosts = Hosts::default();
        let url = |text: &str| text.parse::<Url>().unwrap();
        let here = url("https://a.example/x");
        let mut places = Vec::new();
        for _ in 0..8 {
            places.push(hosts.clone().place(&here, Priority::State).await);
        }
        let second = Duration::from_secs(1);
        let same = url("https://a.example:443/other");
        let ninth = tokio::time::timeout(second, hosts.place(&same, Priority::State)).await;
        assert!(ninth.is_err(), "the ninth waits");
        hosts.place(&url("https://b.example/"), Priority::State).await;
        places.pop();
        assert!(tokio::time::timeout(second, hosts.place(&same, Priority::State)).await.is_ok());
    }
}
