//! Sends mails to an SMTP server: one envelope and one recipient a mail, one connection for several mails in a
//! row. The sender queues, repeats and logs. This module repeats only one step: servers limit the mails of a
//! connection, so a mail is sent again if the connection ended before it.
//!
//! The commands are spoken here, and not by `lettre`'s transport, for two reasons. To that transport a 571, a
//! code without text or a letter in KOI8-R is no reply. A recipient that was refused for good would be tried
//! for days, and a mail that was taken would be sent again. And its STARTTLS keeps octets that it read past the
//! reply: a line that somebody slipped in before the encryption would pass for an encrypted one.

mod chat;
mod connect;
mod error;
mod reply;
mod session;
mod tls;

use std::time::Duration;

use self::connect::{Route, full_host_name};
use self::reply::TimeLimits;
use self::session::Session;
use self::tls::TlsClient;
use parking_lot::Mutex;

use super::settings::{Login, MailServer, Security};
use crate::failpoint;

pub(crate) use self::error::{SendError, TransportError};

/// Sends mails to one server. Certificates are read when it is made; a reload makes a new transport.
pub(crate) struct Transport {
    route: Route,
    login: Option<Login>,
    timing: Timing,
    /// Conversations that took a mail and wait for the next, at most one for each sender.
    kept: Mutex<Vec<Session>>,
}

/// Time limits. Only tests use other values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Name look-up, and each of the host's addresses.
    pub connect: Duration,
    /// Each reply, and the TLS handshake.
    pub reply: Duration,
    /// From the first byte of the mail to the reply to its dot: servers scan the mail before they reply.
    pub content: Duration,
    /// The whole conversation, without QUIT.
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

/// The facts about a server that a trial connection finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// `TLS 1.2` or `TLS 1.3`; `None` over an open connection.
    pub tls_version: Option<&'static str>,
    /// The mechanism of the login that succeeded; `None` if no user is set.
    pub login: Option<String>,
}

impl Transport {
    /// Reads the certificates to trust, which blocks for some milliseconds. The error says what to change.
    pub(crate) fn new(server: &MailServer) -> Result<Self, TransportError> {
        Self::with_timing(server, Timing::default())
    }

    /// A transport with other limits.
    pub(crate) fn with_timing(server: &MailServer, timing: Timing) -> Result<Self, TransportError> {
        let tls = match server.security {
            Security::Tls | Security::StartTls => Some(TlsClient::new(server)?),
            Security::Plain => None,
        };
        // The file exists only on Linux; elsewhere the address is used.
        let host_name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let route = Route {
            host: server.host.clone(),
            port: server.port,
            tls,
            host_name: host_name.as_deref().and_then(full_host_name),
        };
        Ok(Self { route, login: server.login.clone(), timing, kept: Mutex::default() })
    }

    /// Sends one mail to one recipient and returns at its 250. `raw` is sent as it is, with CRLF line ends. The
    /// connection is kept for the next mail, until [`rest`](Self::rest).
    pub(crate) async fn send(
        &self,
        envelope_from: &str,
        recipient: &str,
        raw: &[u8],
    ) -> Result<(), SendError> {
        let limits = TimeLimits::start(self.timing);
        let kept = self.take_kept(limits).await;
        let is_kept = kept.is_some();
        let mut session = match kept {
            Some(session) => session,
            None => self.open(limits).await?,
        };
        failpoint::reach("connected");
        let mut outcome = session.deliver(envelope_from, recipient, raw).await;
        if is_kept && session.ended_before_the_mail(&outcome) {
            session = self.open(limits).await?;
            outcome = session.deliver(envelope_from, recipient, raw).await;
        }
        self.keep(session, &outcome);
        outcome
    }

    /// Closes idle connections: no mail waits. QUIT is sent in the background, since its reply does not matter.
    pub(crate) fn rest(&self) {
        let kept = self.kept.lock().pop();
        if let Some(session) = kept {
            drop(tokio::spawn(session.close()));
        }
    }

    async fn open(&self, limits: TimeLimits) -> Result<Session, SendError> {
        Session::open(&self.route, self.login.as_ref(), limits).await
    }

    /// A kept conversation whose server is still there.
    async fn take_kept(&self, limits: TimeLimits) -> Option<Session> {
        let kept = self.kept.lock().pop()?;
        kept.again(limits).await
    }

    /// Keeps the conversation if another mail may follow. If QUIT would be read as a part of the mail, the
    /// connection is closed without it.
    fn keep(&self, session: Session, outcome: &Result<(), SendError>) {
        if session.goes_on(outcome) {
            self.kept.lock().push(session);
        }
    }

    /// Connects, logs in, asks whether the server takes mail from this sender, and leaves.
    pub(crate) async fn probe_sender(&self, envelope_from: &str) -> Result<Capabilities, SendError> {
        let mut session = self.open(TimeLimits::start(self.timing)).await?;
        let asked = session.try_sender(envelope_from).await;
        let capabilities = session.capabilities();
        session.close().await;
        asked.map(|()| capabilities)
    }
}

impl std::fmt::Debug for Transport {
    /// The login is left out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport")
            .field("host", &self.route.host)
            .field("port", &self.route.port)
            .finish_non_exhaustive()
    }
}

/// Reads replies until there are no more.
#[cfg(fuzzing)]
pub(crate) async fn read_replies(sent: &[u8]) {
    let mut chat = chat::Chat::new(tokio::io::join(std::io::Cursor::new(sent.to_vec()), tokio::io::sink()));
    while let Ok(reply) = chat.reply().await {
        assert!((2..=5).contains(&reply.kind()) && reply.said().chars().all(|c| !c.is_control()));
    }
}
