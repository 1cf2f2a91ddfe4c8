//! Calls of the Bot API by one bot, and the meaning of the answers. The token is a part of the address, so no
//! error holds the address.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::daemon::post::{self, NoAnswer, Poster};
use crate::mail::TelegramSettings;
use crate::model::sanitize;

/// The source of a failed call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// No request was sent.
    Away,
    /// The call may have been made.
    ReplyLost,
    /// Telegram does not know the token.
    Login,
    /// Telegram wants no call during this time.
    Busy(Duration),
    /// The group became a supergroup with this number.
    Moved(i64),
    /// The chat cannot be written to.
    Chat,
    /// Telegram refuses this message.
    Message,
    /// Another program reads the bot's updates.
    Conflict,
    /// A temporary failure.
    Later,
}

/// The reason why a call failed, in words that hold no secret.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct BotError {
    pub(crate) trouble: Trouble,
    pub(crate) text: String,
}

/// One bot.
pub(super) struct Bot {
    /// The name of its table in the configuration.
    name: String,
    poster: Poster,
    token: SecretString,
    api_url: String,
}

/// The common part of all answers.
#[derive(Deserialize)]
struct Answer {
    ok: bool,
    /// The status, also where a proxy answers with 200.
    #[serde(default)]
    error_code: Option<u16>,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

impl Bot {
    /// # Errors
    /// If TLS cannot be set up.
    pub(super) fn new(settings: &TelegramSettings) -> Result<Self, BotError> {
        let name = settings.name.clone();
        let poster = Poster::new(&settings.via).map_err(|reason| BotError {
            trouble: Trouble::Away,
            text: format!("telegram.{name}: no request can be made: {reason}"),
        })?;
        Ok(Self { name, poster, token: settings.token.clone(), api_url: settings.api_url.clone() })
    }

    /// The number of the bot, which is no secret.
    pub(super) fn number(&self) -> &str {
        self.token.expose_secret().split(':').next().unwrap_or_default()
    }

    /// Whether it is the same bot at the same Bot API.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.api_url == other.api_url && self.token.expose_secret() == other.token.expose_secret()
    }

    /// Calls a method.
    ///
    /// # Errors
    /// The error in the answer, or the reason why none came.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        arguments: &Map<String, Value>,
        patience: Duration,
    ) -> Result<T, BotError> {
        let name = &self.name;
        let fail = |trouble, text: String| BotError { trouble, text: self.without_token(&text) };
        let lost = |reason| {
            let text =
                format!("the answer of Telegram to {name} was lost, so it may have taken it: {reason}");
            fail(Trouble::ReplyLost, text)
        };
        let address = format!("{}/bot{}/{method}", self.api_url, self.token.expose_secret());
        let body =
            serde_json::to_vec(arguments).map_err(|error| fail(Trouble::Message, error.to_string()))?;
        let setup =
            |reason| fail(Trouble::Away, format!("telegram.{name}: no request can be made: {reason}"));
        let url = Url::parse(&address).map_err(|error| setup(error.to_string()))?;
        let answer = match self.poster.post(&url, HeaderMap::new(), body, patience).await {
            Ok(answer) => answer,
            Err(NoAnswer::Setup(reason)) => return Err(setup(reason)),
            Err(NoAnswer::Connection(reason)) => {
                return Err(fail(
                    Trouble::Away,
                    format!("no working connection to Telegram for {name}: {reason}"),
                ));
            }
            Err(NoAnswer::Lost(reason)) => return Err(lost(reason)),
        };
        let status = answer.status().as_u16();
        let body = match post::body(answer, &url).await {
            Ok(body) => body,
            Err(reason) if status == 200 => return Err(lost(reason)),
            Err(_) => Vec::new(),
        };
        let answer = serde_json::from_slice::<Answer>(&body).ok();
        if let Some(Answer { ok: true, result, .. }) = answer.as_ref().filter(|_| status == 200) {
            return T::deserialize(result).map_err(|error| lost(error.to_string()));
        }
        let said = answer.as_ref().map(|answer| sanitize::one_line(&answer.description, 200));
        let trouble = trouble(status, answer);
        Err(fail(trouble.clone(), words(name, &trouble, status, said.as_deref())))
    }

    /// Removes the token from texts that an answer quotes.
    fn without_token(&self, text: &str) -> String {
        text.replace(self.token.expose_secret(), "TOKEN")
    }
}

