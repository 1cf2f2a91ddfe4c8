//! Connects to an SMTP server: name look-up, TCP, TLS, EHLO. Logs nobody in and sends no mail.

use std::net::{IpAddr, SocketAddr};

use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream};
use lettre::transport::smtp::commands::Starttls;
use lettre::transport::smtp::extension::{ClientId, Extension};
use lettre::transport::smtp::response::Severity;
use rustls::pki_types::DnsName;
use tokio::net::{TcpStream, lookup_host};

use super::reply::{ReplyError, TimeLimits};
use super::tls::{self, TlsClient};
use super::wire::SmtpStream;
use crate::mail::Security;

/// Where to connect and how.
pub(super) struct Route {
    pub host: String,
    pub port: u16,
    pub protection: Protection,
    /// This machine's full name, for EHLO; its address serves where it has none.
    pub host_name: Option<String>,
}

/// How the connection is encrypted.
pub(super) enum Protection {
    None,
    FromTheFirstByte(TlsClient),
    StartTls(TlsClient),
}

/// A conversation after EHLO, and the version of TLS around it.
pub(super) struct Greeted {
    pub chat: AsyncSmtpConnection,
    pub tls_version: Option<&'static str>,
}

/// Connects; the error says what to do.
pub(super) async fn connect(route: &Route, limits: &TimeLimits) -> Result<Greeted, String> {
    let (tcp, peer) = tcp(route, limits).await?;
    let hello = hello(route.host_name.as_deref(), tcp.local_addr().ok());
    match &route.protection {
        Protection::None => {
            let chat = greeted(SmtpStream::new(tcp, peer), &hello, limits).await?;
            Ok(Greeted { chat, tls_version: None })
        }
        Protection::FromTheFirstByte(tls) => {
            let stream = encrypted(tls, tcp, Security::Tls, limits).await?;
            let tls_version = Some(tls::version(&stream));
            Ok(Greeted { chat: greeted(SmtpStream::new(stream, peer), &hello, limits).await?, tls_version })
        }
        Protection::StartTls(tls) => {
            let tcp = start_tls(tcp, peer, &hello, limits).await?;
            let stream = encrypted(tls, tcp, Security::StartTls, limits).await?;
            let tls_version = Some(tls::version(&stream));
            let wire = SmtpStream::after_starttls(stream, peer);
            Ok(Greeted { chat: greeted(wire, &hello, limits).await?, tls_version })
        }
    }
}

/// The first of the host's addresses that answers.
async fn tcp(route: &Route, limits: &TimeLimits) -> Result<(TcpStream, SocketAddr), String> {
    let limit = limits.timing().connect;
    let looked_up = limits.bound(limit, lookup_host((route.host.as_str(), route.port))).await;
    let addresses = looked_up.and_then(|found| found.map_err(|error| error.to_string())).map_err(|why| {
        format!("looking up the name: {why}; check the host in email.smtp_url and this machine's DNS")
    })?;
    let mut last = "the name has no address; check the host in email.smtp_url".to_owned();
    for address in addresses {
        let tried = limits.bound(limit, TcpStream::connect(address)).await;
        match tried.and_then(|connected| connected.map_err(|error| error.to_string())) {
            Ok(stream) => {
                // The dot follows the mail in a packet of its own; it must not wait for an acknowledgement.
                // Where the option fails, mail is late by milliseconds, no more.
                let _ = stream.set_nodelay(true);
                return Ok((stream, address));
            }
            Err(why) => {
                last = format!(
                    "connecting to {address}: {why}; check host and port in email.smtp_url, and the firewall"
                );
            }
        }
    }
    Err(last)
}

