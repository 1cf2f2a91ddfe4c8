//! Messages in chats: their numbers there, the buttons below them, and their last edit once all of their
//! incidents are over.

use chrono::Duration;

use super::super::telegram::{Edit, Pressed};
use super::Pipeline;
use super::housekeeping::writers_to;
use crate::alert::{Key, Phase};
use crate::failpoint;
use crate::mail::{Press, SILENT_HOURS, noted, offers, over};
use crate::model::{AccountName, Language, say};
use crate::store::{self, ChatMessage, Rendered};
use crate::view::Reader;

impl Pipeline {
    /// Notes the number of a message in its chat before the result is used for anything else.
    pub(super) fn note_chat(&mut self, to: &str, mail: &Rendered, number: i64) {
        if let Err(error) = self.common.store.lock().number_chat_message(to, &mail.message_id, number) {
            tracing::debug!(%error, "a message in a chat will not be edited");
        }
    }

    /// Carries out a press of a button. A press that Telegram sends again after a restart finds its button taken away.
    pub(super) fn pressed(&mut self, pressed: Pressed) {
        let reply = self.press(&pressed);
        if let Err(error) = &reply {
            tracing::warn!(%error, "what was pressed in a Telegram chat cannot be kept; it is read again");
        }
        let taken = self.take_decisions();
        let committed = taken.and_then(|()| self.commit());
        self.note_store_result(committed);
        // The page shows it before the person reads the answer. The listener may have ended.
        let _ = pressed.reply.send(reply.map_err(drop));
        self.dispatch();
    }

    fn press(&mut self, pressed: &Pressed) -> Result<String, store::StoreError> {
        let Pressed { to, press, id, number, who, .. } = pressed;
        let mut store = self.common.store.lock();
        let message = store.chat_message(to, id)?;
        let told = || message.iter().flat_map(|message| &message.told);
        let mut open: Vec<(Key, u32)> = told().filter_map(|told| self.open(told)).collect();
        let about: Vec<Key> = told().filter_map(|told| Some(episode_of(told)?.0)).collect();
        let until = self.now + Duration::hours(SILENT_HOURS.into());
        let account = open.first().and_then(|(key, _)| self.known.get(&key.account));
        // One bot may serve several chats; the message says which one.
        let language = match (&message, to.first()) {
            (Some(message), _) => self.language(&message.recipient, about.iter().map(|key| &key.account)),
            // A message is forgotten after its last edit. Any account that writes to the chat has its language.
            (None, Some(chat)) => self.language(chat, writers_to(&self.engine, chat)),
            (None, None) => Language::default(),
        };
        let reader = Reader::new(language, self.now).of(account.map(|known| known.state()));
        let is_repeated = message.as_ref().is_some_and(|message| !offers(&message.raw, *press));
        let (words, note) = if open.is_empty() {
            (language.pick("It is over already", "Это уже позади").to_owned(), None)
        } else if is_repeated {
            // A client shows a button until the edit that takes it away arrives.
            open.clear();
            (language.pick("It is done already", "Это уже сделано").to_owned(), None)
        } else {
            let (words, note) = effect_of(*press, &reader.moment(until), who, language);
            (words, Some(note))
        };
        let edited = message.and_then(|message| {
            let raw = match note {
                Some(note) => noted(&message.raw, &note, &[*press])?,
                // The daemon may have ended before the edit.
                None if is_repeated => message.raw.clone(),
                None => return None,
            };
            Some(ChatMessage { raw, number: Some(*number), ..message })
        });
        let comment = format!("{who}, in Telegram");
        store.together(|store| {
            for (key, episode) in open {
                match press {
                    Press::Seen => store.acknowledge(&key, episode, &comment, self.now)?,
                    Press::Silence => drop(store.silence(&key.to_string(), until, &comment, self.now)?),
                }
            }
            edited.as_ref().map_or(Ok(()), |message| store.change_chat_message(message))
        })?;
        drop(store);
        failpoint::reach("pressed");
        if let Some(message) = edited {
            self.edit(message, false);
        }
        Ok(words)
    }

