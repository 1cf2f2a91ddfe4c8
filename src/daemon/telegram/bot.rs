//! Calls of the Bot API by one bot, and the meaning of the answers. The token is a part of the address, so no
//! error holds the address.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::alert::Attempt;
use crate::clock;
use crate::daemon::delivery::{Fault, SendFailure};
use crate::daemon::post::{self, Poster, Receiver, SHORTEST_SECRET};
use crate::mail::TelegramSettings;
use crate::model::hide::hidden;
use crate::model::sanitize;
use crate::provider::asked_pause;

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
    retry_after: Value,
    migrate_to_chat_id: Option<i64>,
}

impl Bot {
    /// # Errors
    /// If TLS cannot be set up.
    pub(super) fn new(settings: &TelegramSettings) -> Result<Self, SendFailure> {
        let name = settings.name.clone();
        let receiver = Receiver {
            table: format!("telegram.{name}"),
            to: format!("Telegram for {name}"),
            of: format!("Telegram to {name}"),
        };
        let poster = Poster::new(receiver, &settings.via)?;
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
        arguments: &impl Serialize,
        patience: Duration,
    ) -> Result<T, SendFailure> {
        let called = self.called(method, arguments, patience).await;
        called.map_err(|failure| SendFailure { error: self.without_token(&failure.error), ..failure })
    }

    /// The words of an answer, which may quote the token, without the secret part of it.
    fn without_token(&self, said: &str) -> String {
        hidden(said, self.token.expose_secret().split(':').nth(1), SHORTEST_SECRET)
    }

    async fn called<T: DeserializeOwned>(
        &self,
        method: &str,
        arguments: &impl Serialize,
        patience: Duration,
    ) -> Result<T, SendFailure> {
        let receiver = &self.poster.receiver;
        let address = format!("{}/bot{}/{method}", self.api_url, self.token.expose_secret());
        let body = serde_json::to_vec(arguments).map_err(|error| receiver.setup(&error.to_string()))?;
        let url = Url::parse(&address).map_err(|error| receiver.setup(&error.to_string()))?;
        let answer = self.poster.post(&url, HeaderMap::new(), body, patience).await?;
        let (status, header) = (answer.status().as_u16(), asked_pause(answer.headers(), clock::now()));
        let body = match post::body(answer, &url).await {
            Ok(body) => body,
            Err(reason) if status == 200 => return Err(receiver.lost(&reason)),
            Err(_) => Vec::new(),
        };
        let answer = serde_json::from_slice::<Answer>(&body).ok();
        if let Some(Answer { ok: true, result, .. }) = answer.as_ref().filter(|_| status == 200) {
            return T::deserialize(result).map_err(|error| receiver.lost(&error.to_string()));
        }
        let said =
            answer.as_ref().map(|answer| sanitize::one_line(&self.without_token(&answer.description), 200));
        let fault = fault(status, answer, header);
        Err(SendFailure { fault, error: words(&self.name, fault, status, said.as_deref()) })
    }
}

/// The meaning of an answer without success. `header` is the pause that its headers ask for.
fn fault(status: u16, answer: Option<Answer>, header: Option<Duration>) -> Fault {
    let status = answer.as_ref().and_then(|answer| answer.error_code).unwrap_or(status);
    let (says, parameters) = answer.map(|answer| (answer.description, answer.parameters)).unwrap_or_default();
    let says = says.to_lowercase();
    match (status, parameters.migrate_to_chat_id) {
        (_, Some(number)) => Fault::Moved(number),
        (401 | 404, _) => Fault::Login,
        (403, _) => Fault::Of(Attempt::RecipientRefused),
        (409, _) => Fault::Conflict,
        (429, _) => Fault::Busy(pause_in(&parameters.retry_after, header, &says)),
        // "message is too long" is about the message, "chat not found" is about the recipient.
        (400, _) if OF_CHAT.iter().any(|word| says.contains(word)) => Fault::Of(Attempt::RecipientRefused),
        (400 | 413, _) => Fault::Of(Attempt::MailRefused),
        _ => Fault::Of(Attempt::Deferred),
    }
}

/// The pause that an answer asks for; gateways write it as text, with a fraction, or as a header alone.
fn pause_in(retry_after: &Value, header: Option<Duration>, says: &str) -> Duration {
    let seconds = |text: &str| {
        let seconds = text.parse::<f64>().ok().filter(|&seconds| seconds > 0.0)?;
        Some(Duration::from_secs(seconds.ceil() as u64))
    };
    let field = seconds(retry_after.to_string().trim_matches('"').trim());
    let in_words = || {
        let (_, rest) = says.split_once("retry after ")?;
        seconds(rest.split(|c: char| !c.is_ascii_digit()).next()?)
    };
    let asked = field.or(header.filter(|wait| !wait.is_zero())).or_else(in_words);
    asked.unwrap_or_default().min(LONGEST_PAUSE)
}

/// The longest pause; a longer one would be a mistake.
const LONGEST_PAUSE: Duration = Duration::from_secs(86_400);

