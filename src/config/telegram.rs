//! `[telegram.NAME]`: a bot's token, which is a secret and never quoted in a message, and the chat that it
//! writes to.

use secrecy::{ExposeSecret as _, SecretString};

use super::values;
use super::via;
use super::view::View;
use crate::mail::TelegramSettings;
use crate::model::AccountName;

/// Reads all tables. An unusable one is reported and left out.
pub(super) fn read(view: &View<'_>) -> Vec<TelegramSettings> {
    let mut chats = Vec::new();
    for name in view.names_below("telegram") {
        // A bad name is reported with the unknown keys.
        if name.parse::<AccountName>().is_err() {
            continue;
        }
        let key = |last: &str| format!("telegram.{name}.{last}");
        let token = token(view, &name);
        let chat = chat(view, &key("chat_id"));
        let api_url = view
            .parsed(&key("api_url"), |text| values::endpoint(text, "the token", None))
            .map_or_else(|| DEFAULT_API.to_owned(), |url| url.as_str().trim_end_matches('/').to_owned());
        let via = via::read(view, &key(""));
        let (thread, buttons) = (view.get(&key("thread_id")), view.get(&key("buttons")).unwrap_or(true));
        if let (Some(token), Some(chat)) = (token, chat) {
            chats.push(TelegramSettings { name, token, chat, thread, api_url, via, buttons });
        }
    }
    chats
}

const DEFAULT_API: &str = "https://api.telegram.org";

fn token(view: &View<'_>, name: &str) -> Option<SecretString> {
    let key = format!("telegram.{name}.token");
    let token = view.needed_secret(&key, &key)?;
    if is_token(token.expose_secret()) {
        return Some(token);
    }
    view.error(&key, "is no token of a bot; @BotFather gives one such as 123456789:AAE…, without spaces");
    None
}

/// Whether a text can be a token. It becomes a part of an address, so it must not end a path.
fn is_token(text: &str) -> bool {
    text.split_once(':').is_some_and(|(bot, secret)| {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        !bot.is_empty()
            && bot.bytes().all(|byte| byte.is_ascii_digit())
            && !secret.is_empty()
            && secret.bytes().all(is_word)
    })
}

fn chat(view: &View<'_>, key: &str) -> Option<String> {
    let number = view.get::<i64>(key).map(|number| number.to_string());
    let Some(text) = number.or_else(|| view.text(key).map(str::to_owned)) else {
        view.error(key, "missing; set it to the chat's number, such as -1001234567890");
        return None;
    };
    let is_name = text.strip_prefix('@').is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    if is_name || text.parse::<i64>().is_ok_and(|number| number != 0) {
        return Some(text);
    }
    view.error(key, "is no chat; write its number, such as -1001234567890, or \"@name\" of a public one");
    None
}
