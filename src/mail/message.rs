//! A mail as bytes: headers, parts, identity. The same content gives the same bytes: nothing in here is
//! random, and no clock is read.

use std::fmt::Write as _;
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use lettre::Message;
use lettre::message::{Attachment, Body as Encoded, Mailbox, MultiPart, SinglePart, header::ContentType};

use super::body::Body;
use super::context::RenderError;
use super::html;
use crate::model::AccountName;

/// A mail as it goes out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rendered {
    /// Without angle brackets.
    pub message_id: String,
    pub subject: String,
    /// Envelope sender, a bare address.
    pub sender: String,
    /// Bare addresses, each once.
    pub recipients: Vec<String>,
    /// ASCII, lines ended by CR LF.
    pub raw: Vec<u8>,
}

/// Lines of a header are not to pass 998 characters (RFC 5322, 2.1.1).
const LONGEST_VALUE: usize = 900;
/// Mail programs use only the last few.
const MOST_REFERENCES: usize = 5;
/// Pairs of headers: some servers refuse a head of more than 32 KiB for good.
const MOST_PAIRS: usize = 50;
/// What they may come to, and the list of recipients.
const MOST_PAIR_BYTES: usize = 16 << 10;
const MOST_TO: usize = 50;
const MOST_TO_BYTES: usize = 4 << 10;
const LONGEST_NAME: usize = 200;
const LONGEST_LIST_ID: usize = 120;

/// All that goes into a mail.
pub(super) struct Draft<'a> {
    pub from: &'a Mailbox,
    pub to: &'a [String],
    pub now: DateTime<Utc>,
    pub id: MailIdentity,
    pub accounts: &'a [AccountName],
    pub subject: String,
    pub body: &'a Body,
    /// Incident and event, worst first.
    pub pairs: Vec<(String, String)>,
    /// Message-IDs without brackets; the first is the one replied to.
    pub references: Vec<String>,
    /// The cut-offs that it is about, for calendars.
    pub calendar: Option<String>,
}

/// Unique to a mail; Message-ID, boundaries and Content-ID are made from it.
#[derive(Clone, Debug)]
pub(super) struct MailIdentity {
    hash: String,
    domain: String,
}

impl MailIdentity {
    /// From the time, the recipients and the events of a mail.
    pub(super) fn new<'a>(
        from: &Mailbox,
        to: &'a [String],
        now: DateTime<Utc>,
        events: impl Iterator<Item = &'a str>,
    ) -> Self {
        let mut hash = Fnv::default();
        hash.part(&now.timestamp_micros().to_le_bytes());
        for text in to.iter().map(String::as_str).chain(["\0"]).chain(events) {
            hash.part(text.as_bytes());
        }
        Self { hash: format!("{:032x}", hash.0), domain: ascii_domain(from.email.domain()) }
    }

    /// Without angle brackets.
    pub(super) fn message_id(&self) -> String {
        format!("{}@{}", self.hash, self.domain)
    }

    fn content_id(&self) -> String {
        format!("chart.{}@{}", self.hash, self.domain)
    }

    /// `=_` occurs in no quoted-printable and no base64 text, and nobody knows the hash beforehand.
    fn boundary(&self, part: &str) -> String {
        format!("=_{part}_{}", self.hash)
    }
}

/// Puts the bytes together.
pub(super) fn build(draft: Draft<'_>) -> Result<Rendered, RenderError> {
    let mut recipients: Vec<String> = Vec::new();
    let mut message = Message::builder().from(draft.from.clone());
    let mut room = MOST_TO_BYTES;
    for text in draft.to {
        let mut mailbox: Mailbox =
            text.parse().map_err(|source| RenderError::Recipient { text: text.clone(), source })?;
        let address = mailbox.email.to_string();
        if recipients.contains(&address) {
            continue;
        }
        mailbox.name = mailbox.name.filter(|name| name.len() <= LONGEST_NAME);
        // Encoded, a name is up to four times as long. Whoever has no room gets the mail all the same.
        let bytes = 4 * mailbox.name.as_deref().map_or(0, str::len) + address.len() + ", <>\r\n ".len();
        if recipients.is_empty() || (recipients.len() < MOST_TO && bytes <= room) {
            room = room.saturating_sub(bytes);
            message = message.to(mailbox);
        }
        recipients.push(address);
    }
    let message_id = draft.id.message_id();
    let message = message
        .subject(draft.subject.as_str())
        .date(SystemTime::from(draft.now))
        .message_id(Some(format!("<{message_id}>")))
        .multipart(parts(&draft)?)
        .map_err(RenderError::Message)?;
    let mut raw = own_headers(&draft)?.into_bytes();
    raw.extend_from_slice(&message.formatted());
    Ok(Rendered { message_id, subject: draft.subject, sender: draft.from.email.to_string(), recipients, raw })
}

/// All that can be read; beside it the dates for calendars and, where there are more incidents than the head has room
/// for, all of them.
fn parts(draft: &Draft<'_>) -> Result<MultiPart, RenderError> {
    let read = alternative(draft)?;
    let file = |name: &str, media_type: &str, text: String| {
        let media_type: ContentType = media_type.parse().expect("a fixed media type");
        Attachment::new(name.to_owned()).body(text, media_type)
    };
    let calendar = draft.calendar.clone().map(|text| {
        file("cut-off.ics", "text/calendar; charset=utf-8; method=PUBLISH; name=cut-off.ics", text)
    });
    let more = draft.pairs.len() > in_head(&draft.pairs);
    let json = "application/json; name=incidents.json";
    let all = more.then(|| file("incidents.json", json, incidents(&draft.pairs)));
    let files: Vec<SinglePart> = calendar.into_iter().chain(all).collect();
    if files.is_empty() {
        return Ok(read);
    }
    let mixed = MultiPart::mixed().boundary(draft.id.boundary("mix")).multipart(read);
    Ok(files.into_iter().fold(mixed, MultiPart::singlepart))
}

