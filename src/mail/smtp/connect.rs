//! Connects to an SMTP server: name look-up, TCP, TLS, EHLO, login. Mails come later.

use std::net::{IpAddr, SocketAddr};

use rustls::pki_types::DnsName;
use tokio::net::{TcpStream, lookup_host};

use super::Transport;
use super::blame::Stage;
use super::chat::{Chat, bound};
use super::error::{End, SendError};
use super::session::{Session, has};
use super::tls::TlsClient;
use crate::mail::Security;

impl Transport {
    /// Connects, greets, encrypts as the settings demand, and logs in.
    pub(super) async fn open(&self) -> Result<Session, SendError> {
        let named = |failure: SendError| match failure.end {
            End::Refused(_) if failure.stage == Stage::Login => failure,
            End::Refused(_) | End::Broken | End::ReplyLost => {
                SendError { stage: Stage::Connection, ..failure }
                    .map(|reason| format!("{}:{}: {reason}", self.server.host, self.server.port))
            }
        };
        let mut session = self.reach().await.map_err(named)?;
        // A server with a login has TLS. The check is repeated here because a password in the open would be
        // costly.
        if let (Some(login), Some(_)) = (&self.server.login, session.tls_version) {
            session.log_in(login).await.map_err(named)?;
        }
        Ok(session)
    }

