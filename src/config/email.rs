//! `[email]`: the mail server, TLS, login and sender. Messages never quote the URL, since it may hold a
//! password by mistake.

use std::net::IpAddr;

use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use url::Url;

use super::secrets::Secret;
use super::values;
use super::via;
use super::view::View;
use crate::mail::smtp::full_host_name;
use crate::mail::{Login, MailServer, MailSettings, Security};

const URL_KEY: &str = "email.smtp_url";

/// Reads the table. `None` if it is unusable, which is reported already.
pub(super) fn read(view: &View<'_>) -> Option<MailSettings> {
    let password = view.secret("email.password", "smtp.password");
    let server = server(view, password);
    let from = required(view, "email.from", "\"hostwatch <hostwatch@example.com>\"");
    let from: Option<Mailbox> = from.and_then(|()| view.parsed("email.from", values::mailbox));
    Some(MailSettings { server: server?, from: from? })
}

fn required(view: &View<'_>, key: &str, example: &str) -> Option<()> {
    if !view.is_set(key) {
        view.error(key, format!("missing; set it, such as {example}"));
        return None;
    }
    Some(())
}

fn server(view: &View<'_>, password: Secret) -> Option<MailServer> {
    let authorities = via::authorities(view, "email.ca_file");
    let helo_name = view.parsed("email.helo_name", helo_name);
    required(view, URL_KEY, "\"smtps://user@smtp.example.com:465\"")?;
    let SmtpAddress { host, port, security, username } = view.parsed(URL_KEY, endpoint)?;
    match (&username, &password) {
        (Some(_), Secret::Absent) => {
            let message = "missing beside the user in email.smtp_url; set it, email.password_file, \
                           or the systemd credential smtp.password";
            view.error("email.password", message);
        }
        (None, Secret::Given(_) | Secret::Broken) => {
            let message = "names no user for email.password; write smtps://user@host, or remove the password";
            view.error(URL_KEY, message);
        }
        (None, Secret::Absent) | (Some(_), Secret::Given(_) | Secret::Broken) => {}
    }
    let login = username.zip(password.given()).map(|(username, password)| Login { username, password });
    Some(MailServer { host, port, security, login, authorities, helo_name })
}

/// A full host name, or an address in brackets.
fn helo_name(text: &str) -> Result<String, String> {
    let literal = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = literal.map(|inner| inner.strip_prefix("IPv6:").unwrap_or(inner));
    let is_address = address.is_some_and(|inner| inner.parse::<IpAddr>().is_ok());
    if is_address {
        return Ok(text.to_owned());
    }
    full_host_name(text).ok_or_else(|| {
        format!("'{text}' is no full host name; such as \"monitor.example.com\", or an address in brackets")
    })
}

#[derive(PartialEq, Eq, Debug)]
struct SmtpAddress {
    host: String,
    port: u16,
    security: Security,
    username: Option<String>,
}

/// `smtps://` or `smtp://`, host, port, user. Connections without TLS are allowed to loopback only, and without
/// a user, so that no password is sent in the open.
fn endpoint(text: &str) -> Result<SmtpAddress, String> {
    let example = "such as \"smtps://user@smtp.example.com:465\"";
    let url =
        Url::parse(text).map_err(|error| format!("{}; {example}", values::no_url(error, "smtps://")))?;
    let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or_default();
    if !matches!(url.scheme(), "smtps" | "smtp") || host.is_empty() {
        return Err(format!("must be smtps://HOST, or smtp://HOST for STARTTLS; {example}"));
    }
    if url.password().is_some() {
        return Err("must not hold a password; put it into a file that email.password_file names".to_owned());
    }
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(format!("must end after the port; {example}"));
    }
    let username = Some(url.username()).filter(|name| !name.is_empty());
    let username = username.map(percent_decode).transpose()?;
    let loopback = values::loopback_name(host);
    let (security, default_port) = match (url.scheme(), loopback) {
        ("smtps", _) => (Security::Tls, 465),
        (_, true) if username.is_none() => (Security::Plain, 25),
        (_, true) => (Security::StartTls, 25),
        (_, false) => (Security::StartTls, 587),
    };
    let port = url.port().unwrap_or(default_port);
    if port == 0 {
        return Err(format!("must not have port 0; {example}"));
    }
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok(SmtpAddress { host, port, security, username })
}

/// Decodes strictly: a `%` that starts no escape is a typing error, and would give a wrong user.
fn percent_decode(text: &str) -> Result<String, String> {
    let wrong = "has a user that is not percent-encoded text; write '%40' for '@', '%25' for '%'";
    let escape =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit));
    let decoded = percent_decode_str(text).decode_utf8().ok().filter(|_| text.split('%').skip(1).all(escape));
    values::one_line(&decoded.ok_or(wrong)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_say_host_port_protection_and_user() {
        let end = |host: &str, port, security, username: Option<&str>| SmtpAddress {
            host: host.to_owned(),
            port,
            security,
            username: username.map(str::to_owned),
        };
        let table = [
            ("smtps://u@mail.example.com:2465", end("mail.example.com", 2465, Security::Tls, Some("u"))),
            ("smtps://mail.example.com", end("mail.example.com", 465, Security::Tls, None)),
            ("smtps://127.0.0.1", end("127.0.0.1", 465, Security::Tls, None)),
            ("smtp://u%40example.com@h/", end("h", 587, Security::StartTls, Some("u@example.com"))),
            ("smtp://127.0.0.1:2525", end("127.0.0.1", 2525, Security::Plain, None)),
            ("smtp://localhost", end("localhost", 25, Security::Plain, None)),
            ("smtp://[::1]:2525", end("::1", 2525, Security::Plain, None)),
            // A password is never sent over an open connection, not even to loopback.
            ("smtp://u@127.0.0.1:2525", end("127.0.0.1", 2525, Security::StartTls, Some("u"))),
            ("smtp://10.0.0.1", end("10.0.0.1", 587, Security::StartTls, None)),
            ("smtp://localhost.example.com", end("localhost.example.com", 587, Security::StartTls, None)),
        ];
        for (text, want) in table {
            assert_eq!(endpoint(text), Ok(want), "{text}");
        }
    }
}