/// Asks for TLS in the open; gives the socket back for the handshake.
async fn start_tls(
    tcp: TcpStream,
    peer: SocketAddr,
    hello: &ClientId,
    limits: &TimeLimits,
) -> Result<TcpStream, String> {
    // The conversation owns its stream, so it gets a second handle on the same socket.
    let twins = || -> std::io::Result<(TcpStream, TcpStream)> {
        let tcp = tcp.into_std()?;
        let twin = tcp.try_clone()?;
        Ok((TcpStream::from_std(tcp)?, TcpStream::from_std(twin)?))
    };
    let (tcp, twin) = twins().map_err(|error| format!("handling the socket: {error}"))?;
    let mut chat = greeted(SmtpStream::before_tls(twin, peer), hello, limits).await?;
    if !chat.server_info().supports_feature(Extension::StartTls) {
        return Err("the server offers no STARTTLS there, and hostwatch sends no mail in the open; write \
                    smtps:// (usually port 465) or correct the port in email.smtp_url"
            .to_owned());
    }
    match limits.ask(&mut chat, "STARTTLS", Starttls, Severity::PositiveCompletion).await {
        Ok(_) => Ok(tcp),
        Err(failure) => Err(format!("STARTTLS: {}", failure.into_reason())),
    }
}

async fn encrypted(
    tls: &TlsClient,
    tcp: TcpStream,
    security: Security,
    limits: &TimeLimits,
) -> Result<tls::Stream, String> {
    let handshake = limits.bound(limits.timing().reply, tls.handshake(tcp, security));
    handshake.await.unwrap_or_else(|late| Err(format!("TLS handshake: {late}")))
}

/// Reads the greeting, says EHLO.
async fn greeted(
    stream: impl AsyncTokioStream + 'static,
    hello: &ClientId,
    limits: &TimeLimits,
) -> Result<AsyncSmtpConnection, String> {
    let greeting = AsyncSmtpConnection::connect_with_transport(Box::new(stream), hello);
    let greeted = limits.reply("connection and EHLO", limits.timing().reply, greeting).await;
    greeted.map_err(|failure| match failure {
        ReplyError::Refused { reason, .. } => format!("the server is not ready for mail: {reason}"),
        ReplyError::Broken(reason) => {
            format!(
                "{reason}; if this goes on, check that host and port in email.smtp_url are an SMTP server's"
            )
        }
    })
}

/// Who we say we are: the machine's name, or its address in brackets (RFC 5321, section 4.1.4).
fn hello(host_name: Option<&str>, local: Option<SocketAddr>) -> ClientId {
    match (host_name, local.map(|address| address.ip().to_canonical())) {
        (Some(name), _) => ClientId::Domain(name.to_owned()),
        (None, Some(IpAddr::V4(address))) => ClientId::Ipv4(address),
        (None, Some(IpAddr::V6(address))) => ClientId::Ipv6(address),
        (None, None) => ClientId::Ipv4(std::net::Ipv4Addr::LOCALHOST),
    }
}

/// This machine's name, where it is a full one that other machines may know.
pub(super) fn full_host_name(text: &str) -> Option<String> {
    let name = text.trim().trim_end_matches('.');
    // What DNS takes but mail does not.
    let full = DnsName::try_from(name).is_ok() && name.contains('.') && !name.contains('_');
    // Names that distributions give to machines without one.
    let placeholder = name.ends_with(".localdomain") || name.ends_with(".local");
    (full && !placeholder).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ehlo_names_the_machine_or_its_address() {
        let table = [
            ("mon.example.com\n", Some("mon.example.com")),
            ("mon.example.com.", Some("mon.example.com")),
            ("mon\n", None),
            ("", None),
            ("localhost.localdomain", None),
            ("printer.local", None),
            ("10.0.0.1", None),
            ("a..b", None),
            ("-a.example.com", None),
            ("a_b.example.com", None),
            ("a.example.com\r\nMAIL", None),
        ];
        for (text, want) in table {
            assert_eq!(full_host_name(text).as_deref(), want, "{text:?}");
        }
        let said = |name, local: &str| hello(name, local.parse().ok()).to_string();
        assert_eq!(said(Some("mon.example.com"), "192.0.2.7:40000"), "mon.example.com");
        assert_eq!(said(None, "192.0.2.7:40000"), "[192.0.2.7]");
        assert_eq!(said(None, "[::ffff:192.0.2.7]:40000"), "[192.0.2.7]");
        assert_eq!(said(None, "[2001:db8::7]:40000"), "[IPv6:2001:db8::7]");
        assert_eq!(said(None, ""), "[127.0.0.1]");
    }
}
