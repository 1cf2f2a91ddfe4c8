//! Whether Telegram knows each bot, and the bot its chat. Two calls show it, and neither writes.

use serde::Deserialize;
use serde_json::Map;

use crate::alert::Attempt;
use crate::config::Settings;
use crate::daemon::delivery::{Fault, SendFailure};
use crate::daemon::telegram::Chat;
use crate::mail::TelegramSettings;
use crate::model::sanitize;
use crate::terminal::doctor::CheckVerdict;

const SAMPLE: &str = "hostwatch test-message sends a sample";

/// A row for each chat.
pub(super) async fn checks(settings: &Settings) -> Vec<(String, CheckVerdict)> {
    let mut checks = Vec::new();
    for settings in &settings.telegram {
        let verdict = match look(settings).await {
            Ok(verdict) => verdict,
            Err(error) => CheckVerdict::fail(error.error).remedy(remedy(settings, error.fault)),
        };
        checks.push((format!("Telegram {}", settings.name), verdict));
    }
    checks
}

/// The bot of `getMe`.
#[derive(Deserialize)]
struct Me {
    #[serde(default)]
    username: String,
}

/// The chat of `getChat`. A group or channel has a title, a person a name.
#[derive(Deserialize)]
struct Place {
    #[serde(default, rename = "type")]
    sort: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    first_name: String,
}

async fn look(settings: &TelegramSettings) -> Result<CheckVerdict, SendFailure> {
    let chat = Chat::new(settings)?;
    let me: Me = chat.me().await?;
    let place: Place = chat.in_chat("getChat", Map::new()).await?;
    let name = if place.title.is_empty() { &place.first_name } else { &place.title };
    let (name, sort) = (sanitize::one_line(name, 60), sanitize::one_line(&place.sort, 20));
    let bot = sanitize::one_line(&me.username, 40);
    let says = format!("bot @{bot} knows the chat '{name}' ({sort})");
    Ok(match chat.moved_to() {
        None => CheckVerdict::ok(format!("{says}; not tried: writing there")).remedy(SAMPLE),
        Some(number) => CheckVerdict::warn(format!("{says}, which became a supergroup"))
            .remedy(format!("set telegram.{}.chat_id to {number}", settings.name)),
    })
}

#[allow(clippy::wildcard_enum_match_arm)] // all others are of the way to Telegram
fn remedy(settings: &TelegramSettings, fault: Fault) -> String {
    let name = &settings.name;
    match fault {
        Fault::Login => format!(
            "messages wait in the store until it works; take the token from @BotFather into telegram.{name}.token"
        ),
        Fault::Of(Attempt::RecipientRefused | Attempt::MailRefused) => {
            format!("check telegram.{name}.chat_id; write to the bot, or add it to the group, once")
        }
        _ => {
            let advice = match settings.via.proxy {
                Some(_) => "check",
                None => "where Telegram is filtered, set",
            };
            format!("messages wait in the store until it works; {advice} telegram.{name}.proxy")
        }
    }
}
