//! Mail to the SMTP server: one envelope, one recipient, one connection for each mail.
//! Keeps no queue, tries nothing twice and logs nothing: the sender does.
//!
//! `lettre` speaks SMTP, over streams made here. Its own TLS is not used, for two reasons. Replies have to be rewritten
//! before it reads them, and thus inside of the TLS: to it a 571, a code without text or a letter of KOI8-R is no reply
//! at all, so that a recipient refused for good would be tried for five days, and a mail that was taken sent again. And
//! its STARTTLS keeps what it has read past the reply, so that a line slipped in there in the open would pass for an
//! encrypted one.

mod connect;
mod error;
mod lenient;
mod reply;
mod session;
mod tls;
mod wire;

use std::time::Duration;

use self::connect::{Protection, Route, full_host_name};
use self::session::{Login, Session};
use self::tls::TlsClient;
use super::settings::{MailServer, Security};
use crate::failpoint;

pub(crate) use self::error::{SendError, TransportError};

/// Sends mails to one server. Certificates are read when it is made; a reload makes a new one.
pub(crate) struct Transport {
    route: Route,
    login: Option<Login>,
    timing: Timing,
}

/// How long things may take; other values in tests only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Name look-up, and each of the host's addresses.
    pub connect: Duration,
    /// Each reply, and the TLS handshake.
    pub reply: Duration,
    /// From the mail's first byte to the reply to its dot: servers scan it before they reply.
    pub content: Duration,
    /// All of it together, QUIT not counted.
    pub total: Duration,
    pub quit: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            reply: Duration::from_secs(30),
            content: Duration::from_secs(60),
            total: Duration::from_secs(120),
            quit: Duration::from_secs(5),
        }
    }
}

/// What a trial connection found out about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// `TLS 1.2` or `TLS 1.3`; `None` over an open connection.
    pub tls_version: Option<&'static str>,
    /// The mechanism of the login that succeeded; `None` where no user is set.
    pub login: Option<String>,
}

impl Transport {
    /// Reads the certificates to trust; blocks for some milliseconds. The error says what to change.
    pub(crate) fn new(server: &MailServer) -> Result<Self, TransportError> {
        Self::with_timing(server, Timing::default())
    }

    /// The same with other limits.
    pub(crate) fn with_timing(server: &MailServer, timing: Timing) -> Result<Self, TransportError> {
        let protection = match server.security {
            Security::Tls => Protection::FromTheFirstByte(TlsClient::new(server)?),
            Security::StartTls => Protection::StartTls(TlsClient::new(server)?),
            Security::Plain => Protection::None,
        };
        let login = match (&server.username, &server.password, server.security) {
            (None, _, _) => None,
            (Some(_), _, Security::Plain) => return Err(TransportError::LoginWithoutTls),
            (Some(_), None, Security::Tls | Security::StartTls) => return Err(TransportError::NoPassword),
            (Some(username), Some(password), Security::Tls | Security::StartTls) => {
                Some(Login { username: username.clone(), password: password.clone() })
            }
        };
        // Absent elsewhere than on Linux; the address serves as well.
        let host_name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let route = Route {
            host: server.host.clone(),
            port: server.port,
            protection,
            host_name: host_name.as_deref().and_then(full_host_name),
        };
        Ok(Self { route, login, timing })
    }

    /// Sends one mail to one recipient; returns at its 250, and leaves QUIT to the runtime, so that
    /// the 250 is recorded at once. `raw` arrives as it is, line ends made CRLF.
    pub(crate) async fn send(
        &self,
        envelope_from: &str,
        recipient: &str,
        raw: &[u8],
    ) -> Result<(), SendError> {
        let mut session = Session::open(&self.route, self.login.as_ref(), self.timing).await?;
        failpoint::reach("connected");
        let outcome = session.deliver(envelope_from, recipient, raw).await;
        // In the middle of something QUIT would be read as a part of it.
        let broken = |error: &SendError| {
            use SendError::{Connection, Interrupted, ReplyLost};
            matches!(error, Connection { .. } | Interrupted { .. } | ReplyLost { .. })
        };
        if !outcome.as_ref().is_err_and(broken) {
            drop(tokio::spawn(session.close()));
        }
        outcome
    }

    /// Connects, logs in, asks whether the server takes mail from this sender, and leaves again.
    pub(crate) async fn probe_sender(&self, envelope_from: &str) -> Result<Capabilities, SendError> {
        let mut session = Session::open(&self.route, self.login.as_ref(), self.timing).await?;
        let asked = session.try_sender(envelope_from).await;
        let capabilities = session.capabilities();
        session.close().await;
        asked.map(|()| capabilities)
    }
}

impl std::fmt::Debug for Transport {
    /// Without the login.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport")
            .field("host", &self.route.host)
            .field("port", &self.route.port)
            .finish_non_exhaustive()
    }
}
