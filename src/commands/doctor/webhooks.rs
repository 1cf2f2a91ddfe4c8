//! Whether each webhook's host answers, without sending a post. Only a post could prove the address, which is a
//! secret. So its path and token are not tried, and no output shows the address.

use reqwest::Url;
use secrecy::ExposeSecret as _;

use crate::config::Settings;
use crate::daemon::post::without_host;
use crate::provider::probe;
use crate::terminal::doctor::CheckVerdict;

const NOT_TRIED: &str = "not tried: its path and token";
const SAMPLE: &str = "hostwatch test-message posts a sample";

/// A row for each webhook.
pub(super) async fn checks(settings: &Settings) -> Vec<(String, CheckVerdict)> {
    let mut checks = Vec::new();
    for webhook in &settings.webhooks {
        let verdict = match Url::parse(webhook.url.expose_secret()) {
            Ok(url) => {
                let probed = probe(&url, &webhook.via).await.map(|_| ());
                judged(&webhook.name, url.scheme(), probed.map_err(|reason| without_host(&reason, &url)))
            }
            Err(error) => CheckVerdict::fail(error.to_string()),
        };
        checks.push((format!("webhook {}", webhook.name), verdict));
    }
    checks
}

fn judged(name: &str, scheme: &str, probed: Result<(), String>) -> CheckVerdict {
    match probed {
        Ok(()) => {
            let tls = if scheme == "https" { "TLS" } else { "no TLS" };
            CheckVerdict::ok(format!("its host answers, {tls}; {NOT_TRIED}")).remedy(SAMPLE)
        }
        Err(reason) => {
            let remedy = format!("posts wait in the store until it works; check webhooks.{name}.url");
            CheckVerdict::fail(format!("no working connection to its host: {reason}")).remedy(remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::doctor::CheckOutcome;

    #[test]
    fn tested_and_untested_webhooks_are_named() {
        let table = [
            ("https", Ok(()), CheckOutcome::Ok, "its host answers, TLS; not tried: its path and token"),
            ("http", Ok(()), CheckOutcome::Ok, "its host answers, no TLS; not tried"),
            (
                "https",
                Err("refused".to_owned()),
                CheckOutcome::Fail,
                "no working connection to its host: refused",
            ),
        ];
        for (scheme, probed, outcome, part) in table {
            let verdict = judged("team", scheme, probed);
            assert!(verdict.outcome == outcome && verdict.says.contains(part), "{scheme}: {verdict:?}");
            assert!(verdict.remedy.is_some(), "{scheme}: {verdict:?}");
        }
    }
}