    /// The incident of an event key, if that episode is open.
    fn open(&self, event_key: &str) -> Option<(Key, u32)> {
        let (key, episode) = episode_of(event_key)?;
        let incident = self.engine.incidents.get(&key)?;
        (incident.episode == episode && incident.phase.is_open()).then_some((key, episode))
    }

    /// Edits messages whose incidents are all over: the text says so, and the buttons go.
    pub(super) fn edit_what_is_over(&mut self) {
        if self.edits.is_empty() {
            return;
        }
        let messages = match self.common.store.lock().chat_messages() {
            Ok(messages) => messages,
            Err(error) => return tracing::debug!(%error, "which messages in chats are over is not known"),
        };
        for message in messages {
            let is_open = message.told.iter().any(|told| self.open(told).is_some());
            let is_asked = self.editing.contains(&place_of(&message));
            if is_open || is_asked {
                continue;
            }
            let note = self.how_it_ended(&message);
            if let Some(raw) = over(&message.raw, &note) {
                self.edit(ChatMessage { raw, ..message }, true);
            }
        }
    }

    /// `Over since Tue 24 Nov 07:15 MSK`: the end of its last incident.
    fn how_it_ended(&self, message: &ChatMessage) -> String {
        let keys = message.told.iter().filter_map(|told| episode_of(told));
        let ended = keys.filter_map(|(key, _)| self.engine.incidents.get(&key));
        let ended = ended.filter_map(|one| Some((one.ended?, one.phase, &one.key.account)));
        let last = ended.max_by_key(|(at, ..)| *at);
        let language = self.language(&message.recipient, last.map(|(.., account)| account));
        let Some((at, phase, account)) = last else {
            return language.pick("Over", "Решено").to_owned();
        };
        let reader = Reader::new(language, self.now).of(self.known.get(account).map(|known| known.state()));
        let since = reader.since(at);
        match phase {
            Phase::Unwatched => {
                say!(language, "No longer watched {since}", "Больше не отслеживается {since}")
            }
            Phase::Pending | Phase::Firing | Phase::Recovering | Phase::Resolved | Phase::Removed => {
                say!(language, "Over {since}", "Решено {since}")
            }
        }
    }

    fn language<'a>(&self, to: &str, accounts: impl IntoIterator<Item = &'a AccountName>) -> Language {
        self.mail_writer.as_ref().map(|writer| writer.language(to, accounts)).unwrap_or_default()
    }

    fn edit(&mut self, message: ChatMessage, is_last: bool) {
        let (Some(number), Some(edits)) = (message.number, self.edits.get(&message.recipient)) else {
            return;
        };
        if is_last {
            self.editing.insert(place_of(&message));
        }
        // A listener that has ended did so with the daemon.
        let _ = edits.send(Edit { message, number, is_last });
    }

    /// Forgets a message that was edited for the last time, or that cannot be edited.
    pub(super) fn edited(&mut self, edit: &Edit, is_done: bool) {
        if !edit.is_last {
            return;
        }
        self.editing.remove(&place_of(&edit.message));
        let ChatMessage { recipient, message_id, .. } = &edit.message;
        if is_done && let Err(error) = self.common.store.lock().end_chat_message(recipient, message_id) {
            tracing::debug!(%error, "a message in a chat is edited once more");
        }
    }
}

/// The answer to a press, and the line that it adds to the message.
fn effect_of(press: Press, until: &str, who: &str, language: Language) -> (String, String) {
    match press {
        Press::Seen => (
            language
                .pick("Acknowledged: no more reminders", "Принято: напоминаний больше не будет")
                .to_owned(),
            say!(language, "Seen by {who}", "Этим занимается {who}"),
        ),
        Press::Silence => (
            say!(language, "Silent until {until}", "Тишина до {until}"),
            say!(language, "Silent until {until}, by {who}", "Тишина до {until}, включил {who}"),
        ),
    }
}

fn place_of(message: &ChatMessage) -> (String, String) {
    (message.recipient.clone(), message.message_id.clone())
}

/// `main/vm_error/17#2#opened`: the incident and its episode.
fn episode_of(event_key: &str) -> Option<(Key, u32)> {
    let (rest, _) = event_key.rsplit_once('#')?;
    let (key, episode) = rest.rsplit_once('#')?;
    Some((key.parse().ok()?, episode.parse().ok()?))
}
