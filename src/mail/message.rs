//! A mail as bytes: headers, parts, identity. The same contents under the same id give the same bytes, since
//! this module reads no clock.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::BuildHasher as _;
use std::time::SystemTime;

use lettre::address::Envelope;
use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Body as Encoded, MultiPart, SinglePart};
use lettre::{Address, Message};
use serde_json::{Value, json};

use super::body::Body;
use super::context::{Context, RenderError};
use super::html;
use super::parts::unique;
use crate::model::AccountName;
pub(crate) use crate::model::mails::Rendered;

/// Header lines may have at most 998 characters (RFC 5322, 2.1.1).
const LONGEST_VALUE: usize = 900;
const MOST_REFERENCES: usize = 10;
/// The number of header pairs: some servers refuse a head of more than 32 KiB for good.
const MOST_PAIRS: usize = 50;
const LONGEST_LIST_ID: usize = 120;
/// The beginning of a line by which mailboxes in one file tell mails apart.
const FROM: &str = "From ";
/// The picture's file name.
const CHART: &str = "balance.png";

/// The parts of a mail.
pub(super) struct Draft<'a> {
    pub id: &'a str,
    pub to: &'a str,
    pub context: &'a Context<'a>,
    pub accounts: &'a [AccountName],
    pub subject: String,
    pub body: &'a Body,
    /// Incident and event of each item, the worst first.
    pub pairs: Vec<(String, String)>,
    /// Message-IDs; the first is the one that the mail replies to.
    pub references: Vec<String>,
    /// The calendar files of its cut-offs, each with its name.
    pub calendar: Vec<(String, String)>,
}

/// A new, unique Message-ID without angle brackets; `domain` is that of the sender.
pub(crate) fn new_id(domain: &str) -> String {
    let keys = RandomState::new();
    format!("{:016x}{:016x}@{}", keys.hash_one(0), keys.hash_one(1), ascii_domain(domain))
}

impl Draft<'_> {
    fn content_id(&self) -> String {
        // Relays that name the picture by this would make a program of `.com`.
        format!("chart.{}@hostwatch", hash_of([self.id]))
    }

    /// A boundary between parts. `=_` occurs in neither quoted-printable nor base64 text, and nobody knows the
    /// id beforehand.
    fn boundary(&self, part: &str) -> String {
        format!("=_{part}_{}", hash_of([self.id]))
    }

    fn domain(&self) -> String {
        ascii_domain(self.context.from.email.domain())
    }
}

/// Puts the bytes together.
pub(super) fn build(draft: Draft<'_>) -> Result<Rendered, RenderError> {
    if !is_header_safe(draft.id) {
        return Err(RenderError::Header(draft.id.to_owned()));
    }
    let from = draft.context.from;
    let to: Address =
        draft.to.parse().map_err(|source| RenderError::Recipient { text: draft.to.to_owned(), source })?;
    // Some filters count a bare address in `To` against a mail.
    let (name, in_brackets) = (HeaderName::new_from_ascii_str("To"), format!("<{to}>"));
    let message = Message::builder()
        .from(from.clone())
        .envelope(Envelope::new(None, vec![to]).map_err(RenderError::Message)?)
        .raw_header(HeaderValue::dangerous_new_pre_encoded(name, in_brackets.clone(), in_brackets))
        .subject(draft.subject.as_str())
        .date(SystemTime::from(draft.context.now))
        .message_id(Some(format!("<{}>", draft.id)))
        .multipart(parts(&draft)?)
        .map_err(RenderError::Message)?;
    let mut raw = own_headers(&draft)?.into_bytes();
    raw.extend_from_slice(&message.formatted());
    Ok(Rendered {
        message_id: draft.id.to_owned(),
        sender: from.email.to_string(),
        subject: draft.subject,
        raw,
    })
}

