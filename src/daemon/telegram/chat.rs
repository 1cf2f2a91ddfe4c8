//! The chat of one table: its present number, and the calls in it. A call is repeated only if the group moved.

use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::bot::Bot;
use crate::alert::Attempt;
use crate::daemon::delivery::{Fault, SendFailure};
use crate::daemon::post::WHOLE;
use crate::mail::TelegramSettings;

/// One chat.
pub(crate) struct Chat {
    pub(super) bot: Bot,
    pub(super) buttons: bool,
    configured: String,
    /// The present number, if the group became a supergroup.
    moved_to: Mutex<Option<i64>>,
    thread: Option<u32>,
}

/// The part of a sent message that is used.
#[derive(Deserialize)]
struct SentMessage {
    message_id: i64,
}

/// One update of the bot, as far as it is asked for.
#[derive(Debug, Deserialize)]
pub(super) struct ChatUpdate {
    pub(super) update_id: i64,
    #[serde(default)]
    callback_query: Value,
}

impl ChatUpdate {
    /// The press of a button, if it is one. An odd update hides no later ones.
    pub(super) fn press(&self) -> Option<Callback> {
        Callback::deserialize(&self.callback_query).ok()
    }
}

/// A press of a button.
#[derive(Debug, Deserialize)]
pub(super) struct Callback {
    pub(super) id: String,
    pub(super) from: Person,
    pub(super) message: Option<PressedMessage>,
    #[serde(default)]
    pub(super) data: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Person {
    #[serde(default)]
    pub(super) first_name: String,
    #[serde(default)]
    pub(super) last_name: String,
    #[serde(default)]
    pub(super) username: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct PressedMessage {
    pub(super) message_id: i64,
    pub(super) chat: ChatNumber,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatNumber {
    id: i64,
    #[serde(default)]
    username: String,
}

/// How long Telegram holds a call if no button is pressed.
pub(super) const LISTEN: Duration = Duration::from_secs(50);
/// The number of updates that are taken at once.
const MOST_UPDATES: u32 = 20;

impl Chat {
    /// # Errors
    /// If TLS cannot be set up.
    pub(crate) fn new(settings: &TelegramSettings) -> Result<Self, SendFailure> {
        Ok(Self {
            bot: Bot::new(settings)?,
            buttons: settings.buttons,
            configured: settings.chat.clone(),
            moved_to: Mutex::new(None),
            thread: settings.thread,
        })
    }

    /// The chat's present number, if it is not the configured one.
    pub(crate) fn moved_to(&self) -> Option<i64> {
        *self.moved_to.lock()
    }

    /// Telegram's description of the bot.
    ///
    /// # Errors
    /// If Telegram does not know the bot, or does not answer.
    pub(crate) async fn me<T: DeserializeOwned>(&self) -> Result<T, SendFailure> {
        self.bot.call("getMe", &Map::new(), WHOLE).await
    }

    /// Sends a message, and returns its number in the chat.
    ///
    /// # Errors
    /// If Telegram did not take it, or if that is not known.
    pub(crate) async fn send(&self, raw: &[u8]) -> Result<i64, SendFailure> {
        let mut message = self.message(raw)?;
        if let Some(thread) = self.thread {
            message.insert("message_thread_id".to_owned(), thread.into());
        }
        Ok(self.in_chat::<SentMessage>("sendMessage", message).await?.message_id)
    }

    /// Replaces the text and buttons of a sent message.
    pub(super) async fn edit(&self, number: i64, raw: &[u8]) -> Result<(), SendFailure> {
        let mut message = self.message(raw)?;
        message.remove("disable_notification");
        message.insert("message_id".to_owned(), number.into());
        self.in_chat::<Value>("editMessageText", message).await.map(drop)
    }

    /// The buttons that were pressed since then. Waits for one.
    pub(super) async fn updates(&self, offset: Option<i64>) -> Result<Vec<ChatUpdate>, SendFailure> {
        let (timeout, limit) = (LISTEN.as_secs(), MOST_UPDATES);
        let mut arguments =
            json!({ "timeout": timeout, "limit": limit, "allowed_updates": ["callback_query"] });
        if let Some(offset) = offset {
            arguments["offset"] = offset.into();
        }
        self.bot.call("getUpdates", &arguments, LISTEN + Duration::from_secs(10)).await
    }

    /// Answers the person who pressed a button.
    pub(super) async fn answer(&self, callback: &str, text: &str) -> Result<(), SendFailure> {
        let arguments = json!({ "callback_query_id": callback, "text": text });
        self.bot.call::<Value>("answerCallbackQuery", &arguments, WHOLE).await.map(drop)
    }

    /// Learns the present number of the chat, since a group may have become a supergroup.
    pub(super) async fn find(&self) {
        if let Err(error) = self.in_chat::<Value>("getChat", Map::new()).await {
            tracing::debug!(%error, "the chat's number is not known anew");
        }
    }

    /// Whether a message is in this chat.
    pub(super) fn is_here(&self, chat: &ChatNumber) -> bool {
        let is_named =
            self.configured.strip_prefix('@').is_some_and(|name| name.eq_ignore_ascii_case(&chat.username));
        is_named || self.number() == chat.id.to_string()
    }

    fn number(&self) -> String {
        self.moved_to.lock().map_or_else(|| self.configured.clone(), |number| number.to_string())
    }

    fn message(&self, raw: &[u8]) -> Result<Map<String, Value>, SendFailure> {
        serde_json::from_slice(raw).map_err(|error| SendFailure {
            fault: Fault::Of(Attempt::MailRefused),
            error: format!("the message is no JSON: {error}"),
        })
    }

    /// Makes a call in this chat, or in the supergroup that it became.
    pub(crate) async fn in_chat<T: DeserializeOwned>(
        &self,
        method: &str,
        mut arguments: Map<String, Value>,
    ) -> Result<T, SendFailure> {
        let place = |number: String| number.parse::<i64>().map_or_else(|_| Value::from(number), Value::from);
        arguments.insert("chat_id".to_owned(), place(self.number()));
        match self.bot.call(method, &arguments, WHOLE).await {
            Err(SendFailure { fault: Fault::Moved(number), error }) => {
                tracing::warn!("{error}");
                *self.moved_to.lock() = Some(number);
                arguments.insert("chat_id".to_owned(), number.into());
                self.bot.call(method, &arguments, WHOLE).await
            }
            called => called,
        }
    }
}
