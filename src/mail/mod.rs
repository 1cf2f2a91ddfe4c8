//! Mails: how they read and how they leave.

mod advice;
mod billing;
mod body;
mod chart;
mod compose;
mod digest;
mod html;
mod message;
mod overflow;
mod payby;
mod png;
pub mod render;
mod sample;
pub mod settings;
pub mod smtp;
mod started;
mod subject;
mod words;

pub use render::{Context, LivesOn, RenderError, Rendered, render, render_test};
pub use settings::{Security, Server, Settings};
