//! Whether each webhook's host answers, without sending a post. Only a post could prove the address, which is a
//! secret. So its path and token are not tried, and no output shows the address.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use reqwest::Url;
use secrecy::ExposeSecret as _;

use super::table::CERTIFICATE_DAYS;
use crate::clock;
use crate::config::Settings;
use crate::daemon::post::without_host;
use crate::model::Language;
use crate::provider::{Host, probe};
use crate::terminal::doctor::CheckVerdict;
use crate::view::words;

const NOT_TRIED: &str = "not tried: its path and token";
const SAMPLE: &str = "hostwatch test-message posts a sample";

/// A row for each webhook.
pub(super) async fn checks(settings: &Settings) -> Vec<(String, CheckVerdict)> {
    let mut checks = Vec::new();
    for webhook in &settings.webhooks {
        let verdict = match Url::parse(webhook.url.expose_secret()) {
            Ok(url) => {
                let probed = probe(&url, &webhook.via).await.map_err(|reason| without_host(&reason, &url));
                judged(&webhook.name, url.scheme(), probed, clock::now())
            }
            Err(error) => CheckVerdict::fail(error.to_string()),
        };
        checks.push((format!("webhook {}", webhook.name), verdict));
    }
    checks
}

fn judged(name: &str, scheme: &str, probed: Result<Host, String>, now: DateTime<Utc>) -> CheckVerdict {
    let host = match probed {
        Ok(host) => host,
        Err(reason) => {
            let remedy = format!("posts wait in the store until it works; check webhooks.{name}.url");
            return CheckVerdict::fail(format!("no working connection to its host: {reason}")).remedy(remedy);
        }
    };
    let Some(until) = host.certificate_until else {
        let tls = if scheme == "https" { "TLS" } else { "no TLS" };
        return CheckVerdict::ok(format!("its host answers, {tls}; {NOT_TRIED}")).remedy(SAMPLE);
    };
    let days = (until - now).num_days();
    let day = words::subject_day(until.date_naive(), Tz::UTC, now, Language::En);
    let says = format!("its host answers, TLS, certificate good until {day} ({days} days); {NOT_TRIED}");
    if days < CERTIFICATE_DAYS {
        return CheckVerdict::warn(says).remedy("once its certificate has expired no post arrives: renew it");
    }
    CheckVerdict::ok(says).remedy(SAMPLE)
}

#[cfg(test)]
mod tests {
    use chrono::Duration;

    use super::*;
    use crate::terminal::doctor::CheckOutcome;

    #[test]
    fn tested_and_untested_webhooks_are_named() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let host = |days: Option<i64>| Host {
            date: None,
            certificate_until: days.map(|days| now + Duration::days(days)),
        };
        let table = [
            ("https", Ok(host(Some(90))), CheckOutcome::Ok, "TLS, certificate good until"),
            ("https", Ok(host(Some(13))), CheckOutcome::Warn, "(13 days); not tried: its path and token"),
            ("http", Ok(host(None)), CheckOutcome::Ok, "its host answers, no TLS; not tried"),
            (
                "https",
                Err("refused".to_owned()),
                CheckOutcome::Fail,
                "no working connection to its host: refused",
            ),
        ];
        for (scheme, probed, outcome, part) in table {
            let verdict = judged("team", scheme, probed, now);
            assert!(verdict.outcome == outcome && verdict.says.contains(part), "{scheme}: {verdict:?}");
            assert!(verdict.remedy.is_some(), "{scheme}: {verdict:?}");
        }
    }
}