/// As JSON, a line each.
fn incidents(pairs: &[(String, String)]) -> String {
    let lines: Vec<String> = pairs
        .iter()
        .map(|(incident, event)| serde_json::json!({ "incident": incident, "event": event }).to_string())
        .collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

fn alternative(draft: &Draft<'_>) -> Result<MultiPart, RenderError> {
    let id = &draft.id;
    let content_id = id.content_id();
    let page = html::render(draft.body, &draft.subject, &content_id)?;
    let alternative = MultiPart::alternative()
        .boundary(id.boundary("alt"))
        .singlepart(SinglePart::plain(draft.body.text()));
    let page = SinglePart::html(page);
    Ok(match draft.body.figure() {
        Some(figure) => {
            let png: ContentType = "image/png".parse().expect("a fixed media type");
            let chart = Attachment::new_inline(content_id).body(Encoded::new(figure.png.clone()), png);
            let related = MultiPart::related().boundary(id.boundary("rel"));
            alternative.multipart(related.singlepart(page).singlepart(chart))
        }
        None => alternative.singlepart(page),
    })
}

/// The headers that lettre cannot repeat or does not know, each line ASCII and short enough.
fn own_headers(draft: &Draft<'_>) -> Result<String, RenderError> {
    let mut out = String::new();
    for (incident, event) in draft.pairs.iter().take(in_head(&draft.pairs)) {
        for value in [incident, event] {
            if !is_header_safe(value) {
                return Err(RenderError::Header(value.clone()));
            }
        }
        let _ = write!(out, "X-Hostwatch-Incident: {incident}\r\nX-Hostwatch-Event: {event}\r\n");
    }
    out.push_str("Auto-Submitted: auto-generated\r\nX-Auto-Response-Suppress: All\r\n");
    let _ = write!(out, "List-Id: <{}>\r\n", list_id(draft.accounts, &draft.id.domain));
    let references: Vec<&String> = draft.references.iter().filter(|id| is_header_safe(id)).collect();
    if let Some(first) = references.first() {
        let _ = write!(out, "In-Reply-To: <{first}>\r\n");
        let all: Vec<String> =
            references.iter().take(MOST_REFERENCES).rev().map(|id| format!("<{id}>")).collect();
        let _ = write!(out, "References: {}\r\n", all.join("\r\n "));
    }
    Ok(out)
}

/// For how many of them the head has room.
fn in_head(pairs: &[(String, String)]) -> usize {
    let mut room = MOST_PAIR_BYTES;
    let fits = pairs.iter().take(MOST_PAIRS).take_while(|(incident, event)| {
        let bytes = "X-Hostwatch-Incident: \r\nX-Hostwatch-Event: \r\n".len() + incident.len() + event.len();
        let fits = bytes <= room;
        room = room.saturating_sub(bytes);
        fits
    });
    fits.count()
}

fn is_header_safe(value: &str) -> bool {
    !value.is_empty() && value.len() <= LONGEST_VALUE && value.bytes().all(|byte| byte.is_ascii_graphic())
}

/// `main.hostwatch.example.com`: what filters sort by, the same for as long as the accounts are.
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

/// The domain of the sender in ASCII.
fn ascii_domain(domain: &str) -> String {
    match url::Host::parse(domain) {
        Ok(host) => host.to_string(),
        Err(_) if domain.bytes().all(|byte| byte.is_ascii_graphic()) => domain.to_owned(),
        Err(_) => "hostwatch.invalid".to_owned(),
    }
}

/// Of these texts, in this order: 32 digits.
pub(super) fn hash_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Fnv::default();
    for text in texts {
        hash.part(text.as_bytes());
    }
    format!("{:032x}", hash.0)
}

/// FNV-1a of 128 bits: for different mails, different; no secret depends on it.
struct Fnv(u128);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv {
    /// Takes in one part; its length too, so that parts cannot run together.
    fn part(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        for &byte in length.iter().chain(bytes) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        let mut hash = Fnv::default();
        // Of nothing but a length of zero: eight zero bytes.
        hash.part(b"");
        let mut want = Fnv::default().0;
        for _ in 0..8 {
            want = want.wrapping_mul(309_485_009_821_345_068_724_781_371);
        }
        assert_eq!(hash.0, want);
    }

    #[test]
    fn identities_differ_by_what_is_told_to_whom_and_when() {
        let from: Mailbox = "hostwatch <hw@пример.рф>".parse().unwrap();
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let id = |to: &[&str], now, events: &[&str]| {
            let to: Vec<String> = to.iter().map(|&text| text.to_owned()).collect();
            MailIdentity::new(&from, &to, now, events.iter().copied()).message_id()
        };
        let base = id(&["a@b"], now, &["main/vm_error/1#1#opened"]);
        assert_eq!(base, id(&["a@b"], now, &["main/vm_error/1#1#opened"]));
        assert!(base.ends_with("@xn--e1afmkfd.xn--p1ai"), "{base}");
        for other in [
            id(&["c@b"], now, &["main/vm_error/1#1#opened"]),
            id(&["a@b"], now + chrono::Duration::microseconds(1), &["main/vm_error/1#1#opened"]),
            id(&["a@b"], now, &["main/vm_error/1#2#opened"]),
            id(&["a@b"], now, &["main/vm_error/1#1#", "opened"]),
        ] {
            assert_ne!(base, other);
        }
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
