//! Connects to an SMTP server: name look-up, TCP, TLS, EHLO. Login and mails come later.

use std::net::{IpAddr, SocketAddr};

use rustls::pki_types::DnsName;
use tokio::net::{TcpStream, lookup_host};

use super::Timing;
use super::blame::Stage;
use super::chat::Chat;
use super::error::{End, SendError};
use super::tls::TlsClient;
use crate::mail::Security;

/// The server and the protection of the connection.
pub(super) struct Route {
    pub host: String,
    pub port: u16,
    /// `None`: nothing is encrypted.
    pub tls: Option<TlsClient>,
    /// This machine's full name for EHLO; if it has none, its address is used.
    pub host_name: Option<String>,
}

/// A conversation after EHLO, and the version of TLS around it.
pub(super) struct Greeted {
    pub chat: Chat,
    /// The name that this machine greeted with.
    pub greeting: String,
    pub extensions: Extensions,
    pub tls_version: Option<&'static str>,
}

/// The server's extensions, as its reply to EHLO lists them, in capital letters.
#[derive(Debug)]
pub(super) struct Extensions(Vec<String>);

impl Extensions {
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|line| line.split_whitespace().next() == Some(name))
    }

    /// Whether the server offers this way to log in.
    pub(super) fn has_login(&self, mechanism: &str) -> bool {
        self.offered().any(|one| one == mechanism)
    }

    /// The ways to log in, for people.
    pub(super) fn logins(&self) -> String {
        let offered: Vec<&str> = self.offered().collect();
        if offered.is_empty() { "no login".to_owned() } else { format!("AUTH {}", offered.join(" ")) }
    }

    fn offered(&self) -> impl Iterator<Item = &str> {
        // Old servers write AUTH=LOGIN.
        let lines = self.0.iter().filter_map(|line| line.strip_prefix("AUTH")?.strip_prefix([' ', '=']));
        lines.flat_map(str::split_whitespace)
    }
}

/// Connects to the first of the host's addresses that greets and encrypts; the error says how to correct it.
pub(super) async fn connect(route: &Route, limits: &Timing) -> Result<Greeted, SendError> {
    let looked_up = limits.bound(limits.connect, lookup_host((route.host.as_str(), route.port))).await;
    let addresses = looked_up.and_then(|found| found.map_err(|error| error.to_string())).map_err(|why| {
        format!("looking up the name: {why}; check the host in email.smtp_url and this machine's DNS")
    })?;
    let addresses: Vec<SocketAddr> = addresses.collect();
    let mut last = "the name has no address; check the host in email.smtp_url".to_owned().into();
    for &address in &addresses {
        match greet(route, limits, address).await {
            Ok(greeted) => return Ok(greeted),
            Err(failure) if addresses.len() > 1 => {
                last = failure.map(|why| format!("at {}: {why}", address.ip()));
            }
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

/// One address: TCP, TLS, EHLO.
async fn greet(route: &Route, limits: &Timing, address: SocketAddr) -> Result<Greeted, SendError> {
    let tcp = tcp(address, limits).await?;
    let greeting = hello(route.host_name.as_deref(), tcp.local_addr().ok());
    let mut chat = Chat::new(tcp);
    let mut tls_version = None;
    if let Some(tls) = route.tls.as_ref().filter(|tls| tls.security == Security::Tls) {
        (chat, tls_version) = encrypted(tls, chat, limits).await?;
    }
    greeted(&mut chat, route, limits).await?;
    let mut extensions = ehlo(&mut chat, &greeting, route.tls.is_none(), limits).await?;
    if let Some(tls) = route.tls.as_ref().filter(|tls| tls.security == Security::StartTls) {
        if !extensions.has("STARTTLS") {
            return Err(
                "the server offers no STARTTLS there, and hostwatch sends no mail in the open; write \
                        smtps:// (usually port 465) or correct the port in email.smtp_url"
                    .to_owned()
                    .into(),
            );
        }
        let asked = limits.ask(&mut chat, Stage::Connection, "STARTTLS", 2).await;
        asked.map_err(|failure| failure.map(|reason| format!("STARTTLS: {reason}")))?;
        (chat, tls_version) = encrypted(tls, chat, limits).await?;
        // The server waits for EHLO without another greeting (RFC 3207, section 4.2).
        extensions = ehlo(&mut chat, &greeting, false, limits).await?;
    }
    Ok(Greeted { chat, greeting, extensions, tls_version })
}

async fn tcp(address: SocketAddr, limits: &Timing) -> Result<TcpStream, String> {
    let tried = limits.bound(limits.connect, TcpStream::connect(address)).await;
    let stream = tried.and_then(|connected| connected.map_err(|error| error.to_string())).map_err(|why| {
        format!("connecting to {address}: {why}; check host and port in email.smtp_url, and the firewall")
    })?;
    // The dot follows the mail in a packet of its own and must not wait for an acknowledgement. If the option
    // fails, mails are milliseconds later.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// The conversation over TLS, and its version.
async fn encrypted(
    tls: &TlsClient,
    chat: Chat,
    limits: &Timing,
) -> Result<(Chat, Option<&'static str>), String> {
    let stream = chat.into_stream().map_err(|error| format!("STARTTLS: {error}"))?;
    let handshake = limits.bound(limits.reply, tls.handshake(stream));
    let (stream, version) = handshake.await.unwrap_or_else(|late| Err(format!("TLS handshake: {late}")))?;
    Ok((Chat::new(stream), Some(version)))
}

async fn greeted(chat: &mut Chat, route: &Route, limits: &Timing) -> Result<(), SendError> {
    let (stage, what) = (Stage::Connection, "the connection");
    let greeted = limits.answer(stage, what, limits.reply, chat.reply()).await;
    greeted.and_then(|reply| reply.of_kind(stage, what, 2)).map(drop).map_err(|failure| {
        let is_silent = failure.end == End::Broken;
        let waits_for_tls = route.tls.as_ref().is_none_or(|tls| tls.security != Security::Tls);
        if is_silent && waits_for_tls && route.port == 465 {
            return failure.map(|reason| {
                format!("{reason}; port 465 speaks TLS from the first byte: write smtps:// in email.smtp_url")
            });
        }
        not_ready(failure)
    })
}

/// `may_helo`: neither login nor TLS is needed, so that a server of before EHLO will do.
async fn ehlo(
    chat: &mut Chat,
    hello: &str,
    may_helo: bool,
    limits: &Timing,
) -> Result<Extensions, SendError> {
    let mut greeted = limits.ask(chat, Stage::Connection, &format!("EHLO {hello}"), 2).await;
    let is_unknown = |failure: &SendError| ["500", "502"].iter().any(|code| failure.reason.starts_with(code));
    if may_helo && greeted.as_ref().is_err_and(is_unknown) {
        greeted = limits.ask(chat, Stage::Connection, &format!("HELO {hello}"), 2).await;
    }
    if greeted.as_ref().is_err_and(|failure| failure.is_refusal() && !failure.is_farewell()) {
        // The reply to QUIT does not matter.
        let _ = limits.bound(limits.quit, chat.ask("QUIT")).await;
    }
    let greeted = greeted.map_err(not_ready)?;
    Ok(Extensions(greeted.lines.iter().skip(1).map(|line| line.trim().to_ascii_uppercase()).collect()))
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
