//! The list of caught mails, and the HTML of one. Subjects and addresses are escaped.

use super::Caught;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use mail_parser::{Message, MessageParser, MessagePart, MimeHeaders, PartType};
use std::fmt::Write as _;

/// Text as HTML.
fn escaped(text: &str) -> String {
    let signs = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    signs.into_iter().fold(text.to_owned(), |text, (sign, name)| text.replace(sign, name))
}

/// The subject of a raw mail, decoded, on one line.
pub(super) fn subject(raw: &[u8]) -> String {
    let parsed = MessageParser::default().parse_headers(raw);
    let subject = parsed.as_ref().and_then(Message::subject).unwrap_or("(no subject)");
    subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// All mails, the newest last.
pub(super) fn index(mails: &[Caught]) -> String {
    let mut page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Mail caught</title><style>body{{font:16px/1.5 system-ui,sans-serif;\
         margin:2em auto;max-width:60em;padding:0 1em}}table{{border-collapse:collapse}}td,th{{text-align:left;\
         vertical-align:top;padding:.2em 1em .2em 0}}</style></head><body><h1>Mails caught: {}</h1>\
         <p>Nothing here was delivered.</p><table><tr><th>#</th><th>Subject</th><th>To</th><th></th></tr>",
        mails.len()
    );
    for mail in mails {
        let _ = write!(
            page,
            "<tr><td>{0}</td><td><a href=\"/mail/{0}\">{1}</a></td><td>{2}</td><td><a href=\"/mail/{0}/raw\">raw</a></td></tr>",
            mail.number,
            escaped(&mail.subject),
            escaped(&mail.to.join(", "))
        );
    }
    page.push_str("</table></body></html>");
    page
}

/// A mail's own HTML, and not a version made from its text, with its pictures inside.
pub(super) fn html(mail: &Caught) -> Option<String> {
    let message = MessageParser::default().parse(&mail.raw[..])?;
    let html = |part: &MessagePart<'_>| {
        if let PartType::Html(html) = &part.body { Some(html.to_string()) } else { None }
    };
    let mut html = message.html_bodies().find_map(html)?;
    for part in &message.parts {
        if let Some(id) = part.content_id().filter(|id| !id.is_empty()) {
            let picture = format!("data:image/png;base64,{}", BASE64.encode(part.contents()));
            html = html.replace(&format!("cid:{}", id.trim_matches(['<', '>'])), &picture);
        }
    }
    Some(html)
}
