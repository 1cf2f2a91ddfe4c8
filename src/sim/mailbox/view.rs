//! Pages of the mail catcher from raw mails. Text of a mail is escaped, or shown in a sandbox.

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

fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{}</title><style>body{{font:16px/1.5 system-ui,sans-serif;\
         margin:2em auto;max-width:60em;padding:0 1em}}table{{border-collapse:collapse}}td,th{{text-align:left;\
         vertical-align:top;padding:.2em 1em .2em 0}}pre{{white-space:pre-wrap;overflow-wrap:anywhere}}\
         iframe{{width:100%;height:36em;border:1px solid #999}}</style></head><body>{body}</body></html>",
        escaped(title)
    )
}

/// All mails, the newest last.
pub(super) fn index(mails: &[Caught]) -> String {
    let mut body = format!("<h1>Mails caught: {}</h1><p>Nothing here was delivered.</p><table>", mails.len());
    body.push_str("<tr><th>No.</th><th>Subject</th><th>To</th></tr>");
    for mail in mails {
        let _ = write!(
            body,
            "<tr><td>{0}</td><td><a href=\"/mail/{0}\">{1}</a></td><td>{2}</td></tr>",
            mail.number,
            escaped(&mail.subject),
            escaped(&mail.to.join(", "))
        );
    }
    body.push_str("</table>");
    page("Mail caught", &body)
}

/// One mail: headers, text, HTML in a frame of its own.
pub(super) fn mail(mail: &Caught) -> String {
    let n = mail.number;
    let mut body = format!(
        "<p><a href=\"/\">all mails</a> · <a href=\"/mail/{n}/raw\">raw</a></p><h1>{}</h1><table>",
        escaped(&mail.subject)
    );
    let mut row = |name: &str, value: &str| {
        let _ = write!(body, "<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(value.trim()));
    };
    row("envelope from", &mail.from);
    row("envelope to", &mail.to.join(", "));
    let parsed = MessageParser::default().parse(&mail.raw[..]);
    if let Some(message) = &parsed {
        for (name, value) in message.headers_raw() {
            row(name, value);
        }
    }
    body.push_str("</table>");
    if let Some(message) = &parsed {
        if let Some(text) = message.body_text(0) {
            let _ = write!(body, "<h2>Text</h2><pre>{}</pre>", escaped(&text));
        }
        if html_of(message).is_some() {
            let _ = write!(
                body,
                "<h2>HTML</h2><iframe sandbox src=\"/mail/{n}/html\" title=\"the mail's HTML\"></iframe>"
            );
        }
    }
    page(&mail.subject, &body)
}

/// The mail's own HTML, and not a version made from its text.
fn html_of<'m>(message: &'m Message<'_>) -> Option<&'m str> {
    let html =
        |part: &'m MessagePart<'_>| if let PartType::Html(html) = &part.body { Some(&**html) } else { None };
    message.html_bodies().find_map(html)
}

/// A mail's HTML, with its pictures inside.
pub(super) fn html(mail: &Caught) -> Option<String> {
    let message = MessageParser::default().parse(&mail.raw[..])?;
    let mut html = html_of(&message)?.to_owned();
    for part in &message.parts {
        if let Some(id) = part.content_id().filter(|id| !id.is_empty()) {
            let picture = format!("data:image/png;base64,{}", BASE64.encode(part.contents()));
            html = html.replace(&format!("cid:{}", id.trim_matches(['<', '>'])), &picture);
        }
    }
    Some(html)
}
