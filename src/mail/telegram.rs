//! A notice as a message to a Telegram chat: plain text of at most six lines with the words of its mail, and
//! buttons below a problem. Pure: the same notice and context give the same bytes. The sender knows the chat.

use serde::{Deserialize, Serialize};

use super::body::{Body, Section};
use super::context::{Context, RenderError};
use super::message::Rendered;
use super::parts::MOST_NAMES;
use super::render::{about_mails, content};
use super::subject::Bracket;
use super::{digest, disconnect, parts};
use crate::alert::{Form, Item, Notice, Severity};
use crate::model::{Language, sanitize, say};
use crate::view::{Link, advice, words};

/// Telegram counts UTF-16 units.
const MOST_UNITS: usize = 4096;
const MOST_LINES: usize = 6;
/// A mail about money has a link to pay and one to the page.
const MOST_LINKS: usize = 2;
/// The length of a line that is no link, in units.
const LONGEST_LINE: usize = 400;
/// The length of a list, and of all facts without a line of their own.
const LONGEST_LIST: usize = 1200;

/// The hours for which the second button silences.
pub(crate) const SILENT_HOURS: u32 = 4;

/// The effect of a button.
#[derive(Clone, Copy, PartialEq, Eq, Debug, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Press {
    Seen,
    Silence,
}

/// The arguments of `sendMessage`, without the chat.
#[derive(Serialize, Deserialize)]
struct Message {
    text: String,
    disable_notification: bool,
    link_preview_options: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_markup: Option<Keyboard>,
}

#[derive(Serialize, Deserialize)]
struct Keyboard {
    inline_keyboard: Vec<Vec<Button>>,
}

#[derive(Serialize, Deserialize)]
struct Button {
    text: String,
    callback_data: String,
}

impl Press {
    const ALL: [Self; 2] = [Self::Seen, Self::Silence];

    fn label(self, language: Language) -> String {
        match self {
            Self::Seen => language.pick("Seen", "Вижу, занимаюсь").to_owned(),
            Self::Silence => say!(language, "Silent for {SILENT_HOURS} h", "Тишина на {SILENT_HOURS} ч"),
        }
    }

    /// The data of a button: its effect, and the message's id up to its `@`.
    pub(crate) fn of(data: &str) -> Option<(Self, &str)> {
        let (word, id) = data.split_once(':')?;
        Some((word.parse().ok()?, id))
    }
}

/// Writes a notice for a chat, under the id that the notification log has for it.
pub(crate) fn render_telegram(
    notice: &Notice,
    id: &str,
    buttons: bool,
    context: &Context<'_>,
) -> Result<Rendered, RenderError> {
    let (subject, body) = content(notice, context);
    let lines = facts(notice, &body, context);
    // A critical incident makes a sound, and so does a test.
    let is_loud = matches!(subject.bracket, Bracket::Of(Severity::Critical) | Bracket::Test);
    let message = Message {
        text: text(&subject.line, &body, &lines),
        disable_notification: !is_loud,
        // A preview would fill a phone with the picture of a sign-in page.
        link_preview_options: serde_json::json!({ "is_disabled": true }),
        reply_markup: (buttons && has_problem(notice)).then(|| keyboard(id, context.language)),
    };
    let raw = serde_json::to_vec(&message).map_err(RenderError::Json)?;
    // No column holds the chat, since a group that becomes a supergroup gets another number.
    Ok(Rendered { message_id: id.to_owned(), sender: String::new(), subject: subject.line, raw })
}

/// Whether a message still has a button.
pub(crate) fn offers(raw: &[u8], press: Press) -> bool {
    let message = serde_json::from_slice::<Message>(raw).ok();
    let rows = message.and_then(|message| message.reply_markup).map(|keyboard| keyboard.inline_keyboard);
    let data = |button: &Button| Press::of(&button.callback_data).is_some_and(|(one, _)| one == press);
    rows.into_iter().flatten().flatten().any(|button| data(&button))
}

/// The edit of a message that adds a line and removes some buttons.
pub(crate) fn noted(raw: &[u8], note: &str, without: &[Press]) -> Option<Vec<u8>> {
    let mut message: Message = serde_json::from_slice(raw).ok()?;
    let note = line(note, LONGEST_LINE);
    let mut lines: Vec<&str> = message.text.lines().collect();
    while units(&lines) + note.encode_utf16().count() + 1 > MOST_UNITS {
        lines.pop()?;
    }
    lines.push(&note);
    message.text = lines.join("\n");
    if let Some(keyboard) = &mut message.reply_markup {
        let stays = |button: &Button| {
            Press::of(&button.callback_data).is_some_and(|(press, _)| !without.contains(&press))
        };
        keyboard.inline_keyboard.iter_mut().for_each(|row| row.retain(stays));
        keyboard.inline_keyboard.retain(|row| !row.is_empty());
    }
    message.reply_markup = message.reply_markup.filter(|keyboard| !keyboard.inline_keyboard.is_empty());
    serde_json::to_vec(&message).ok()
}

