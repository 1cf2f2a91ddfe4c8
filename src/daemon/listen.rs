//! The sockets that the daemon serves on: bound addresses, or sockets passed by systemd; and their guards.

use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use listenfd::ListenFd;
use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::TcpListener;

use crate::cli;
use crate::config_error::ConfigErrors;
use crate::http::{Guard, ListenAddress, Listener, WebConfig};

/// Sockets that are bound and not served yet.
pub(crate) struct BoundSockets {
    sockets: Vec<BoundSocket>,
    guard: Arc<Guard>,
    tls: bool,
    passwords: bool,
}

type BoundSocket = (TcpListener, SocketAddr);

impl BoundSockets {
    /// Binds the addresses of the flags.
    ///
    /// # Errors
    /// All errors of the web configuration, or the address with the remedy.
    pub(crate) async fn open(web: &cli::Web) -> Result<Self> {
        // Lasting errors are found before passing ones.
        let config = config(web)?;
        let sockets = if web.systemd_socket { passed()? } else { bind(&web.listen_addresses).await? };
        Ok(Self::new(config, sockets))
    }

    /// Binds any free port of loopback.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) async fn open_anywhere(web: &cli::Web) -> Result<Self> {
        let anywhere = ListenAddress { host: "127.0.0.1".to_owned(), port: 0 };
        Ok(Self::new(config(web)?, bind(&[anywhere]).await?))
    }

    fn new(config: Option<(&Path, WebConfig)>, sockets: Vec<BoundSocket>) -> Self {
        let has = |what: fn(&WebConfig) -> bool| config.as_ref().is_some_and(|(_, config)| what(config));
        let (tls, passwords) = (has(WebConfig::has_tls), has(WebConfig::has_users));
        if let Some((path, config)) = &config {
            for note in &config.notes {
                tracing::warn!("{}: {note}", path.display());
            }
        }
        Self { sockets, guard: Arc::new(Guard::new(config)), tls, passwords }
    }

    /// Logs the addresses and their guards.
    pub(crate) fn announce(&self, path: &str) {
        let (tls, passwords) = (self.tls, self.passwords);
        for (_, address) in &self.sockets {
            tracing::info!(%address, tls, passwords, path, "serving metrics and the status page");
            if address.ip().is_loopback() {
                let port = address.port();
                tracing::info!("only this machine can open it; --web.listen-address=:{port} opens it wider");
            } else if passwords && !tls {
                tracing::warn!(%address, "passwords pass the network readable; add tls_server_config");
            }
        }
    }

    /// The addresses for a browser.
    pub(crate) fn urls(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let scheme = if self.tls { "https" } else { "http" };
        self.sockets.iter().map(move |(_, address)| (scheme, *address))
    }

    /// The listeners to be served.
    pub(crate) fn into_listeners(self) -> Vec<Listener> {
        let guarded = |(listener, _): BoundSocket| Listener::from(listener).guarded(Arc::clone(&self.guard));
        self.sockets.into_iter().map(guarded).collect()
    }
}

/// The web configuration that the flags name, and its file.
fn config(web: &cli::Web) -> Result<Option<(&Path, WebConfig)>, ConfigErrors> {
    web.config_file.as_deref().map(|path| Ok((path, WebConfig::read(path)?))).transpose()
}

/// Binds every address.
async fn bind(addresses: &[ListenAddress]) -> Result<Vec<BoundSocket>> {
    let mut sockets = Vec::new();
    for address in addresses {
        let bound = match address.host.as_str() {
            // A machine without IPv6 still has every IPv4 address.
            "" => match every_address(address.port) {
                Err(_) => TcpListener::bind(("0.0.0.0", address.port)).await,
                bound => bound,
            },
            host => TcpListener::bind((host, address.port)).await,
        };
        let remedy = bound.as_ref().map_or_else(remedy, |_| "");
        let bound = bound.with_context(|| {
            format!("cannot listen on {address}; {remedy}; --web.listen-address chooses another")
        })?;
        sockets.push(tcp(bound)?);
    }
    Ok(sockets)
}

/// The likely cause of an address that cannot be listened on, and the remedy.
fn remedy(error: &io::Error) -> &'static str {
    let causes = [
        (io::ErrorKind::AddrInUse, "the address is taken already"),
        (
            io::ErrorKind::PermissionDenied,
            "ports below 1024 need CAP_NET_BIND_SERVICE or a socket of systemd",
        ),
        (io::ErrorKind::AddrNotAvailable, "this machine has no such address"),
    ];
    let cause = causes.iter().find(|(kind, _)| *kind == error.kind());
    cause.map_or("the address may be wrong", |(_, cause)| cause)
}

/// Listens on every address of both families, whatever `net.ipv6.bindv6only` says.
fn every_address(port: u16) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, None)?;
    socket.set_only_v6(false)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// The connections that may wait to be accepted, as tokio has it.
const BACKLOG: i32 = 1024;

fn tcp(listener: TcpListener) -> Result<BoundSocket> {
    let address = listener.local_addr().context("asking for the address listened on")?;
    Ok((listener, address))
}

/// The sockets that systemd passed, in its order.
fn passed() -> Result<Vec<BoundSocket>> {
    let mut passed = ListenFd::from_env();
    if passed.len() == 0 {
        bail!(
            "--web.systemd-socket: systemd passed no socket; start hostwatch by its socket unit \
             (docs/web.md), or give --web.listen-address instead"
        );
    }
    (0..passed.len()).map(|index| take(&mut passed, index)).collect()
}

fn take(passed: &mut ListenFd, index: usize) -> Result<BoundSocket> {
    let number = index + 1;
    let Ok(Some(listener)) = passed.take_tcp_listener(index) else {
        bail!("socket {number} from systemd is no TCP socket; pass sockets by ListenStream=ADDRESS:PORT");
    };
    let listening = SockRef::from(&listener).is_listener();
    if !listening.with_context(|| format!("asking what socket {number} from systemd is"))? {
        bail!("socket {number} from systemd is a connection, not a listener; write Accept=no in its unit");
    }
    listener.set_nonblocking(true)?;
    tcp(TcpListener::from_std(listener)?)
}
