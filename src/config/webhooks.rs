//! `[webhooks.NAME]`: their addresses, which are secrets and never quoted in a message.

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::values;
use super::via;
use super::view::View;
use crate::mail::WebhookSettings;
use crate::model::AccountName;

/// Reads all tables. Unusable ones are reported and left out.
pub(super) fn read(view: &View<'_>) -> Vec<WebhookSettings> {
    let mut webhooks = Vec::new();
    for name in view.names_below("webhooks") {
        // A bad name is reported with the unknown keys.
        if name.parse::<AccountName>().is_err() {
            continue;
        }
        let key = format!("webhooks.{name}.url");
        let Some(url) = view.needed_secret(&key, &format!("webhook.{name}.url")) else { continue };
        let allow_http = view.get(&format!("webhooks.{name}.allow_http")).unwrap_or(false);
        match check(&url, allow_http) {
            Ok(()) => {
                if let Some(taker) = takes_other_posts(&url) {
                    let message = format!(
                        "{taker} takes no posts in Alertmanager's format; docs/webhooks.md says what to use instead"
                    );
                    view.warn(&key, message);
                }
                webhooks.push(WebhookSettings {
                    via: via::read(view, &format!("webhooks.{name}.")),
                    headers: headers(view, &name),
                    name,
                    url,
                });
            }
            Err(message) => view.error(&key, message),
        }
    }
    webhooks
}

/// The headers in the file that the table names.
fn headers(view: &View<'_>, name: &str) -> Vec<(String, SecretString)> {
    let key = format!("webhooks.{name}.headers_file");
    let Some(text) = view.secret_file(&key) else { return Vec::new() };
    let mut headers = Vec::new();
    for line in text.expose_secret().lines().map(str::trim).filter(|line| !line.is_empty()) {
        let parts = line.split_once(':').map(|(header, value)| (header.trim(), value.trim()));
        let is_header = |(header, value): &(&str, &str)| {
            let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            !header.is_empty() && header.chars().all(is_token) && !value.chars().any(char::is_control)
        };
        match parts.filter(is_header) {
            Some((header, value)) => headers.push((header.to_owned(), SecretString::from(value))),
            None => view.error(&key, "has a line that is no header; write lines \"Name: value\""),
        }
    }
    headers
}

/// The service behind an address, if it is one that refuses every post of ours.
fn takes_other_posts(url: &SecretString) -> Option<&'static str> {
    let url = Url::parse(url.expose_secret()).ok()?;
    let host = url.host_str()?;
    let is_of = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    let services = [
        ("hooks.slack.com", "Slack"),
        ("discord.com", "Discord"),
        ("discordapp.com", "Discord"),
        ("webhook.office.com", "Teams"),
        ("logic.azure.com", "Teams"),
        ("environment.api.powerplatform.com", "Teams"),
        ("api.telegram.org", "Telegram"),
    ];
    services.into_iter().find(|(domain, _)| is_of(domain)).map(|(_, service)| service)
}

/// Accepts https, or http if nobody else can read it.
fn check(url: &SecretString, allow_http: bool) -> Result<(), String> {
    let example = "such as \"https://chat.example.com/hook\"";
    let url = Url::parse(url.expose_secret()).map_err(|_| format!("is no URL; {example}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(format!("must start with https:// or http://; {example}"));
    }
    values::unseen(url, "the address and all mails", Some(allow_http)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_that_take_other_posts_are_known_by_their_hosts() {
        for (url, want) in [
            ("https://hooks.slack.com/services/x", Some("Slack")),
            ("https://prod-1.westeurope.logic.azure.com:443/workflows/x", Some("Teams")),
            ("https://default0a.1b.environment.api.powerplatform.com/powerautomate/x", Some("Teams")),
            ("https://chat.example.com/hooks.slack.com", None),
        ] {
            assert_eq!(takes_other_posts(&url.into()), want, "{url}");
        }
    }
}