/// The edit of a message whose problems are all over: it removes all buttons.
pub(crate) fn over(raw: &[u8], note: &str) -> Option<Vec<u8>> {
    noted(raw, note, &Press::ALL)
}

/// The subject, the mail's first line, the facts, and the links.
fn text(subject: &str, body: &Body, facts: &[String]) -> String {
    let mut links: Vec<String> =
        body.links.iter().map(|Link { word, url }| format!("{word}: {url}")).collect();
    if links.len() > MOST_LINKS {
        // The link to pay and the link to the page stay; the panel stands between them.
        links.drain(1..links.len() - 1);
    }
    let mut lines = vec![line(subject, LONGEST_LINE), line(&body.lead, LONGEST_LINE)];
    let room = MOST_LINES - lines.len() - links.len();
    let (alone, together) = facts.split_at((room - 1).min(facts.len()));
    lines.extend(alone.iter().map(|fact| line(fact, LONGEST_LINE)));
    if !together.is_empty() {
        lines.push(line(&together.join(" · "), LONGEST_LIST));
    }
    for link in links {
        lines.push(link);
        // A part of an address is no use.
        if units(&lines) > MOST_UNITS {
            lines.pop();
        }
    }
    lines.join("\n")
}

fn units<T: AsRef<str>>(lines: &[T]) -> usize {
    lines.iter().map(|line| line.as_ref().encode_utf16().count() + 1).sum()
}

/// One line of at most `most` units; a smiley has two. The spaces within an amount stay.
fn line(text: &str, most: usize) -> String {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= most
    };
    let plain = text.chars().map(|c| if sanitize::is_control(c) { ' ' } else { c });
    let mut line: String = plain.take_while(fits).collect();
    if units > most {
        line.push('…');
    }
    line
}

/// The lines beside the first one, the most important first: the amounts to pay, the advice, the resource, and
/// other notes.
fn facts(notice: &Notice, body: &Body, context: &Context<'_>) -> Vec<String> {
    if let Form::Digest(_) = notice.form {
        let sections = body.sections.iter().filter(|section| !section.is_empty()).map(Section::in_a_line);
        return body.notes.iter().cloned().chain(sections).collect();
    }
    let mut facts = match (&notice.form, notice.items.as_slice()) {
        (_, []) => Vec::new(),
        (Form::News, [item]) if item.is_alone() => disconnect::lines(item, context),
        (_, [item]) => about(item, context),
        (_, items) => vec![names(items, context.language)],
    };
    if let Form::Started(_) = notice.form {
        let not_known = parts::not_known(&notice.accounts, context);
        let sections = [not_known, digest::overview(notice, context)];
        facts.extend(sections.iter().filter(|section| !section.is_empty()).map(Section::in_a_line));
    }
    let others = body.notes.iter().cloned().chain(about_mails(&notice.accounts, context));
    let place = facts.len().min(1);
    facts.splice(place..place, others);
    facts
}

/// The advice and the provider's resource.
fn about(item: &Item, context: &Context<'_>) -> Vec<String> {
    let state = context.account(&item.key.account);
    let language = context.language;
    let which = state.and_then(|state| advice::which(&item.key, state, language));
    let which = which.map(|(sort, which)| format!("{sort} {which}"));
    let what_to_do = (!item.event.is_end()).then(|| advice::of(&item.key, state, language).to_owned());
    let causes = words::few(&parts::causes(item, context), MOST_NAMES, language);
    let causes = (!causes.is_empty()).then(|| say!(language, "Causes: {causes}", "Следствия: {causes}"));
    what_to_do.into_iter().chain(causes).chain(which).collect()
}

/// The names of several incidents, the worst first.
fn names(items: &[Item], language: Language) -> String {
    let items = parts::open_first(items).into_iter();
    let names: Vec<String> = items.map(|item| sanitize::one_line(item.name(), 80)).collect();
    words::few(&names, MOST_NAMES, language)
}

/// Whether the message has an open problem that can be acknowledged.
fn has_problem(notice: &Notice) -> bool {
    !matches!(notice.form, Form::Digest(_)) && notice.items.iter().any(|item| !item.event.is_end())
}

fn keyboard(id: &str, language: Language) -> Keyboard {
    let name = id.split('@').next().unwrap_or_default();
    let button = |press: Press| Button {
        text: press.label(language),
        callback_data: format!("{}:{name}", <&str>::from(press)),
    };
    Keyboard { inline_keyboard: vec![Press::ALL.map(button).into()] }
}
