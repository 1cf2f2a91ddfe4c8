//! Posts to webhooks: Alertmanager's format, one alert for each incident, with the words of the mail.
#![allow(clippy::unwrap_used)]

use super::account;
use super::mail_support;

use crate::alert::{Event, Form, Item, Key, Kind, NotReached, Notice, Started};
use crate::mail::{Rendered, WebhookTarget, render_webhook, render_webhook_test};
use account::*;
use chrono::{DateTime, Duration, Utc};
use mail_support::*;
use serde_json::Value;

fn target(url: Option<&str>) -> WebhookTarget<'_> {
    WebhookTarget { name: "team", external_url: url }
}

fn posted(form: Form, items: Vec<Item>) -> (Rendered, Value) {
    let (from, snapshot) = (from(), snapshot([&full("main")]));
    let notice = Notice { to: "webhook:team".into(), ..notice(form, items) };
    let recipient = "ann@example.com".to_owned();
    let unreached = [NotReached { recipient, since: now(), error: "550".to_owned() }];
    let context = crate::mail::Context { unreached: &unreached, ..context(&from, &snapshot) };
    let rendered = render_webhook(&notice, ID, target(None), &context).unwrap();
    let json = serde_json::from_slice(&rendered.raw).unwrap();
    (rendered, json)
}

fn vm(id: u64, event: Event) -> Item {
    item(Kind::VmError, id, &format!("VM web-{id}"), event)
}

/// A receiver ignores a second post with the same key. After the loss of a store, or if a post was made again,
/// the same incident, episode and event come with other words, so the key has to differ.
#[test]
fn the_same_bytes_have_one_key_and_others_another() {
    let key = |since: &str| {
        let item = Item { began: t(since), ..vm(17, Event::Opened) };
        posted(Form::Opened, vec![item]).0.sender
    };
    assert_eq!(key("2026-03-01T11:00:00"), key("2026-03-01T11:00:00"));
    assert_ne!(key("2026-03-01T11:00:00"), key("2026-03-01T11:00:01"));
}