/// The readable parts, the calendar files, and a list of all incidents if the head has no room for them.
fn parts(draft: &Draft<'_>) -> Result<MultiPart, RenderError> {
    let read = alternative(draft)?;
    let file = |name: &str, media_type: &str, text: String| {
        let media_type: ContentType = media_type.parse().expect("a fixed media type");
        Attachment::new(name.to_owned()).body(text, media_type)
    };
    let dates = draft.calendar.iter().filter(|_| !draft.context.is_light).map(|(name, text)| {
        let method = if text.contains("\r\nMETHOD:CANCEL\r\n") { "CANCEL" } else { "PUBLISH" };
        let media_type = format!("text/calendar; charset=utf-8; method={method}; name={name}");
        file(name, &media_type, text.clone())
    });
    let more = draft.pairs.len() > MOST_PAIRS;
    let json = "application/json; name=incidents.json";
    let all = more.then(|| file("incidents.json", json, incidents(&draft.pairs)));
    let files: Vec<SinglePart> = dates.chain(all).collect();
    if files.is_empty() {
        return Ok(read);
    }
    let mixed = MultiPart::mixed().boundary(draft.boundary("mix")).multipart(read);
    Ok(files.into_iter().fold(mixed, MultiPart::singlepart))
}

/// The pairs as JSON, in short lines.
fn incidents(pairs: &[(String, String)]) -> String {
    let pairs = pairs.iter().map(|(incident, event)| json!({ "incident": incident, "event": event }));
    format!("{:#}\n", pairs.collect::<Value>())
}

fn alternative(draft: &Draft<'_>) -> Result<MultiPart, RenderError> {
    let plain = SinglePart::plain(encoded(draft.body.text()));
    let alternative = MultiPart::alternative().boundary(draft.boundary("alt")).singlepart(plain);
    if draft.context.is_light {
        return Ok(alternative);
    }
    let content_id = draft.content_id();
    let page = html::render(draft.body, &draft.subject, &content_id)?;
    let page = SinglePart::html(encoded(page));
    Ok(match draft.body.figure() {
        Some(figure) => {
            let png: ContentType = "image/png".parse().expect("a fixed media type");
            let chart = Attachment::new_inline_with_name(content_id, CHART.to_owned())
                .body(Encoded::new(figure.png.clone()), png);
            let related = MultiPart::related().boundary(draft.boundary("rel"));
            alternative.multipart(related.singlepart(page).singlepart(chart))
        }
        None => alternative.singlepart(page),
    })
}

/// A readable part without a line that begins with "From ": some relays and mail programs would write ">From ".
fn encoded(text: String) -> Encoded {
    /// The length of a line in quoted-printable (RFC 2045, 6.7).
    const LONGEST: usize = 76;
    let best = Encoded::new(text.clone());
    let lines = String::from_utf8_lossy(best.as_ref());
    if !lines.lines().any(|line| line.starts_with(FROM)) {
        return best;
    }
    let quoted = ContentTransferEncoding::QuotedPrintable;
    let whole = Encoded::new_with_encoding(text, quoted).map_or_else(|text| text, Encoded::into_vec);
    let escape = |line: &str| match line.strip_prefix(FROM) {
        None => line.to_owned(),
        Some(rest) if line.trim_end().len() + 2 > LONGEST => format!("=46=\r\nrom {rest}"),
        Some(rest) => format!("=46rom {rest}"),
    };
    let lines: String = String::from_utf8_lossy(&whole).split_inclusive("\r\n").map(escape).collect();
    Encoded::dangerous_pre_encoded(lines.into_bytes(), quoted)
}

