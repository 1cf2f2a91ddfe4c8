//! Sends mails to an SMTP server: one envelope and one recipient a mail, one connection for several mails in a
//! row. The pipeline queues, repeats and logs. This module repeats only one step, since servers limit the mails of a
//! connection. If a kept one ended before a mail, or refused it at MAIL, a new one gets it.
//!
//! The commands are spoken here, and not by `lettre`'s transport, for two reasons. To that transport a 571, a
//! code without text or a letter in KOI8-R is no reply. A recipient that was refused for good would be tried
//! for days, and a mail that was taken would be sent again. And its STARTTLS keeps octets that it read past the
//! reply: a line that somebody slipped in before the encryption would pass for an encrypted one.

mod blame;
mod chat;
mod connect;
mod error;
mod session;
mod tls;

use std::time::Duration;

use self::blame::History;
use self::connect::host_name;
use self::tls::TlsClient;
use parking_lot::Mutex;

use super::settings::{MailServer, Security};
use crate::failpoint;

pub(crate) use self::blame::{Blame, Stage};
pub(crate) use self::connect::{full_host_name, machine_names};
pub(crate) use self::error::{End, LONGEST_SAID, SendError};
pub(crate) use self::session::Session;

/// Sends mails to one server. Certificates are read when it is made; a reload makes a new transport.
pub(crate) struct Transport {
    /// With the name for the greeting; if there is none, this machine's address is used.
    server: MailServer,
    /// `None`: nothing is encrypted.
    tls: Option<TlsClient>,
    timing: Timing,
    /// Conversations that wait for the next mail, at most one for each sender.
    kept: Mutex<Vec<Session>>,
    history: Mutex<History>,
}

/// Time limits, by default as in RFC 5321, section 4.5.3.2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Name look-up, and each of the host's addresses.
    pub connect: Duration,
    /// Each reply, and the TLS handshake.
    pub reply: Duration,
    /// The bytes of the mail, and the reply to its dot: servers scan the mail before they reply.
    pub content: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let haste = failpoint::time_out_haste();
        Self {
            connect: Duration::from_secs(30),
            reply: Duration::from_secs(300) / haste,
            content: Duration::from_secs(600) / haste,
        }
    }
}

impl Timing {
    /// Limits for a person who waits for the answer.
    pub(crate) fn of_a_trial() -> Self {
        let (connect, reply) = (Duration::from_secs(10), Duration::from_secs(30));
        Self { connect, reply, ..Self::default() }
    }
}

/// The facts about a server that a trial connection finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// `TLS 1.2` or `TLS 1.3`; `None` over an open connection.
    pub tls_version: Option<&'static str>,
    /// The mechanism of the login that succeeded; `None` if no user is set.
    pub login: Option<&'static str>,
    /// The name that this machine greeted with.
    pub greeting: String,
    /// The recipients that the server did not accept, each with its words, or with the reason why none came.
    pub refused: Vec<(String, String)>,
}

impl Transport {
    /// Reads the certificates to trust, which blocks for some milliseconds. The error says what to change.
    pub(crate) fn new(server: &MailServer) -> Result<Self, String> {
        Self::with_timing(server, Timing::default())
    }

    /// A transport with other limits.
    pub(crate) fn with_timing(server: &MailServer, timing: Timing) -> Result<Self, String> {
        let tls = match server.security {
            Security::Tls | Security::StartTls => Some(TlsClient::new(server)?),
            Security::Plain => None,
        };
        let helo_name = server.helo_name.clone().or_else(host_name);
        let server = MailServer { helo_name, ..server.clone() };
        Ok(Self { server, tls, timing, kept: Mutex::default(), history: Mutex::default() })
    }

    /// Connects for the next mail.
    pub(crate) async fn connect(&self) -> Result<(), SendError> {
        let session = self.open().await?;
        self.kept.lock().push(session);
        Ok(())
    }

    /// Whether a connection waits for the next mail.
    pub(crate) fn is_connected(&self) -> bool {
        !self.kept.lock().is_empty()
    }

    /// The connection that waits for the next mail, if there is one.
    pub(crate) fn take(&self) -> Option<Session> {
        self.kept.lock().pop()
    }

    /// Sends one mail to one recipient and returns at its 250. `raw` is sent as it is, with CRLF line ends. The
    /// connection, the `kept` one or a new one, waits for the next mail until [`rest`](Self::rest).
    pub(crate) async fn send(
        &self,
        kept: Option<Session>,
        envelope_from: &str,
        recipient: &str,
        raw: &[u8],
    ) -> Result<(), SendError> {
        let past = self.history.lock().of(recipient);
        let mut session = if let Some(session) = kept { session } else { self.open().await? };
        let is_used = session.is_used;
        failpoint::reach("connected");
        let mut outcome = session.deliver(envelope_from, recipient, raw, past).await;
        if is_used && session.another_may_take_it(&outcome) {
            // Some servers allow one connection at a time.
            session.close().await;
            session = self.open().await?;
            outcome = session.deliver(envelope_from, recipient, raw, past).await;
        }
        match &outcome {
            Ok(()) => self.history.lock().note_taken(recipient),
            Err(SendError { stage: Stage::Content, end: End::Refused(blame), .. })
                if *blame != Blame::Later =>
            {
                self.history.lock().note_refused(recipient);
            }
            Err(_) => {}
        }
        // If QUIT would be read as a part of the mail, the connection is closed without it.
        if session.goes_on(&outcome) {
            self.kept.lock().push(session);
        }
        outcome
    }

    /// Closes an idle connection: no mail waits. QUIT is sent in the background, since its reply does not matter.
    pub(crate) fn rest(&self) {
        if let Some(session) = self.take() {
            drop(tokio::spawn(session.close()));
        }
    }

    /// Connects, logs in, asks whether the server takes mail from this sender for these recipients, and leaves.
    pub(crate) async fn probe(
        &self,
        envelope_from: &str,
        recipients: &[String],
    ) -> Result<Capabilities, SendError> {
        self.open().await?.probe(envelope_from, recipients).await
    }
}