#[test]
fn one_incident_in_full() {
    let (rendered, json) = posted(Form::Opened, vec![vm(17, Event::Opened)]);
    let (name, hash) = rendered.sender.rsplit_once('#').unwrap();
    assert_eq!((name, hash.len()), ("main/vm_error/17#1#opened", 32), "the Idempotency-Key");
    assert_eq!(rendered.message_id, ID);
    assert_eq!(rendered.subject, "[CRITICAL] VM web-17 in error (main)");
    let description = json["alerts"][0]["annotations"]["description"].as_str().unwrap().to_owned();
    assert!(description.contains("Mails to ann@example.com have not been delivered"), "{description}");
    assert!(!description.contains("Sent by hostwatch"), "{description}");
    let mut shown = json.clone();
    for annotations in ["/alerts/0/annotations/description", "/commonAnnotations/description"] {
        *shown.pointer_mut(annotations).unwrap() = "…".into();
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap(), @r#"
    {
      "alerts": [
        {
          "annotations": {
            "description": "…",
            "event": "opened",
            "summary": "VM web-17 in error (main)"
          },
          "endsAt": "0001-01-01T00:00:00Z",
          "fingerprint": "589190b7ff4d1d3e",
          "generatorURL": "",
          "labels": {
            "account": "main",
            "alertname": "HostwatchVmError",
            "incident": "main/vm_error/17",
            "kind": "vm_error",
            "name": "web-17",
            "resource": "17",
            "severity": "critical"
          },
          "startsAt": "2026-03-01T11:58:00Z",
          "status": "firing"
        }
      ],
      "commonAnnotations": {
        "description": "…",
        "event": "opened",
        "summary": "VM web-17 in error (main)"
      },
      "commonLabels": {
        "account": "main",
        "alertname": "HostwatchVmError",
        "incident": "main/vm_error/17",
        "kind": "vm_error",
        "name": "web-17",
        "resource": "17",
        "severity": "critical"
      },
      "externalURL": "",
      "groupKey": "{}:{account=\"main\", alertname=\"HostwatchVmError\", incident=\"main/vm_error/17\"}",
      "groupLabels": {
        "account": "main",
        "alertname": "HostwatchVmError",
        "incident": "main/vm_error/17"
      },
      "receiver": "team",
      "status": "firing",
      "truncatedAlerts": 0,
      "version": "4"
    }
    "#);
}

#[test]
fn several_alerts_have_their_own_words_and_share_the_rest() {
    let items = vec![vm(1, Event::Opened), vm(2, Event::Opened)];
    let (rendered, json) = posted(Form::Opened, items);
    assert_eq!(rendered.sender.len(), 65, "several events as a hash: {}", rendered.sender);
    let alerts = json["alerts"].as_array().unwrap();
    let summaries: Vec<&str> =
        alerts.iter().map(|alert| alert["annotations"]["summary"].as_str().unwrap()).collect();
    assert_eq!(summaries, ["VM web-1 in error (main)", "VM web-2 in error (main)"]);
    let notes: Vec<bool> = alerts
        .iter()
        .map(|alert| alert["annotations"]["description"].as_str().unwrap().contains("not been delivered"))
        .collect();
    assert_eq!(notes, [true, false], "what is about all of them is said once");
    assert_eq!(json["groupKey"], "{}:{account=\"main\", alertname=\"HostwatchVmError\"}");
    assert_eq!(json["commonLabels"].get("incident"), None);
    assert_ne!(alerts[0]["fingerprint"], alerts[1]["fingerprint"]);
    assert_eq!((&json["status"], &json["truncatedAlerts"]), (&"firing".into(), &0.into()));
}

#[test]
fn more_than_fifty_alerts_begin_with_one_about_all() {
    let items = (1..=60).map(|id| vm(id, Event::Opened)).collect();
    let (_, json) = posted(Form::Opened, items);
    let alerts = json["alerts"].as_array().unwrap();
    assert_eq!((alerts.len(), &json["truncatedAlerts"]), (50, &11.into()));
    assert_eq!(alerts[0]["labels"]["alertname"], "HostwatchNotice");
    assert!(alerts[0]["annotations"]["summary"].as_str().unwrap().starts_with("60 VMs in error"), "{json:#}");
}

#[test]
fn all_of_many_ends_are_posted_and_the_alert_about_all_is_resolved() {
    let ends = || (1..=60).map(|id| vm(id, Event::Resolved));
    let resolved = |json: &Value| -> Vec<String> {
        let over = json["alerts"].as_array().unwrap().iter().filter(|alert| alert["status"] == "resolved");
        over.map(|alert| alert["labels"]["incident"].as_str().unwrap_or("all").to_owned()).collect()
    };
    let each: Vec<String> = (1..=60).map(|id| format!("main/vm_error/{id}")).collect();
    let with_notice: Vec<String> = std::iter::once("all".to_owned()).chain(each.clone()).collect();
    for form in [Form::Closed, summary(10)] {
        let (_, json) = posted(form.clone(), ends().collect());
        assert_eq!(resolved(&json), with_notice, "{form:?}");
        assert_eq!((&json["status"], &json["truncatedAlerts"]), (&"resolved".into(), &0.into()), "{form:?}");
        let alerts = json["alerts"].as_array().unwrap();
        let described = alerts.iter().filter(|alert| !alert["annotations"]["description"].is_null());
        assert_eq!(described.count(), 50, "{form:?}");
    }
    // Ends between incidents that are open, and after them.
    let mixed = (101..=160).map(|id| vm(id, Event::Opened)).chain(ends()).collect();
    let (_, json) = posted(summary(10), mixed);
    assert_eq!(resolved(&json), each);
    assert_eq!((&json["status"], &json["truncatedAlerts"]), (&"firing".into(), &11.into()));
}

#[test]
fn a_summary_of_held_back_events_has_each_in_its_own_words() {
    let items = vec![
        vm(1, Event::Opened),
        vm(2, Event::Resolved),
        vm(3, Event::Reminder(1)),
        vm(4, Event::Unwatched),
    ];
    let (_, json) = posted(summary(10), items.clone());
    let alerts = json["alerts"].as_array().unwrap();
    assert_eq!(alerts[0]["labels"]["alertname"], "HostwatchNotice");
    assert_eq!(alerts[0]["status"], "firing");
    for (alert, (item, form)) in alerts[1..].iter().zip(items.into_iter().zip([
        Form::Opened,
        Form::Closed,
        Form::Reminder,
        Form::Unwatched,
    ])) {
        let (_, alone) = posted(form, vec![item]);
        let alone = &alone["alerts"][0];
        for field in ["status", "labels", "fingerprint", "startsAt", "endsAt"] {
            assert_eq!(alert[field], alone[field], "{field}");
        }
        assert_eq!(alert["annotations"]["summary"], alone["annotations"]["summary"]);
    }
    assert_eq!((alerts.len(), &json["truncatedAlerts"]), (5, &0.into()));
}

#[test]
fn ends_resolve_alerts_and_the_end_of_watching_does_not() {
    let table = [
        (Form::Closed, Event::Resolved, "resolved", "critical"),
        (Form::Closed, Event::Removed, "resolved", "critical"),
        (Form::Closed, Event::WasDown, "resolved", "critical"),
        (Form::Unwatched, Event::Unwatched, "firing", "info"),
        (Form::Reminder, Event::Reminder(1), "firing", "critical"),
        (Form::Reminder, Event::Escalated, "firing", "critical"),
    ];
    for (form, event, status, severity) in table {
        let (_, json) = posted(form, vec![vm(17, event.clone())]);
        let alert = &json["alerts"][0];
        assert_eq!((&json["status"], &alert["status"]), (&status.into(), &status.into()), "{event}");
        assert_eq!(alert["labels"]["severity"], severity, "{event}");
        let ends = alert["endsAt"].as_str().unwrap();
        let goes_on = status == "firing" && event != Event::Unwatched;
        assert_eq!(ends == "0001-01-01T00:00:00Z", goes_on, "{event}: {ends}");
    }
    // No further message comes about these: a day later, a receiver drops them from its open alerts.
    let mut drop = vm(17, Event::Opened);
    drop.key = Key::account_wide(&"main".parse().unwrap(), Kind::BalanceDrop);
    for (form, item) in [(Form::Opened, drop), (Form::Unwatched, vm(17, Event::Unwatched))] {
        let at = item.at;
        let (_, json) = posted(form, vec![item]);
        let ends = json["alerts"][0]["endsAt"].as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
        assert_eq!((ends - at, &json["status"]), (Duration::days(1), &"firing".into()));
    }
}

#[test]
fn a_message_about_everything_is_one_alert() {
    let snapshot = snapshot([&full("main")]);
    let (_, json) = posted(Form::Started(Started::default()), vec![]);
    assert_eq!(json["alerts"].as_array().unwrap().len(), 1);
    assert_eq!(json["alerts"][0]["labels"]["alertname"], "HostwatchNotice");
    assert_eq!(json["alerts"][0]["labels"]["event"], "started");
    // A message without an end would stay open for ever.
    let lasts = |json: &Value| {
        let moment =
            |field: &str| json["alerts"][0][field].as_str().unwrap().parse::<DateTime<Utc>>().unwrap();
        (json["alerts"][0]["status"].clone(), moment("endsAt") - moment("startsAt"))
    };
    assert_eq!(lasts(&json), ("firing".into(), Duration::days(1)));
    let from = from();
    let test =
        render_webhook_test(ID, target(Some("https://watch.example.com/")), &context(&from, &snapshot))
            .unwrap();
    let json: Value = serde_json::from_slice(&test.raw).unwrap();
    assert_eq!(lasts(&json), ("firing".into(), Duration::days(1)));
    assert_eq!(json["alerts"][0]["generatorURL"], "https://watch.example.com/");
    assert_eq!(json["alerts"][0]["annotations"]["summary"], "Sample alert, nothing is wrong (main)");
}

/// Each problem of a first mail is an alert of its own, because its end needs a beginning.
#[test]
fn each_problem_of_a_first_mail_is_an_alert_behind_the_notice() {
    let items = vec![vm(17, Event::Started), vm(18, Event::Started)];
    let (_, json) = posted(Form::Started(Started::default()), items);
    let alerts = json["alerts"].as_array().unwrap();
    let names: Vec<&str> =
        alerts.iter().map(|alert| alert["labels"]["alertname"].as_str().unwrap()).collect();
    assert_eq!(names, ["HostwatchNotice", "HostwatchVmError", "HostwatchVmError"]);
    assert_eq!((&alerts[1]["status"], &json["truncatedAlerts"]), (&"firing".into(), &0.into()));
    let (_, over) = posted(Form::Closed, vec![vm(17, Event::Resolved)]);
    assert_eq!(over["alerts"][0]["fingerprint"], alerts[1]["fingerprint"]);
    assert_eq!(alerts[1]["annotations"]["summary"], "VM web-17 in error (main)");
}

#[test]
fn the_page_of_a_resource_is_below_the_path_of_the_status_page() {
    let (from, snapshot) = (from(), snapshot([&full("main")]));
    for page in ["https://watch.example.com/hw", "https://watch.example.com/hw/"] {
        let notice = notice(Form::Opened, vec![vm(17, Event::Opened)]);
        let notice = Notice { to: "webhook:team".into(), ..notice };
        let rendered = render_webhook(&notice, ID, target(Some(page)), &context(&from, &snapshot)).unwrap();
        let json: Value = serde_json::from_slice(&rendered.raw).unwrap();
        let link = "https://watch.example.com/hw/resource?account=main&kind=vm&id=17";
        assert_eq!(json["alerts"][0]["generatorURL"], link);
    }
}

/// ntfy fills templates from the post: a missing field would give an empty message, or no message.
#[test]
fn the_recipe_for_ntfy_names_posted_fields() {
    let page = super::tools::read("docs/webhooks.md");
    let (_, recipe) = page.split_once("url = 'https://ntfy.sh/TOPIC?template=yes").unwrap();
    let recipe = recipe.split('\'').next().unwrap();
    let (_, json) = posted(Form::Opened, vec![vm(17, Event::Opened)]);
    // `.status` and `.alerts` belong to the post; names after `$a` or `0)` belong to an alert.
    let words: Vec<&str> = recipe.split([' ', '}', '{', '(']).filter(|word| word.contains('.')).collect();
    assert!(words.len() >= 8, "{words:?}");
    for word in words {
        let (of, path) = word.split_once('.').unwrap();
        let place = if of.is_empty() { &json } else { &json["alerts"][0] };
        let path = format!("/{}", path.trim_end_matches(')').replace('.', "/"));
        assert!(place.pointer(&path).is_some(), "{word}");
    }
}
