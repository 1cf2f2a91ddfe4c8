//! A notice as JSON in Alertmanager's webhook format, version 4: one alert an incident, with the words of its mail; what is
//! about everything is one alert. Pure: the same notice and context give the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, SecondsFormat, Utc};
use serde::Serialize;
use url::Url;

use super::body::Body;
use super::context::{Context, RenderError};
use super::message::{self, MailIdentity, Rendered};
use super::render::{content, events, test_content, test_incident};
use super::settings::Recipient;
use super::subject;
use crate::alert::{Event, Form, Item, Kind, Notice, Severity};
use crate::model::AccountName;
use crate::view::words::capital;

/// Where it goes, and what it links to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WebhookTarget<'a> {
    pub name: &'a str,
    /// Of the page.
    pub external_url: Option<&'a str>,
}

/// More than these, and the first alert speaks of all; only ends are told beyond.
const MOST_ALERTS: usize = 50;
/// A longer key, or one of several events, is told by its hash.
const LONGEST_KEY: usize = 200;
/// What is no incident: digest, test, first start, overflow.
const NOTICE: &str = "HostwatchNotice";
/// A notice is a message, and nothing ends it: whoever keeps what is open lets go of it by then. No sooner, as a post may
/// wait for its webhook. The same of an incident of which nothing more will be told.
const NOTICE_LASTS: Duration = Duration::days(1);
/// The label that an incident's alert alone has.
const INCIDENT: &str = "incident";
/// As Alertmanager has it of an incident that is not over.
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

/// What an alert is made of.
struct Said<'a> {
    /// `[CRITICAL] VM web-1 in error (main)`.
    subject: &'a str,
    /// None of an end beyond the room: there may be thousands.
    body: Option<&'a Body>,
    event: String,
}

/// Writes a notice for one webhook.
pub(crate) fn render_webhook(
    notice: &Notice,
    target: WebhookTarget<'_>,
    context: &Context<'_>,
) -> Result<Rendered, RenderError> {
    let (subject, body) = content(notice, context);
    let alerts = match notice.form {
        Form::Started(_) | Form::Digest(_) => vec![of_notice(notice, &subject, &body, target, context)],
        Form::Overflow(_)
        | Form::Opened
        | Form::Closed
        | Form::Disconnect
        | Form::Reminder
        | Form::Covered
        | Form::Unwatched => of_incidents(notice, &subject, &body, target, context),
    };
    let in_words =
        matches!(notice.form, Form::Started(_) | Form::Digest(_)) && notice.items.len() <= MOST_ALERTS;
    let told = alerts.iter().filter(|alert| alert.labels.contains_key(INCIDENT)).count();
    let left_out = if in_words { 0 } else { notice.items.len() - told };
    let events = events(notice);
    let id = MailIdentity::new(context.from, &notice.to, context.now, events.iter().map(String::as_str));
    rendered(target, (id, name_of(&events)), subject, &payload(target, alerts, left_out))
}

/// Writes what `hostwatch test-email` posts.
pub(crate) fn render_webhook_test(
    target: WebhookTarget<'_>,
    context: &Context<'_>,
) -> Result<Rendered, RenderError> {
    let (subject, body) = test_content(context);
    let incident = test_incident(context);
    let to = [Recipient::Webhook(target.name.to_owned()).to_string()];
    let said = Said { subject: &subject, body: Some(&body), event: Event::Test.to_string() };
    let alert = notice_alert(&said, Severity::Info, &[], target, context);
    let id = MailIdentity::new(context.from, &to, context.now, [incident.as_str(), "test"].into_iter());
    // Each test is one of its own.
    let name = format!("test-{}", context.now.timestamp_micros());
    rendered(target, (id, name), subject, &payload(target, vec![alert], 0))
}

/// What the outbox keeps: in place of the sender the Idempotency-Key. The same events are told in other words where part of
/// them is over meanwhile, or where a store was lost: a key is of its bytes.
fn rendered(
    target: WebhookTarget<'_>,
    (id, name): (MailIdentity, String),
    subject: String,
    payload: &Payload,
) -> Result<Rendered, RenderError> {
    let raw = serde_json::to_string(payload).map_err(RenderError::Json)?;
    let recipients = vec![Recipient::Webhook(target.name.to_owned()).to_string()];
    let key = format!("{name}#{}", message::hash_of([raw.as_str()]));
    Ok(Rendered { message_id: id.message_id(), subject, sender: key, recipients, raw: raw.into_bytes() })
}

fn of_incidents(
    notice: &Notice,
    subject: &str,
    body: &Body,
    target: WebhookTarget<'_>,
    context: &Context<'_>,
) -> Vec<WebhookAlert> {
    let mut alerts = Vec::new();
    let mut room = MOST_ALERTS;
    let is_summary = matches!(notice.form, Form::Overflow(_));
    if is_summary || notice.items.len() > MOST_ALERTS {
        alerts.push(of_notice(notice, subject, body, target, context));
        room -= 1;
    } else if let [item] = notice.items.as_slice() {
        let said = Said { subject, body: Some(body), event: item.event.to_string() };
        alerts.push(incident_alert(item, &said, target));
        return alerts;
    }
    // The lines about mails are for all of them: the first has them.
    let without = Context { notes: &[], ..context.clone() };
    // Of an end that is left out, whoever keeps what is open would never hear.
    let told = notice.items.iter().enumerate().filter(|&(index, item)| index < room || is_over(item));
    for (index, item) in told {
        let alone = Notice {
            form: if is_summary { form_of(&item.event) } else { notice.form.clone() },
            items: vec![item.clone()],
            accounts: vec![item.key.account.clone()],
            to: notice.to.clone(),
        };
        let context = if index == 0 && alerts.is_empty() { context } else { &without };
        let (subject, body) = content(&alone, context);
        let body = Some(&body).filter(|_| index < room);
        let said = Said { subject: &subject, body, event: item.event.to_string() };
        alerts.push(incident_alert(item, &said, target));
    }
    alerts
}

