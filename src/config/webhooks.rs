//! `[webhooks.NAME]`: their addresses, which are secrets and never quoted in a message.

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::findings::Findings;
use super::secrets::{Secret, Secrets};
use super::values;
use super::view::View;
use crate::mail::WebhookSettings;
use crate::model::AccountName;

/// Reads all tables. Unusable ones are reported and left out.
pub(super) fn read(view: &View<'_>, secrets: &mut Secrets, findings: &mut Findings) -> Vec<WebhookSettings> {
    let mut webhooks = Vec::new();
    for name in view.names_below("webhooks") {
        // A bad name is reported with the unknown keys.
        if name.parse::<AccountName>().is_err() {
            continue;
        }
        let key = format!("webhooks.{name}.url");
        let url = match secrets.get(view, &key, &format!("webhook.{name}.url"), findings) {
            Secret::Given(url) => url,
            Secret::Broken => continue,
            Secret::Absent => {
                let message =
                    format!("missing; set it, url_file, or the systemd credential webhook.{name}.url");
                view.error(&key, findings, message);
                continue;
            }
        };
        let allow_http = view.get(&format!("webhooks.{name}.allow_http")).unwrap_or(false);
        match check(&url, allow_http) {
            Ok(()) => webhooks.push(WebhookSettings {
                proxy: proxy(view, &format!("webhooks.{name}.proxy"), findings),
                name,
                url,
            }),
            Err(message) => view.error(&key, findings, message),
        }
    }
    webhooks
}

/// The proxy of one recipient; its address may hold a password.
pub(super) fn proxy(view: &View<'_>, key: &str, findings: &mut Findings) -> Option<SecretString> {
    view.parsed(key, findings, |text| {
        let example = "such as \"socks5h://127.0.0.1:1080\"";
        let url = Url::parse(text).map_err(|_| format!("is no URL; {example}"))?;
        if !matches!(url.scheme(), "http" | "https" | "socks5h") || url.host().is_none() {
            return Err(format!("must start with http:// or socks5h://; {example}"));
        }
        Ok::<_, String>(SecretString::from(text))
    })
}

/// Accepts https, or http if nobody else can read it.
fn check(url: &SecretString, allow_http: bool) -> Result<(), String> {
    let example = "such as \"https://chat.example.com/hook\"";
    let url = Url::parse(url.expose_secret()).map_err(|_| format!("is no URL; {example}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(format!("must start with https:// or http://; {example}"));
    }
    if url.scheme() == "http" && !allow_http && !url.host_str().is_some_and(values::loopback_name) {
        let message =
            "plain http would show the address and all mails to the network; use https://, or set allow_http";
        return Err(message.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_and_not_quoted() {
        let table = [
            ("https://chat.example.com/hook?token=hunter2", false, ""),
            ("https://user:hunter2@chat.example.com/", false, ""),
            ("http://127.0.0.1:9093/hunter2", false, ""),
            ("http://chat.example.com/hunter2", false, "plain http"),
            ("http://chat.example.com/hunter2", true, ""),
            ("ftp://chat.example.com/hunter2", true, "must start with"),
            ("hunter2", true, "is no URL"),
        ];
        for (url, allow_http, want) in table {
            let message = check(&SecretString::from(url), allow_http).err().unwrap_or_default();
            assert!(message.contains(want) && want.is_empty() == message.is_empty(), "{url}: {message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
