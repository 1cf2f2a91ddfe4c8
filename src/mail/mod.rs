//! Mails: how they read and how they leave.

mod advice;
mod body;
mod chart;
mod context;
mod digest;
mod disconnect;
mod html;
mod message;
mod overflow;
mod pay_by;
mod png;
pub(crate) mod render;
mod resources;
mod sample;
pub(crate) mod settings;
pub(crate) mod smtp;
mod started;
mod subject;

pub(crate) use context::{Context, LivesOn, RenderError};
pub(crate) use message::Rendered;
pub(crate) use render::{render, render_test};
pub(crate) use settings::{Security, Server, Settings};