/// Words of answers about a chat, and not about a message.
const OF_CHAT: [&str; 9] =
    ["chat", "thread not found", "topic", "peer", "rights", "user", "member", "deactivated", "administrator"];

#[allow(clippy::wildcard_enum_match_arm)] // the others say no more than the answer
fn words(name: &str, fault: Fault, status: u16, said: Option<&str>) -> String {
    let said = said.filter(|said| !said.is_empty());
    let answered = said.map_or_else(|| format!("HTTP {status}"), str::to_owned);
    match fault {
        Fault::Login => {
            format!("Telegram does not know the bot of {name} ({answered}); check telegram.{name}.token")
        }
        Fault::Busy(Duration::ZERO) => format!("Telegram takes nothing for {name} for now ({answered})"),
        Fault::Busy(wait) => {
            format!("Telegram takes nothing for {name} for {} s ({answered})", wait.as_secs())
        }
        Fault::Moved(number) => {
            format!("the group of {name} became a supergroup; set telegram.{name}.chat_id to {number}")
        }
        Fault::Of(Attempt::RecipientRefused) => {
            format!("Telegram chat {name} cannot be written to: {answered}")
        }
        Fault::Of(Attempt::MailRefused) => format!("Telegram does not take this for {name}: {answered}"),
        Fault::Conflict => format!(
            "the buttons in chat {name} do nothing, since another program reads the bot's updates: {answered}"
        ),
        _ => format!("Telegram answered {name} with {answered}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_of_the_token_of_the_chat_or_of_the_message() {
        let busy = |seconds| Fault::Busy(Duration::from_secs(seconds));
        let table = [
            (401, r#"{"ok":false,"error_code":401,"description":"Unauthorized"}"#, Fault::Login),
            (404, r#"{"ok":false,"error_code":404,"description":"Not Found"}"#, Fault::Login),
            (
                403,
                r#"{"ok":false,"description":"Forbidden: bot was blocked by the user"}"#,
                Fault::Of(Attempt::RecipientRefused),
            ),
            (
                403,
                r#"{"ok":false,"description":"Forbidden: bot was kicked from the group chat"}"#,
                Fault::Of(Attempt::RecipientRefused),
            ),
            (
                400,
                r#"{"ok":false,"description":"Bad Request: chat not found"}"#,
                Fault::Of(Attempt::RecipientRefused),
            ),
            (
                400,
                r#"{"ok":false,"description":"Bad Request: message thread not found"}"#,
                Fault::Of(Attempt::RecipientRefused),
            ),
            (
                400,
                r#"{"ok":false,"description":"Bad Request: TOPIC_CLOSED"}"#,
                Fault::Of(Attempt::RecipientRefused),
            ),
            (
                400,
                r#"{"ok":false,"description":"Bad Request: message is too long"}"#,
                Fault::Of(Attempt::MailRefused),
            ),
            (413, "", Fault::Of(Attempt::MailRefused)),
            (
                409,
                r#"{"ok":false,"description":"Conflict: terminated by other getUpdates request"}"#,
                Fault::Conflict,
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
                Fault::Moved(-1002),
            ),
            (500, "", Fault::Of(Attempt::Deferred)),
            (502, "<html>", Fault::Of(Attempt::Deferred)),
            (302, "", Fault::Of(Attempt::Deferred)),
            (
                200,
                r#"{"ok":false,"error_code":429,"description":"","parameters":{"retry_after":7}}"#,
                busy(7),
            ),
            // The answer of a hotel's network, or of a filter.
            (200, "<html>", Fault::Of(Attempt::Deferred)),
        ];
        for (status, body, want) in table {
            assert_eq!(fault(status, serde_json::from_str(body).ok(), None), want, "{status} {body}");
        }
    }

    #[test]
    fn a_pause_is_read_wherever_an_answer_asks_for_it() {
        let says =
            r#"{"ok":false,"description":"Too Many Requests: Retry after 2282","parameters":{"retry_after":"#;
        for (field, header, want) in [
            ("7", None, 7),
            (r#""7""#, Some(9), 7),
            ("6.5", None, 7),
            ("0", Some(9), 9),
            ("null", Some(0), 2282),
            ("-1", None, 2282),
            (r#""soon""#, None, 2282),
            ("1e30", None, 86_400),
        ] {
            let answer = serde_json::from_str(&format!("{says}{field}}}}}")).unwrap();
            let fault = fault(429, Some(answer), header.map(Duration::from_secs));
            assert_eq!(fault, Fault::Busy(Duration::from_secs(want)), "{field} {header:?}");
        }
        let header = Some(Duration::from_secs(9));
        assert_eq!(fault(429, None, header), Fault::Busy(Duration::from_secs(9)));
    }

    #[test]
    fn a_pause_is_named_if_telegram_asks_for_one() {
        for (seconds, want) in [
            (7, "Telegram takes nothing for ops for 7 s (HTTP 429)"),
            (0, "Telegram takes nothing for ops for now (HTTP 429)"),
        ] {
            let busy = Fault::Busy(Duration::from_secs(seconds));
            assert_eq!(words("ops", busy, 429, None), want);
        }
    }
}
