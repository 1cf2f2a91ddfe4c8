//! Converts texts of the configuration to values: addresses, zones, units, mailboxes. Pure. Each
//! error names the allowed values. Addresses are never quoted, since they can hold a password.

use std::net::IpAddr;

use chrono_tz::{TZ_VARIANTS, Tz};
use lettre::Address;
use lettre::message::Mailbox;
use url::Url;

use crate::model::Language;
use crate::model::nearest::nearest;

/// The language of mails, chat messages and the page.
pub(super) fn language(text: &str) -> Result<Language, String> {
    text.parse().map_err(|_| format!("'{text}' is no language that hostwatch writes; use \"en\" or \"ru\""))
}

/// An endpoint's address: http or https, without user, query or fragment; see `unseen`.
pub(super) fn endpoint(text: &str, what: &str, allow_http: Option<bool>) -> Result<Url, String> {
    let url = web_address(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must end before '?' and '#'; give the address alone".to_owned());
    }
    unseen(url, what, allow_http)
}

/// An address to which `what` is sent. http is allowed to loopback only, or with `allow_http`; `None` where that
/// key does not count.
pub(super) fn unseen(url: Url, what: &str, allow_http: Option<bool>) -> Result<Url, String> {
    let is_plain = url.scheme() == "http" && !url.host_str().is_some_and(loopback_name);
    if !is_plain || allow_http == Some(true) {
        return Ok(url);
    }
    let or = if allow_http.is_some() { ", or set allow_http" } else { "" };
    Err(format!("plain http would show {what} to the network; use https://{or}"))
}

/// The reason why a text is no URL; `scheme` is the usual beginning of one.
pub(super) fn no_url(error: url::ParseError, scheme: &str) -> String {
    if error == url::ParseError::RelativeUrlWithoutBase {
        return format!("has no {scheme} in front");
    }
    format!("is no URL ({error})")
}

/// An http or https address without a user.
pub(super) fn web_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)
        .map_err(|error| format!("{}; such as \"https://panel.example.com\"", no_url(error, "https://")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("must start with https:// or http://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not name a user or password; they have keys of their own".to_owned());
    }
    Ok(url)
}

/// An address with `{kind}` and `{id}` behind its host, in place of those of a resource.
pub(super) fn panel_link(text: &str) -> Result<String, String> {
    let filled = |kind: &str, id: &str| web_address(&text.replace("{kind}", kind).replace("{id}", id));
    let (one, other) = (filled("vm", "1")?, filled("site", "2")?);
    if one.origin() != other.origin() {
        return Err("must have {kind} and {id} behind the host".to_owned());
    }
    if text.replace("{kind}", "").replace("{id}", "").contains(['{', '}']) {
        return Err("knows no other names in braces than {kind} and {id}".to_owned());
    }
    one_line(text)
}

/// Whether a host is `localhost` or a loopback address, in brackets or not.
pub(super) fn loopback_name(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// An IANA time zone.
pub(super) fn time_zone(text: &str) -> Result<Tz, String> {
    text.parse().map_err(|_| {
        let names = TZ_VARIANTS.map(Tz::name);
        // A word that resembles an abbreviation means another abbreviation.
        let like = if text.contains('/') { nearest(text, &names) } else { "Europe/Moscow" };
        format!("'{text}' is not a time zone name; use one like \"{like}\"")
    })
}

/// The bytes in a unit of memory. MB is 1,048,576, as for containers.
pub(super) fn memory_unit(text: &str) -> Result<u64, String> {
    match text {
        "B" => Ok(1),
        "KB" | "KiB" => Ok(1 << 10),
        "MB" | "MiB" => Ok(1 << 20),
        "GB" | "GiB" => Ok(1 << 30),
        _ => Err(format!("no unit '{text}'; allowed are B, KB, KiB, MB, MiB, GB and GiB")),
    }
}

/// `name@host`, or `Name <name@host>`.
pub(super) fn mailbox(text: &str) -> Result<Mailbox, String> {
    let wrong = || format!("'{text}' is no mail address; such as \"Ops <ops@example.com>\"");
    if text.chars().any(char::is_control) {
        return Err(wrong());
    }
    let mailbox: Mailbox = text.parse().map_err(|_| wrong())?;
    // Servers without SMTPUTF8 take a domain in its ASCII form alone.
    let email = match url::Host::parse(mailbox.email.domain()) {
        Ok(host) if !mailbox.email.domain().is_ascii() => {
            Address::new(mailbox.email.user(), host.to_string()).map_err(|_| wrong())?
        }
        _ => mailbox.email,
    };
    Ok(Mailbox::new(mailbox.name, email))
}

/// A text for a header or a page: one line.
pub(super) fn one_line(text: &str) -> Result<String, String> {
    if text.chars().any(char::is_control) {
        return Err("holds a line break or another control character; remove it".to_owned());
    }
    Ok(text.to_owned())
}
