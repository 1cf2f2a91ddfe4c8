//! The addresses of `--web.listen-address`. This module binds nothing.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// Loopback, so that a wider address is a decision.
pub(crate) const DEFAULT_LISTEN_ADDRESS: &str = "127.0.0.1:10245";

/// `HOST:PORT`; the host is a name or an address, and empty for every address of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ListenAddress {
    /// The host without brackets.
    pub host: String,
    /// 0 for any free port.
    pub port: u16,
}

/// The error for a text that is no listen address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected HOST:PORT, [IPV6]:PORT or :PORT, such as {DEFAULT_LISTEN_ADDRESS}")]
pub(crate) struct BadListenAddress;

impl FromStr for ListenAddress {
    type Err = BadListenAddress;

    fn from_str(text: &str) -> Result<Self, BadListenAddress> {
        let (host, port) = text.rsplit_once(':').ok_or(BadListenAddress)?;
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or(BadListenAddress)?;
        let host = match host.strip_prefix('[') {
            Some(inner) => {
                let inner = inner.strip_suffix(']').ok_or(BadListenAddress)?;
                inner.parse::<Ipv6Addr>().map_err(|_| BadListenAddress)?;
                inner
            }
            None if host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)) => host,
            None => return Err(BadListenAddress),
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}
