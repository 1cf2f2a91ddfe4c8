//! The daemon: what runs until it is told to stop. Only it and the commands know every other layer.

pub(crate) mod addresses;
pub(crate) mod control;
mod delivery;
mod heartbeat;
pub(crate) mod listen;
pub(crate) mod mails;
mod notes;
mod observer;
pub(crate) mod pipeline;
pub(crate) mod provider;
mod publish;
mod pulse;
pub(crate) mod reload;
mod run;
mod sender;
mod vigil;
mod wake;

pub(crate) use run::{Start, accounts, open_store, run, stop_at_signal};