    /// Connects to the first of the host's addresses that greets and encrypts; the error says how to correct it.
    async fn reach(&self) -> Result<Session, SendError> {
        let name = (self.server.host.as_str(), self.server.port);
        let addresses = bound(self.timing.connect, lookup_host(name)).await.map_err(|why| {
            format!("looking up the name: {why}; check the host in email.smtp_url and this machine's DNS")
        })?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        let mut last = "the name has no address; check the host in email.smtp_url".to_owned().into();
        for &address in &addresses {
            match self.greet(address).await {
                Ok(session) => return Ok(session),
                Err(failure) if addresses.len() > 1 => {
                    last = failure.map(|why| format!("at {}: {why}", address.ip()));
                }
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    /// One address: TCP, TLS, EHLO.
    async fn greet(&self, address: SocketAddr) -> Result<Session, SendError> {
        let tcp = bound(self.timing.connect, TcpStream::connect(address)).await.map_err(|why| {
            format!("connecting to {address}: {why}; check host and port in email.smtp_url, and the firewall")
        })?;
        // The dot follows the mail in a packet of its own and must not wait for an acknowledgement. If the option
        // fails, mails are milliseconds later.
        let _ = tcp.set_nodelay(true);
        let greeting = hello(self.server.helo_name.as_deref(), tcp.local_addr().ok());
        let mut chat = Chat::new(tcp, self.timing.reply);
        let mut tls_version = None;
        if let Some(tls) = self.tls.as_ref().filter(|tls| tls.security == Security::Tls) {
            (chat, tls_version) = self.encrypted(tls, chat).await?;
        }
        self.greeted(&mut chat).await?;
        let mut extensions = ehlo(&mut chat, &greeting, self.tls.is_none()).await?;
        if let Some(tls) = self.tls.as_ref().filter(|tls| tls.security == Security::StartTls) {
            if !has(&extensions, "STARTTLS") {
                return Err(
                    "the server offers no STARTTLS there, and hostwatch sends no mail in the open; write \
                            smtps:// (usually port 465) or correct the port in email.smtp_url"
                        .to_owned()
                        .into(),
                );
            }
            let begun = chat.ask(Stage::Connection, "STARTTLS", b"2").await;
            begun.map_err(|failure| failure.map(|reason| format!("STARTTLS: {reason}")))?;
            (chat, tls_version) = self.encrypted(tls, chat).await?;
            // The server waits for EHLO without another greeting (RFC 3207, section 4.2).
            extensions = ehlo(&mut chat, &greeting, false).await?;
        }
        let timing = self.timing;
        Ok(Session { chat, greeting, extensions, tls_version, mechanism: None, timing, is_used: false })
    }

    /// The conversation over TLS, and its version.
    async fn encrypted(&self, tls: &TlsClient, chat: Chat) -> Result<(Chat, Option<&'static str>), String> {
        let (stream, version) = tls.handshake(chat.into_stream()?, self.timing.reply).await?;
        Ok((Chat::new(stream, self.timing.reply), Some(version)))
    }

    async fn greeted(&self, chat: &mut Chat) -> Result<(), SendError> {
        let greeted = chat.hear(Stage::Connection, "the connection", b"2", self.timing.reply).await;
        greeted.map(drop).map_err(|failure| {
            let is_silent = failure.end == End::Broken;
            if is_silent && self.server.security != Security::Tls && self.server.port == 465 {
                return failure.map(|reason| {
                    format!(
                        "{reason}; port 465 speaks TLS from the first byte: write smtps:// in email.smtp_url"
                    )
                });
            }
            not_ready(failure)
        })
    }
}

/// `may_helo`: neither login nor TLS is needed, so that a server of before EHLO will do. The server's extensions
/// are in capital letters.
async fn ehlo(chat: &mut Chat, hello: &str, may_helo: bool) -> Result<Vec<String>, SendError> {
    let mut greeted = chat.ask(Stage::Connection, &format!("EHLO {hello}"), b"2").await;
    let is_unknown = |failure: &SendError| ["500", "502"].iter().any(|code| failure.reason.starts_with(code));
    if may_helo && greeted.as_ref().is_err_and(is_unknown) {
        greeted = chat.ask(Stage::Connection, &format!("HELO {hello}"), b"2").await;
    }
    let lines = greeted.map_err(not_ready)?.lines;
    Ok(lines.iter().skip(1).map(|line| line.trim().to_ascii_uppercase()).collect())
}

fn not_ready(failure: SendError) -> SendError {
    let is_refusal = failure.is_refusal();
    failure.map(|reason| match is_refusal {
        true => format!("the server is not ready for mail: {reason}"),
        false => {
            format!(
                "{reason}; if this goes on, check that host and port in email.smtp_url are an SMTP server's"
            )
        }
    })
}

/// The name of this machine, or its address in brackets (RFC 5321, section 4.1.4).
fn hello(host_name: Option<&str>, local: Option<SocketAddr>) -> String {
    match (host_name, local.map(|address| address.ip().to_canonical())) {
        (Some(name), _) => name.to_owned(),
        (None, Some(IpAddr::V4(address))) => format!("[{address}]"),
        (None, Some(IpAddr::V6(address))) => format!("[IPv6:{address}]"),
        (None, None) => "[127.0.0.1]".to_owned(),
    }
}

/// This machine's full name: its own, or that of /etc/hosts. `None` if it has none that other machines may know.
pub(super) fn host_name() -> Option<String> {
    machine_names().iter().find_map(|name| full_host_name(name))
}

/// The names of this machine, from the kernel and from `/etc/hosts`. Empty if neither can be read.
pub(crate) fn machine_names() -> Vec<String> {
    let text = |path| std::fs::read_to_string(path).unwrap_or_default();
    names_of(&text("/proc/sys/kernel/hostname"), &text("/etc/hosts"))
}

fn names_of(kernel: &str, hosts: &str) -> Vec<String> {
    let whole = kernel.trim();
    if whole.is_empty() {
        return Vec::new();
    }
    let short = whole.split('.').next().unwrap_or(whole);
    let mut names = vec![whole.to_owned(), short.to_owned()];
    for line in hosts.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let of_line: Vec<&str> = line.split_whitespace().skip(1).collect();
        if of_line.iter().any(|name| [whole, short].iter().any(|own| own.eq_ignore_ascii_case(name))) {
            names.extend(of_line.iter().map(ToString::to_string));
        }
    }
    names
}

/// A name, if it is a full one that other machines may know.
pub(crate) fn full_host_name(text: &str) -> Option<String> {
    let name = text.trim().trim_end_matches('.');
    // DNS allows underscores, mail servers do not.
    let full = DnsName::try_from(name).is_ok() && name.contains('.') && !name.contains('_');
    // Names that distributions give to nameless machines.
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
        let hosts = "127.0.0.1 localhost\n# 192.0.2.1 old.example.com mon\n127.0.1.1 mon mon.example.com\n";
        let full = |name| names_of(name, hosts).iter().find_map(|name| full_host_name(name));
        assert_eq!(full("mon").as_deref(), Some("mon.example.com"));
        assert_eq!(full("localhost"), None);
        let said = |name, local: &str| hello(name, local.parse().ok());
        assert_eq!(said(Some("mon.example.com"), "192.0.2.7:40000"), "mon.example.com");
        assert_eq!(said(None, "192.0.2.7:40000"), "[192.0.2.7]");
        assert_eq!(said(None, "[::ffff:192.0.2.7]:40000"), "[192.0.2.7]");
        assert_eq!(said(None, "[2001:db8::7]:40000"), "[IPv6:2001:db8::7]");
        assert_eq!(said(None, ""), "[127.0.0.1]");
    }

    #[test]
    fn the_full_name_stands_beside_the_short_one() {
        let hosts = "127.0.0.1 localhost\n127.0.1.1\tBox.example.org box # not nearby\n192.0.2.1 nearby\n";
        assert_eq!(names_of("box\n", hosts), ["box", "box", "Box.example.org", "box"]);
        assert_eq!(names_of("box.example.org", ""), ["box.example.org", "box"]);
        assert!(names_of("", hosts).is_empty());
    }
}
