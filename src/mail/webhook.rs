//! A notice as JSON in Alertmanager's webhook format, version 4: one incident, or a digest, a test or a first
//! mail with its problems. The words are those of the mail. Pure: the same notice and context give the same bytes.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, SecondsFormat, Utc};
use serde::Serialize;
use url::Url;

use super::body::Body;
use super::context::{Context, RenderError};
use super::message::{self, Rendered};
use super::render::{content, test_content};
use super::subject::Subject;
use super::{parts, subject};
use crate::alert::{Event, Form, Item, Notice, Severity};
use crate::model::AccountName;
use crate::view::words::capital;

/// The webhook and the address of its links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WebhookTarget<'a> {
    pub name: &'a str,
    /// The address of the page.
    pub external_url: Option<&'a str>,
}

/// The alerts of a first mail: that about all, and those of its problems.
const MOST_ALERTS: usize = 50;
/// A longer key, or the keys of several events, are replaced by a hash.
const LONGEST_KEY: usize = 200;
/// The alert of a notice that is no incident: digest, test, first mail.
const NOTICE: &str = "HostwatchNotice";
/// Notices never resolve. Their `endsAt` is a day ahead, so that Alertmanager expires them, and late enough for
/// a delayed post. The same holds for an incident of which no further event will come.
const NOTICE_LASTS: Duration = Duration::days(1);
/// The label that only alerts of incidents have.
const INCIDENT: &str = "incident";
/// Alertmanager's value for an incident that is not over.
const NO_END: &str = "0001-01-01T00:00:00Z";

/// The whole body.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    version: &'static str,
    group_key: String,
    truncated_alerts: usize,
    status: Status,
    receiver: String,
    group_labels: BTreeMap<String, String>,
    common_labels: BTreeMap<String, String>,
    common_annotations: BTreeMap<String, String>,
    #[serde(rename = "externalURL")]
    external_url: String,
    alerts: Vec<WebhookAlert>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Firing,
    Resolved,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WebhookAlert {
    status: Status,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL")]
    generator_url: String,
    fingerprint: String,
}

type Annotations = BTreeMap<String, String>;

/// Writes a notice for one webhook, under the id that the notification log has for it.
pub(crate) fn render_webhook(
    notice: &Notice,
    id: &str,
    target: WebhookTarget<'_>,
    context: &Context<'_>,
) -> Result<Rendered, RenderError> {
    let (subject, body) = content(notice, context);
    let about_all = |event: Event, severity| {
        let event = event.to_string();
        let said = annotations(&subject, &body, &event, context);
        notice_alert(said, event, severity, &notice.accounts, target, context)
    };
    let alerts = match &notice.form {
        Form::Digest(facts) => vec![about_all(Event::Digest(facts.date), Severity::Info)],
        Form::Started(facts) => {
            let severity = subject::started_severity(notice, facts, context);
            let each = notice.items.iter().take(MOST_ALERTS - 1).map(|item| alone(item, target, context));
            std::iter::once(about_all(Event::Started, severity)).chain(each).collect()
        }
        Form::Opened
        | Form::Closed
        | Form::Disconnect
        | Form::Reminder
        | Form::Unwatched
        | Form::Summary(_) => {
            let said = |item: &Item| annotations(&subject, &body, &item.event.to_string(), context);
            notice.items.iter().map(|item| incident_alert(item, said(item), target)).collect()
        }
    };
    let is_first = matches!(notice.form, Form::Started(_));
    let left_out = if is_first { notice.items.len().saturating_sub(MOST_ALERTS - 1) } else { 0 };
    rendered(id, &name_of(notice), subject.line, &payload(target, alerts, left_out))
}

/// Writes the post of `hostwatch test-message`.
pub(crate) fn render_webhook_test(
    id: &str,
    target: WebhookTarget<'_>,
    context: &Context<'_>,
) -> Result<Rendered, RenderError> {
    let (subject, body) = test_content(context);
    let event = Event::Test.to_string();
    let said = annotations(&subject, &body, &event, context);
    let alert = notice_alert(said, event, Severity::Info, &[], target, context);
    // Each test is an alert of its own.
    let name = format!("test-{}", context.now.timestamp_micros());
    rendered(id, &name, subject.line, &payload(target, vec![alert], 0))
}

/// The Idempotency-Key, which takes the sender's place, is a hash of the bytes. The same events may get other
/// words later: some may be over by then, or a store may have been lost.
fn rendered(id: &str, name: &str, subject: String, payload: &Payload) -> Result<Rendered, RenderError> {
    let raw = serde_json::to_string(payload).map_err(RenderError::Json)?;
    let key = format!("{name}#{}", message::hash_of([raw.as_str()]));
    Ok(Rendered { message_id: id.to_owned(), sender: key, subject, raw: raw.into_bytes() })
}

/// A problem of a first mail as an alert of its own.
fn alone(item: &Item, target: WebhookTarget<'_>, context: &Context<'_>) -> WebhookAlert {
    let alone = Notice {
        form: item.form(),
        items: vec![item.clone()],
        accounts: vec![item.key.account.clone()],
        to: String::new(),
    };
    // The lines about mails concern all alerts; the first one has them.
    let context = Context { notes: &[], unreached: &[], ..context.clone() };
    let (subject, body) = content(&alone, &context);
    incident_alert(item, annotations(&subject, &body, &item.event.to_string(), &context), target)
}

/// Whether it is known to be over.
fn is_over(item: &Item) -> bool {
    item.event.is_end() && item.event != Event::Unwatched
}