/// The meaning of an answer without success.
fn trouble(status: u16, answer: Option<Answer>) -> Trouble {
    let status = answer.as_ref().and_then(|answer| answer.error_code).unwrap_or(status);
    let (says, parameters) = answer.map(|answer| (answer.description, answer.parameters)).unwrap_or_default();
    let says = says.to_lowercase();
    match (status, parameters.migrate_to_chat_id) {
        (_, Some(number)) => Trouble::Moved(number),
        (401 | 404, _) => Trouble::Login,
        (403, _) => Trouble::Chat,
        (409, _) => Trouble::Conflict,
        (429, _) => Trouble::Busy(Duration::from_secs(parameters.retry_after.unwrap_or(0))),
        // "message is too long" is about the message, "chat not found" is about the recipient.
        (400, _) if OF_CHAT.iter().any(|word| says.contains(word)) => Trouble::Chat,
        (400 | 413, _) => Trouble::Message,
        _ => Trouble::Later,
    }
}

/// Words of answers about a chat, and not about a message.
const OF_CHAT: [&str; 9] =
    ["chat", "thread not found", "topic", "peer", "rights", "user", "member", "deactivated", "administrator"];

fn words(name: &str, trouble: &Trouble, status: u16, said: Option<&str>) -> String {
    let said = said.filter(|said| !said.is_empty());
    let answered = said.map_or_else(|| format!("HTTP {status}"), str::to_owned);
    match trouble {
        Trouble::Login => {
            format!("Telegram does not know the bot of {name} ({answered}); check telegram.{name}.token")
        }
        Trouble::Busy(wait) => {
            format!("Telegram takes nothing for {name} for {} s ({answered})", wait.as_secs())
        }
        Trouble::Moved(number) => {
            format!("the group of {name} became a supergroup; set telegram.{name}.chat_id to {number}")
        }
        Trouble::Chat => format!("Telegram chat {name} cannot be written to: {answered}"),
        Trouble::Message => format!("Telegram does not take this for {name}: {answered}"),
        Trouble::Conflict => format!(
            "the buttons in chat {name} do nothing, since another program reads the bot's updates: {answered}"
        ),
        Trouble::Away | Trouble::ReplyLost | Trouble::Later => {
            format!("Telegram answered {name} with {answered}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_of_the_token_of_the_chat_or_of_the_message() {
        let busy = |seconds| Trouble::Busy(Duration::from_secs(seconds));
        let table = [
            (401, r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#, Trouble::Login),
            (404, r#"{"ok":false,"error_code":404,"description":"Not Found"}"#, Trouble::Login),
            (403, r#"{"ok":false,"description":"Forbidden: bot was blocked by the user"}"#, Trouble::Chat),
            (
                403,
                r#"{"ok":false,"description":"Forbidden: bot was kicked from the group chat"}"#,
                Trouble::Chat,
            ),
            (400, r#"{"ok":false,"description":"Bad Request: chat not found"}"#, Trouble::Chat),
            (400, r#"{"ok":false,"description":"Bad Request: message thread not found"}"#, Trouble::Chat),
            (400, r#"{"ok":false,"description":"Bad Request: TOPIC_CLOSED"}"#, Trouble::Chat),
            (400, r#"{"ok":false,"description":"Bad Request: message is too long"}"#, Trouble::Message),
            (413, "", Trouble::Message),
            (
                409,
                r#"{"ok":false,"description":"Conflict: terminated by other getUpdates request"}"#,
                Trouble::Conflict,
            ),
            (
                429,
                r#"{"ok":false,"description":"Too Many Requests","parameters":{"retry_after":7}}"#,
                busy(7),
            ),
            (429, "<html>", busy(0)),
            (
                400,
                r#"{"ok":false,"description":"Bad Request: group chat was upgraded","parameters":{"migrate_to_chat_id":-1002}}"#,
                Trouble::Moved(-1002),
            ),
            (500, "", Trouble::Later),
            (502, "<html>", Trouble::Later),
            (302, "", Trouble::Later),
            (
                200,
                r#"{"ok":false,"error_code":429,"description":"","parameters":{"retry_after":7}}"#,
                busy(7),
            ),
            // The answer of a hotel's network, or of a filter.
            (200, "<html>", Trouble::Later),
        ];
        for (status, body, want) in table {
            assert_eq!(trouble(status, serde_json::from_str(body).ok()), want, "{status} {body}");
        }
    }
}
