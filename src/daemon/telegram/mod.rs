//! A Telegram chat: messages, the buttons below them, and edits of sent messages. It uses Telegram's Bot API,
//! one POST a call; no port is opened.

mod bot;
mod chat;
mod listener;

pub(crate) use chat::Chat;
pub(super) use listener::{Edit, Listener, Pressed};