/// Whether this is the last event, although the incident may go on.
fn is_last_word(item: &Item) -> bool {
    item.event == Event::Unwatched || item.key.kind.is_momentary()
}

/// The time at which it ends, as far as it is known.
fn end_of(item: &Item) -> String {
    if is_over(item) {
        moment(parts::until(item))
    } else if is_last_word(item) {
        moment(item.at + NOTICE_LASTS)
    } else {
        NO_END.to_owned()
    }
}

fn incident_alert(item: &Item, annotations: Annotations, target: WebhookTarget<'_>) -> WebhookAlert {
    let severity = if item.event == Event::Unwatched { Severity::Info } else { item.severity };
    let key = item.key.to_string();
    let labels = [
        ("alertname", alert_name(item.key.kind.as_str())),
        ("severity", severity.as_str().to_owned()),
        ("account", item.key.account.to_string()),
        ("kind", item.key.kind.as_str().to_owned()),
        ("resource", item.key.resource.to_string()),
        ("name", item.name().to_owned()),
        (INCIDENT, key.clone()),
    ];
    WebhookAlert {
        status: if is_over(item) { Status::Resolved } else { Status::Firing },
        labels: texts(labels),
        annotations,
        starts_at: moment(item.began),
        ends_at: end_of(item),
        generator_url: link(item, target),
        fingerprint: message::hash_of([key.as_str()])[..16].to_owned(),
    }
}

fn notice_alert(
    annotations: Annotations,
    event: String,
    severity: Severity,
    accounts: &[AccountName],
    target: WebhookTarget<'_>,
    context: &Context<'_>,
) -> WebhookAlert {
    let accounts: Vec<&str> = accounts.iter().map(AccountName::as_str).collect();
    let account =
        <[&str; 1]>::try_from(accounts.as_slice()).ok().map(|[account]| ("account", account.to_owned()));
    let fingerprint = message::hash_of([NOTICE, event.as_str()].into_iter().chain(accounts));
    let labels =
        [("alertname", NOTICE.to_owned()), ("severity", severity.as_str().to_owned()), ("event", event)];
    WebhookAlert {
        status: Status::Firing,
        fingerprint: fingerprint[..16].to_owned(),
        labels: texts(labels.into_iter().chain(account)),
        annotations,
        starts_at: moment(context.now),
        ends_at: moment(context.now + NOTICE_LASTS),
        generator_url: target.external_url.map_or_else(String::new, ToString::to_string),
    }
}

/// Severity and result have fields of their own, so the summary does not name them. A receiver that refused a
/// post gets the first line alone.
fn annotations(subject: &Subject, body: &Body, event: &str, context: &Context<'_>) -> Annotations {
    let description = if context.is_light { body.lead.clone() } else { body.content() };
    let summary = subject.sentence.clone();
    texts([("summary", summary), ("event", event.to_owned()), ("description", description)])
}

fn texts<'a>(all: impl IntoIterator<Item = (&'a str, String)>) -> BTreeMap<String, String> {
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn payload(target: WebhookTarget<'_>, alerts: Vec<WebhookAlert>, truncated_alerts: usize) -> Payload {
    let common_labels = common(alerts.iter().map(|alert| &alert.labels));
    let grouped_by = |name: &&String| matches!(name.as_str(), "alertname" | "account" | INCIDENT);
    let group_labels: BTreeMap<String, String> = common_labels
        .iter()
        .filter(|(name, _)| grouped_by(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let pairs: Vec<String> = group_labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    let is_over = alerts.iter().all(|alert| alert.status == Status::Resolved);
    Payload {
        version: "4",
        group_key: format!("{{}}:{{{}}}", pairs.join(", ")),
        truncated_alerts,
        status: if is_over { Status::Resolved } else { Status::Firing },
        receiver: target.name.to_owned(),
        common_annotations: common(alerts.iter().map(|alert| &alert.annotations)),
        group_labels,
        common_labels,
        external_url: target.external_url.map_or_else(String::new, ToString::to_string),
        alerts,
    }
}

/// The labels that all of them share.
fn common<'a>(mut all: impl Iterator<Item = &'a BTreeMap<String, String>>) -> BTreeMap<String, String> {
    let mut common = all.next().cloned().unwrap_or_default();
    for other in all {
        common.retain(|name, value| other.get(name) == Some(value));
    }
    common
}

/// The name of a post: incident, episode and event; for several a hash of them.
fn name_of(notice: &Notice) -> String {
    let events: Vec<String> = notice.items.iter().map(Item::event_key).collect();
    match events.as_slice() {
        [one] if one.len() <= LONGEST_KEY && one.bytes().all(|byte| byte.is_ascii_graphic()) => one.clone(),
        several => message::hash_of(several.iter().map(String::as_str)),
    }
}

/// The page of the resource.
fn link(item: &Item, target: WebhookTarget<'_>) -> String {
    let Some(text) = target.external_url else { return String::new() };
    let (Some(sort), Some(id)) = (item.key.kind.sort(), item.key.id()) else { return text.to_owned() };
    let place = format!("{}/resource", text.trim_end_matches('/'));
    let Ok(mut page) = Url::parse(&place) else { return text.to_owned() };
    page.query_pairs_mut()
        .append_pair("account", item.key.account.as_str())
        .append_pair("kind", sort.as_str())
        .append_pair("id", &id.to_string());
    page.to_string()
}

/// `HostwatchVmError`.
fn alert_name(kind: &str) -> String {
    format!("Hostwatch{}", kind.split('_').map(capital).collect::<String>())
}

fn moment(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}
