//! TLS to the SMTP server: the handshake, and its errors in words.

use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::time::Duration;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::chat::{Wire, bound};
use crate::mail::{MailServer, Security};
use crate::trust;

/// A TLS client that always checks the server's certificate for its name.
pub(super) struct TlsClient {
    /// The configured protection.
    pub security: Security,
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl TlsClient {
    /// Trusts the system's authorities and those of the server's settings. Reads files, which blocks for some
    /// milliseconds. The error says what to change.
    pub(super) fn new(server: &MailServer) -> Result<Self, String> {
        let host = &server.host;
        let name = ServerName::try_from(host.clone()).map_err(|_| {
            format!("email.smtp_url: {host:?} is neither a host name nor an address; correct it")
        })?;
        let config = trust::client(server.authorities.as_deref()).map_err(|error| error.to_string())?;
        Ok(Self { security: server.security, connector: TlsConnector::from(Arc::new(config)), name })
    }

    /// The handshake, and the version agreed on as people write it; the error says how to correct it.
    pub(super) async fn handshake(
        &self,
        stream: Box<dyn Wire>,
        limit: Duration,
    ) -> Result<(TlsStream<Box<dyn Wire>>, &'static str), String> {
        let stream = bound(limit, self.connector.connect(self.name.clone(), stream)).await;
        let stream = stream.map_err(|error| in_words(&error, self.security))?;
        let is_newest = stream.get_ref().1.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
        // The configuration allows no other version.
        Ok((stream, if is_newest { "TLS 1.3" } else { "TLS 1.2" }))
    }
}

fn in_words(error: &std::io::Error, security: Security) -> String {
    if let Some(words) = trust::in_words(error, "email.ca_file", "email.smtp_url") {
        return words;
    }
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    if security == Security::Tls && matches!(cause, Some(rustls::Error::InvalidMessage(_))) {
        let remedy = "write smtp:// for STARTTLS (usually port 587) or correct the port in email.smtp_url";
        return format!("it does not speak TLS there; {remedy}");
    }
    format!("TLS handshake: {error}")
}
