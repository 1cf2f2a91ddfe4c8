//! Mails: their words, and their way to the servers.

mod body;
mod context;
mod digest;
mod disconnect;
mod groups;
mod html;
mod incident;
mod message;
mod parts;
mod render;
mod resources;
mod sample;
pub(crate) mod settings;
pub(crate) mod smtp;
mod started;
mod subject;
mod telegram;
mod tense;
mod webhook;

pub(crate) use context::{Context, RenderError};
pub(crate) use message::{Rendered, new_id};
pub(crate) use render::{first_lines_of, render};
pub(crate) use settings::{
    Login, MailServer, MailSettings, Security, Service, TelegramSettings, Way, WebhookSettings, address,
};
pub(crate) use telegram::{Press, SILENT_HOURS, noted, offers, over, render_telegram};
pub(crate) use webhook::render_webhook;
