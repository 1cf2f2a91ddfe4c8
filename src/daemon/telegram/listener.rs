//! Reads presses of buttons below messages, with a call that Telegram holds until one is pressed, and edits
//! sent messages. The pipeline decides and stores.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::chat::{Callback, Chat, ChatUpdate, LISTEN, Person};
use crate::daemon::common::Common;
use crate::daemon::delivery::{Fault, SendFailure};
use crate::daemon::pipeline::Message;
use crate::failpoint;
use crate::mail::{Press, Service, Way};
use crate::model::sanitize;
use crate::state::Shared;
use crate::store::ChatMessage;

/// A press of a button.
#[derive(Debug)]
pub(in crate::daemon) struct Pressed {
    /// The recipients that have this chat.
    pub(in crate::daemon) to: Vec<String>,
    pub(in crate::daemon) press: Press,
    /// The id of the message, up to its `@`, and its number in the chat.
    pub(in crate::daemon) id: String,
    pub(in crate::daemon) number: i64,
    pub(in crate::daemon) who: String,
    /// The words shown to the person who pressed; an error if the press could not be stored.
    pub(in crate::daemon) reply: oneshot::Sender<Result<String, ()>>,
}

/// A new text for a message in a chat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::daemon) struct Edit {
    pub(in crate::daemon) message: ChatMessage,
    pub(in crate::daemon) number: i64,
    /// Whether all of its incidents are over.
    pub(in crate::daemon) is_last: bool,
}

/// The loop of one chat.
pub(in crate::daemon) struct Listener {
    pub(in crate::daemon) name: String,
    pub(in crate::daemon) common: Arc<Common>,
    pub(in crate::daemon) edits: mpsc::UnboundedReceiver<Edit>,
}

/// How often an idle listener checks whether it has to listen, as after a reload.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The pause after an empty answer that came early, and the first pause after a failure, which doubles up to
/// `AT_MOST`.
const AGAIN: Duration = Duration::from_secs(5);
const AT_MOST: Duration = Duration::from_secs(300);

/// The state between two calls.
#[derive(Default)]
struct Heard {
    /// The number of the next update, if it is known.
    offset: Option<i64>,
    failures: u32,
    has_said_conflict: bool,
}

