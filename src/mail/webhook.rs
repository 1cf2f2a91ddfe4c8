//! A notice as JSON in Alertmanager's webhook format, version 4: one incident, or a digest, a test or a first
//! mail with its problems. The words are those of the mail. Pure: the same notice and context give the same bytes.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, SecondsFormat, Utc};
use serde::Serialize;
use url::Url;

use super::body::Body;
use super::context::{Context, RenderError};
use super::message::{self, Rendered};
use super::parts;
use super::render::content;
use super::subject::{Bracket, Subject};
use crate::alert::{Event, Form, Item, Notice, Severity};
use crate::model::{AccountName, WEBHOOK};
use crate::view::words::capital;

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
    group_labels: Texts,
    common_labels: Texts,
    common_annotations: Texts,
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
    labels: Texts,
    annotations: Texts,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL")]
    generator_url: String,
    fingerprint: String,
}

/// Labels or annotations.
type Texts = BTreeMap<&'static str, String>;

/// Writes a notice for one webhook, under the id that the notification log has for it. The sender's place takes the
/// Idempotency-Key, a hash of the bytes.
pub(crate) fn render_webhook(
    notice: &Notice,
    id: &str,
    context: &Context<'_>,
) -> Result<Rendered, RenderError> {
    let (subject, body) = content(notice, context);
    let about = |event: &Event| annotations(&subject, &body, event, context);
    let about_all = |event: Event| {
        let severity = if let Bracket::Of(severity) = subject.bracket { severity } else { Severity::Info };
        notice_alert(about(&event), &event, severity, notice, context)
    };
    let alerts = match &notice.form {
        Form::Digest(facts) => vec![about_all(Event::Digest(facts.date))],
        Form::Test => vec![about_all(Event::Test)],
        Form::Started(_) => std::iter::once(about_all(Event::Started))
            .chain(notice.told(context.is_light).iter().map(|item| alone(item, context)))
            .collect(),
        Form::News | Form::Summary(_) => {
            notice.items.iter().map(|item| incident_alert(item, about(&item.event), context)).collect()
        }
    };
    let left_out = notice.items.len() - notice.told(context.is_light).len();
    let raw =
        serde_json::to_string(&payload(notice, alerts, left_out, context)).map_err(RenderError::Json)?;
    let key = message::hash_of([raw.as_str()]);
    Ok(Rendered { message_id: id.to_owned(), sender: key, subject: subject.line, raw: raw.into_bytes() })
}

/// A problem of a first mail as an alert of its own.
fn alone(item: &Item, context: &Context<'_>) -> WebhookAlert {
    let alone = Notice {
        form: Form::News,
        items: vec![item.clone()],
        accounts: vec![item.key.account.clone()],
        to: String::new(),
    };
    // The lines about mails concern all alerts; the first one has them.
    let context = Context { clock: None, unreached: &[], ..context.clone() };
    let (subject, body) = content(&alone, &context);
    incident_alert(item, annotations(&subject, &body, &item.event, &context), &context)
}

/// Whether this is the last event, although the incident may go on.
fn is_last_word(item: &Item) -> bool {
    item.event == Event::Unwatched || item.key.kind.is_momentary()
}

/// The time at which it ends, as far as it is known.
fn end_of(item: &Item) -> String {
    if Bracket::of(item) == Bracket::Resolved {
        moment(parts::until(item))
    } else if is_last_word(item) {
        moment(item.at + NOTICE_LASTS)
    } else {
        NO_END.to_owned()
    }
}

fn incident_alert(item: &Item, annotations: Texts, context: &Context<'_>) -> WebhookAlert {
    let bracket = Bracket::of(item);
    let severity = if let Bracket::Of(severity) = bracket { severity } else { item.severity };
    let key = item.key.to_string();
    WebhookAlert {
        status: if bracket == Bracket::Resolved { Status::Resolved } else { Status::Firing },
        fingerprint: message::hash_of([key.as_str()])[..16].to_owned(),
        labels: Texts::from([
            ("alertname", alert_name(item.key.kind.as_str())),
            ("severity", severity.as_str().to_owned()),
            ("account", item.key.account.to_string()),
            ("kind", item.key.kind.as_str().to_owned()),
            ("resource", item.key.resource.to_string()),
            ("name", item.name().to_owned()),
            (INCIDENT, key),
        ]),
        annotations,
        starts_at: moment(item.began),
        ends_at: end_of(item),
        generator_url: link(item, context),
    }
}

fn notice_alert(
    annotations: Texts,
    event: &Event,
    severity: Severity,
    notice: &Notice,
    context: &Context<'_>,
) -> WebhookAlert {
    let event = event.to_string();
    let accounts = notice.accounts.iter().map(AccountName::as_str);
    let fingerprint = message::hash_of([NOTICE, event.as_str()].into_iter().chain(accounts));
    let mut labels = Texts::from([
        ("alertname", NOTICE.to_owned()),
        ("severity", severity.as_str().to_owned()),
        ("event", event),
    ]);
    if let [account] = notice.accounts.as_slice() {
        labels.insert("account", account.to_string());
    }
    WebhookAlert {
        status: Status::Firing,
        fingerprint: fingerprint[..16].to_owned(),
        labels,
        annotations,
        starts_at: moment(context.now),
        ends_at: moment(context.now + NOTICE_LASTS),
        generator_url: context.page.unwrap_or_default().to_owned(),
    }
}

/// Severity and result have fields of their own, so the summary does not name them. A receiver that refused a
/// post gets the first line alone.
fn annotations(subject: &Subject, body: &Body, event: &Event, context: &Context<'_>) -> Texts {
    let description = if context.is_light { body.lead.clone() } else { body.content() };
    let summary = subject.sentence.clone();
    Texts::from([("summary", summary), ("event", event.to_string()), ("description", description)])
}

fn payload(
    notice: &Notice,
    alerts: Vec<WebhookAlert>,
    truncated_alerts: usize,
    context: &Context<'_>,
) -> Payload {
    let common_labels = common(alerts.iter().map(|alert| &alert.labels));
    let mut group_labels = common_labels.clone();
    group_labels.retain(|name, _| matches!(*name, "alertname" | "account" | INCIDENT));
    let pairs: Vec<String> = group_labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    let is_over = alerts.iter().all(|alert| alert.status == Status::Resolved);
    Payload {
        version: "4",
        group_key: format!("{{}}:{{{}}}", pairs.join(", ")),
        truncated_alerts,
        status: if is_over { Status::Resolved } else { Status::Firing },
        receiver: notice.to.strip_prefix(WEBHOOK).unwrap_or(&notice.to).to_owned(),
        common_annotations: common(alerts.iter().map(|alert| &alert.annotations)),
        group_labels,
        common_labels,
        external_url: context.page.unwrap_or_default().to_owned(),
        alerts,
    }
}

/// The labels that all of them share.
fn common<'a>(mut all: impl Iterator<Item = &'a Texts>) -> Texts {
    let mut common = all.next().cloned().unwrap_or_default();
    for other in all {
        common.retain(|name, value| other.get(name) == Some(value));
    }
    common
}

/// The page of the resource.
fn link(item: &Item, context: &Context<'_>) -> String {
    let Some(text) = context.page else { return String::new() };
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