/// The headers that lettre does not know or cannot repeat. Each line is ASCII and short enough.
fn own_headers(draft: &Draft<'_>) -> Result<String, RenderError> {
    let mut out = String::new();
    for (incident, event) in draft.pairs.iter().take(MOST_PAIRS) {
        for value in [incident, event] {
            if !is_header_safe(value) {
                return Err(RenderError::Header(value.clone()));
            }
        }
        let _ = write!(out, "X-Hostwatch-Incident: {incident}\r\nX-Hostwatch-Event: {event}\r\n");
    }
    out.push_str("Auto-Submitted: auto-generated\r\nX-Auto-Response-Suppress: All\r\n");
    let _ = write!(out, "List-Id: <{}>\r\n", list_id(draft.accounts, &draft.domain()));
    let references = unique(draft.references.iter().filter(|id| is_header_safe(id)));
    let references: Vec<&String> = references.take(MOST_REFERENCES).collect();
    if let Some(first) = references.first() {
        let _ = write!(out, "In-Reply-To: <{first}>\r\n");
        // Mail programs put the mail below the last one of these.
        let all: Vec<String> = references.iter().rev().map(|id| format!("<{id}>")).collect();
        let _ = write!(out, "References: {}\r\n", all.join("\r\n "));
    }
    Ok(out)
}

fn is_header_safe(value: &str) -> bool {
    !value.is_empty() && value.len() <= LONGEST_VALUE && value.bytes().all(|byte| byte.is_ascii_graphic())
}

/// `main.hostwatch.example.com`: the name that mail filters sort by. It stays the same as long as the accounts
/// do.
fn list_id(accounts: &[AccountName], domain: &str) -> String {
    let domain = domain.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let mut names: Vec<&str> = accounts.iter().map(AccountName::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let joined = names.join(".");
    match joined.len() {
        0 => format!("hostwatch.{domain}"),
        1..=LONGEST_LIST_ID => format!("{joined}.hostwatch.{domain}"),
        _ => format!("{}-accounts.hostwatch.{domain}", names.len()),
    }
}

/// The sender's domain in ASCII.
fn ascii_domain(domain: &str) -> String {
    match url::Host::parse(domain) {
        Ok(host) => host.to_string(),
        Err(_) if domain.bytes().all(|byte| byte.is_ascii_graphic()) => domain.to_owned(),
        Err(_) => "hostwatch.invalid".to_owned(),
    }
}

/// The hash of these texts in this order: 32 digits of FNV-1a of 128 bits. Different mails get different values; no
/// secret depends on it. Each text is hashed with its length, so that neighbours cannot run together.
pub(super) fn hash_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let octets =
        texts.into_iter().flat_map(|text| (text.len() as u64).to_le_bytes().into_iter().chain(text.bytes()));
    let hash = octets.fold(FNV_BASIS, |hash, octet| (hash ^ u128::from(octet)).wrapping_mul(FNV_PRIME));
    format!("{hash:032x}")
}

const FNV_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // The hash of an empty part: eight zero bytes for its length.
        let mut want = FNV_BASIS;
        for _ in 0..8 {
            want = want.wrapping_mul(309_485_009_821_345_068_724_781_371);
        }
        assert_eq!(hash_of([""]), format!("{want:032x}"));
    }

    #[test]
    fn ids_are_new_and_of_the_sender() {
        let id = new_id("пример.рф");
        assert!(id.ends_with("@xn--e1afmkfd.xn--p1ai") && is_header_safe(&id), "{id}");
        assert_ne!(id, new_id("пример.рф"));
    }

    #[test]
    fn list_ids_are_stable_and_short() {
        let names = |count: usize| {
            (0..count).map(|n| format!("acc{n:02}").parse().unwrap()).collect::<Vec<AccountName>>()
        };
        let mut two = names(2);
        assert_eq!(list_id(&two, "example.com"), "acc00.acc01.hostwatch.example.com");
        two.reverse();
        assert_eq!(list_id(&two, "example.com"), "acc00.acc01.hostwatch.example.com");
        assert_eq!(list_id(&[], "[127.0.0.1]"), "hostwatch.127.0.0.1");
        assert_eq!(list_id(&names(40), "example.com"), "40-accounts.hostwatch.example.com");
    }
}