impl Listener {
    /// Listens until it is stopped. A press that was not confirmed is sent again after the next start.
    pub(in crate::daemon) async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.listen()).await;
    }

    async fn listen(&mut self) {
        let mut heard = Heard::default();
        let mut pause = Duration::ZERO;
        let mut bot = String::new();
        let mut editor = Editor { again: None, not_before: Instant::now() };
        loop {
            let way = Way::Named(Service::Telegram, self.name.clone());
            let carrier = self.common.carriers.get(&way).map(Shared::get);
            let Some(chat) = carrier.as_ref().and_then(|carrier| carrier.chat()) else {
                return std::future::pending().await;
            };
            if bot != chat.bot.number() {
                bot = chat.bot.number().to_owned();
                heard = Heard::default();
            }
            let listens = self.listens(chat);
            let (wait, offset) = (pause, heard.offset);
            let call = async move {
                tokio::time::sleep(wait).await;
                if !listens {
                    tokio::time::sleep(LOOK_EVERY / failpoint::haste()).await;
                    return Ok(Vec::new());
                }
                let began = Instant::now();
                let called = chat.updates(offset).await;
                // A server or proxy that holds no call would otherwise be asked again at once, without end.
                if called.as_ref().is_ok_and(Vec::is_empty) && began.elapsed() < LISTEN / 2 {
                    tokio::time::sleep(AGAIN / failpoint::haste()).await;
                }
                called
            };
            tokio::pin!(call);
            let called = loop {
                tokio::select! {
                    called = &mut call => break called,
                    Some(edit) = editor.next(&mut self.edits) => editor.edit(chat, edit, &self.common.messages).await,
                }
            };
            pause = match called {
                Ok(updates) => self.take(chat, updates, &mut heard).await,
                Err(error) => self.failed(&error, &mut heard),
            };
        }
    }

    /// The recipients behind chats with buttons that share the bot and fit.
    fn sharing(&self, chat: &Chat, fits: impl Fn(&Chat) -> bool) -> impl Iterator<Item = String> {
        let shares = move |other: &Chat| other.buttons && other.bot.is_same(&chat.bot) && fits(other);
        self.common.carriers.iter().filter_map(move |(way, carrier)| match way {
            Way::Named(service, name) if carrier.get().chat().is_some_and(&shares) => {
                Some(format!("{}{name}", service.prefix()))
            }
            Way::Named(..) | Way::Smtp => None,
        })
    }

    /// Whether this is the first of the chats with buttons that share the bot: it listens for all of them.
    fn listens(&self, chat: &Chat) -> bool {
        let first = self.sharing(chat, |_| true).next();
        first == Some(format!("{}{}", Service::Telegram.prefix(), self.name))
    }

    /// Takes in updates. Returns the pause before the next call.
    async fn take(&self, chat: &Chat, updates: Vec<ChatUpdate>, heard: &mut Heard) -> Duration {
        if heard.has_said_conflict {
            tracing::info!(chat = self.name, "the buttons in the Telegram chat work again");
        }
        (heard.failures, heard.has_said_conflict) = (0, false);
        for update in updates {
            if let Some(callback) = update.press()
                && !self.press(chat, callback).await
            {
                // The update was not confirmed, so Telegram sends it again.
                return AGAIN / failpoint::haste();
            }
            heard.offset = Some(update.update_id + 1);
        }
        Duration::ZERO
    }

    /// Carries out a press; false if it could not be stored.
    async fn press(&self, chat: &Chat, callback: Callback) -> bool {
        let (Some(message), Some((press, id))) = (&callback.message, Press::of(&callback.data)) else {
            return true;
        };
        let here = || self.sharing(chat, |other| other.is_here(&message.chat)).collect::<Vec<String>>();
        let mut to = here();
        if to.is_empty() {
            chat.find().await;
            to = here();
        }
        if to.is_empty() {
            return true;
        }
        let (reply, answer) = oneshot::channel();
        let pressed = Pressed {
            to,
            press,
            id: id.to_owned(),
            number: message.message_id,
            who: name_of(&callback.from),
            reply,
        };
        if self.common.messages.send(Message::Pressed(Box::new(pressed))).await.is_err() {
            return false;
        }
        match answer.await {
            Ok(Ok(words)) => {
                if let Err(error) = chat.answer(&callback.id, &words).await {
                    tracing::debug!(%error, "nobody was told what a button did");
                }
                true
            }
            Ok(Err(())) | Err(_) => false,
        }
    }

    /// Logs an error that somebody can correct. Returns the pause.
    fn failed(&self, error: &SendFailure, heard: &mut Heard) -> Duration {
        if let Fault::Busy(wait) = error.fault {
            return wait.max(Duration::from_secs(1));
        }
        if error.fault == Fault::Conflict && !heard.has_said_conflict {
            heard.has_said_conflict = true;
            tracing::warn!(
                %error,
                chat = self.name,
                "the buttons in a Telegram chat do nothing: another program reads the bot's updates, or a webhook \
                 is set; give hostwatch a bot of its own, or set buttons = false"
            );
        }
        heard.failures = (heard.failures + 1).min(16);
        tracing::debug!(%error, "what was pressed cannot be read");
        AT_MOST.min(AGAIN * 2_u32.pow(heard.failures - 1)) / failpoint::haste()
    }
}

/// Edits that Telegram has not taken yet.
struct Editor {
    /// The edit that Telegram refused for now.
    again: Option<Edit>,
    /// The time at which Telegram wants the next edit.
    not_before: Instant,
}

impl Editor {
    /// The next edit, when Telegram wants it. The call may be dropped while it waits.
    async fn next(&mut self, edits: &mut mpsc::UnboundedReceiver<Edit>) -> Option<Edit> {
        tokio::time::sleep_until(self.not_before).await;
        match self.again.take() {
            Some(edit) => Some(edit),
            None => edits.recv().await,
        }
    }

    /// Edits a message; best effort, but for a pause that Telegram asks for.
    async fn edit(&mut self, chat: &Chat, edit: Edit, messages: &mpsc::Sender<Message>) {
        let edited = chat.edit(edit.number, &edit.message.raw).await;
        if let Err(error) = &edited {
            tracing::debug!(%error, to = edit.message.recipient, "a message in a chat was not edited");
        }
        if let Err(SendFailure { fault: Fault::Busy(wait), .. }) = edited {
            self.not_before = Instant::now() + wait.max(Duration::from_secs(1));
            self.again = Some(edit);
            return;
        }
        // A message that was deleted, or that has this text already, will not take it later either.
        let is_done = edited.err().is_none_or(|error| error.is_refusal());
        let _ = messages.send(Message::Edited(Box::new(edit), is_done)).await;
    }
}

/// `Ann Smith (@ann)`.
fn name_of(person: &Person) -> String {
    let name = format!("{} {}", person.first_name, person.last_name);
    let name = sanitize::one_line(&name, 60);
    if person.username.is_empty() {
        name
    } else {
        format!("{name} (@{})", sanitize::one_line(&person.username, 40))
    }
}