/// Is it known to be over?
fn is_over(item: &Item) -> bool {
    item.event.is_end() && item.event != Event::Unwatched
}

/// Is nothing told of it after this, though nobody knows that it is over?
fn is_last_word(item: &Item) -> bool {
    item.event == Event::Unwatched || item.key.kind == Kind::BalanceDrop
}

/// When it ends, as far as that is known.
fn end_of(item: &Item) -> String {
    if is_over(item) {
        moment(item.at)
    } else if is_last_word(item) {
        moment(item.at + NOTICE_LASTS)
    } else {
        NO_END.to_owned()
    }
}

/// As what it would have gone out by itself, had the hourly limit not held it back.
fn form_of(event: &Event) -> Form {
    if *event == Event::Unwatched {
        Form::Unwatched
    } else if event.is_end() {
        Form::Closed
    } else if matches!(event, Event::Reminder(_) | Event::Escalated) {
        Form::Reminder
    } else {
        Form::Opened
    }
}

fn incident_alert(item: &Item, said: &Said<'_>, target: WebhookTarget<'_>) -> WebhookAlert {
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
        labels: labels.map(|(name, value)| (name.to_owned(), value)).into(),
        annotations: annotations(said),
        starts_at: moment(item.since),
        ends_at: end_of(item),
        generator_url: link(item, target),
        fingerprint: message::hash_of([key.as_str()])[..16].to_owned(),
    }
}

/// What is about everything, as one alert.
fn of_notice(
    notice: &Notice,
    subject: &str,
    body: &Body,
    target: WebhookTarget<'_>,
    context: &Context<'_>,
) -> WebhookAlert {
    let (event, severity) = match &notice.form {
        Form::Started(facts) => (Event::Started.to_string(), subject::started_severity(facts, &notice.items)),
        Form::Digest(facts) => (Event::Digest(facts.date).to_string(), Severity::Info),
        Form::Overflow(_) => (Event::Overflow.to_string(), worst(&notice.items)),
        Form::Opened | Form::Closed | Form::Disconnect | Form::Reminder | Form::Covered | Form::Unwatched => {
            let events: BTreeSet<String> = notice.items.iter().map(|item| item.event.to_string()).collect();
            (events.into_iter().collect::<Vec<_>>().join(" "), worst(&notice.items))
        }
    };
    let mut alert =
        notice_alert(&Said { subject, body: Some(body), event }, severity, &notice.accounts, target, context);
    if !notice.items.is_empty() && notice.items.iter().all(is_over) {
        (alert.status, alert.ends_at) = (Status::Resolved, moment(context.now));
    }
    alert
}

fn notice_alert(
    said: &Said<'_>,
    severity: Severity,
    accounts: &[AccountName],
    target: WebhookTarget<'_>,
    context: &Context<'_>,
) -> WebhookAlert {
    let accounts: Vec<&str> = accounts.iter().map(AccountName::as_str).collect();
    let mut labels = BTreeMap::from([
        ("alertname".to_owned(), NOTICE.to_owned()),
        ("severity".to_owned(), severity.as_str().to_owned()),
        ("event".to_owned(), said.event.clone()),
    ]);
    if let [account] = accounts.as_slice() {
        labels.insert("account".to_owned(), (*account).to_owned());
    }
    WebhookAlert {
        status: Status::Firing,
        fingerprint: message::hash_of([NOTICE, said.event.as_str()].into_iter().chain(accounts))[..16]
            .to_owned(),
        labels,
        annotations: annotations(said),
        starts_at: moment(context.now),
        ends_at: moment(context.now + NOTICE_LASTS),
        generator_url: target.external_url.map_or_else(String::new, ToString::to_string),
    }
}

fn annotations(said: &Said<'_>) -> BTreeMap<String, String> {
    // Severity and outcome stand in fields of their own.
    let summary = said.subject.split_once("] ").map_or(said.subject, |(_, sentence)| sentence);
    let description = said.body.map(|body| ("description", body.content()));
    let all = [("summary", summary.to_owned()), ("event", said.event.clone())].into_iter().chain(description);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn payload(target: WebhookTarget<'_>, alerts: Vec<WebhookAlert>, truncated_alerts: usize) -> Payload {
    let common_labels = common(alerts.iter().map(|alert| &alert.labels));
    let grouped_by = |name: &&String| matches!(name.as_str(), "alertname" | "account");
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

/// What all of them have.
fn common<'a>(mut all: impl Iterator<Item = &'a BTreeMap<String, String>>) -> BTreeMap<String, String> {
    let mut common = all.next().cloned().unwrap_or_default();
    for other in all {
        common.retain(|name, value| other.get(name) == Some(value));
    }
    common
}

/// Incident, episode and event.
fn name_of(events: &[String]) -> String {
    match events {
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

fn worst(items: &[Item]) -> Severity {
    items.iter().map(|item| item.severity).max().unwrap_or(Severity::Info)
}

fn moment(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}
