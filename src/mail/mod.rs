//! Mails: how they read and how they leave.

mod body;
mod chart;
mod context;
mod covered;
mod digest;
mod disconnect;
mod groups;
mod html;
mod incident;
mod message;
mod overflow;
mod parts;
mod png;
pub(crate) mod render;
mod resolved;
mod resources;
mod sample;
pub(crate) mod settings;
pub(crate) mod smtp;
mod started;
mod subject;
mod unwatched;
mod webhook;

pub(crate) use context::{Context, LivesOn, RenderError};
pub(crate) use message::Rendered;
pub(crate) use render::{render, render_test};
pub(crate) use settings::{MailServer, MailSettings, Recipient, Security, WebhookSettings, webhook_name};
pub(crate) use webhook::{WebhookTarget, render_webhook, render_webhook_test};
