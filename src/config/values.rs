//! Texts of the configuration turned into values: durations, addresses, zones, units, mailboxes. Pure; each
//! error says what is allowed. Addresses are never quoted: they can hold a password.

use std::net::IpAddr;
use std::time::Duration;

use chrono_tz::{TZ_VARIANTS, Tz};
use lettre::message::Mailbox;
use url::Url;

use crate::model::nearest::nearest;

/// `90s`, `30m`, `6h`, `1d`, also joined: `1d12h`. More than nothing.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    // Only the unambiguous units of humantime: its `M` is a month, and `ms` is of no use here.
    let ours = |text: &&str| {
        !text.contains("ms") && text.chars().all(|c| matches!(c, '0'..='9' | 's' | 'm' | 'h' | 'd'))
    };
    let parsed = Some(text.trim()).filter(ours).and_then(|text| humantime::parse_duration(text).ok());
    match parsed {
        None => Err(format!("'{text}' is no duration; such as \"90s\", \"30m\", \"6h\" or \"1d\"")),
        Some(total) if total.is_zero() || total > Duration::from_secs(3660 * 86_400) => {
            Err(format!("'{text}' is out of range; allowed are 1s to 3660d"))
        }
        Some(total) => Ok(total),
    }
}

/// An endpoint's address: http or https, without user, query or fragment; http only to loopback unless
/// allowed.
pub(super) fn endpoint(text: &str, allow_http: bool) -> Result<Url, String> {
    let url = web_address(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must end before '?' and '#'; give the address alone".to_owned());
    }
    if url.scheme() == "http" && !allow_http && !url.host_str().is_some_and(loopback_name) {
        let message = "plain http would show the credentials to the network; use https://, or set allow_http";
        return Err(message.to_owned());
    }
    Ok(url)
}

/// Why a text is no URL; `scheme` is what mostly stands in front of one.
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

/// An address with `{kind}` and `{id}` behind its host, where those of a resource belong.
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

/// `localhost`, or a loopback address as text, in brackets or not.
pub(super) fn loopback_name(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What people call zones, and the names that say when clocks change there.
const ABBREVIATIONS: [(&str, &str); 37] = [
    ("MSK", "Europe/Moscow"),
    ("MSD", "Europe/Moscow"),
    ("UTC+3", "Europe/Moscow"),
    ("GMT+3", "Europe/Moscow"),
    ("SAMT", "Europe/Samara"),
    ("YEKT", "Asia/Yekaterinburg"),
    ("OMST", "Asia/Omsk"),
    ("NOVT", "Asia/Novosibirsk"),
    ("KRAT", "Asia/Krasnoyarsk"),
    ("IRKT", "Asia/Irkutsk"),
    ("YAKT", "Asia/Yakutsk"),
    ("VLAT", "Asia/Vladivostok"),
    ("MAGT", "Asia/Magadan"),
    ("PETT", "Asia/Kamchatka"),
    ("EST", "America/New_York"),
    ("EDT", "America/New_York"),
    ("EST5EDT", "America/New_York"),
    ("CST", "America/Chicago"),
    ("CDT", "America/Chicago"),
    ("MST", "America/Denver"),
    ("MDT", "America/Denver"),
    ("PST", "America/Los_Angeles"),
    ("PDT", "America/Los_Angeles"),
    ("AKST", "America/Anchorage"),
    ("HST", "Pacific/Honolulu"),
    ("BST", "Europe/London"),
    ("WET", "Europe/Lisbon"),
    ("WEST", "Europe/Lisbon"),
    ("CET", "Europe/Berlin"),
    ("CEST", "Europe/Berlin"),
    ("MET", "Europe/Berlin"),
    ("EET", "Europe/Helsinki"),
    ("EEST", "Europe/Helsinki"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("KST", "Asia/Seoul"),
    ("AEST", "Australia/Sydney"),
];

/// The IANA name that an abbreviation most likely means.
pub(super) fn zone_of_abbreviation(text: &str) -> Option<&'static str> {
    let text = text.trim();
    ABBREVIATIONS.iter().find(|(short, _)| short.eq_ignore_ascii_case(text)).map(|(_, name)| *name)
}

/// An IANA time zone.
pub(super) fn time_zone(text: &str) -> Result<Tz, String> {
    text.parse().map_err(|_| {
        if let Some(name) = zone_of_abbreviation(text) {
            return format!(
                "'{text}' is an abbreviation, of several zones at times; did you mean \"{name}\"?"
            );
        }
        let names = TZ_VARIANTS.map(Tz::name);
        format!("no time zone '{text}'; did you mean \"{}\"?", nearest(text, &names))
    })
}

/// Bytes in a unit of memory; MB is 1,048,576, as for containers.
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
    text.parse().map_err(|_| wrong())
}

/// Text for a header or a page: one line.
pub(super) fn one_line(text: &str) -> Result<String, String> {
    if text.chars().any(char::is_control) {
        return Err("holds a line break or another control character; remove it".to_owned());
    }
    Ok(text.to_owned())
}
