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
pub mod render;
mod resources;
mod sample;
pub mod settings;
pub mod smtp;
mod started;
mod subject;

pub use context::{Context, LivesOn, RenderError};
pub use message::Rendered;
pub use render::{render, render_test};
pub use settings::{Security, Server, Settings};
