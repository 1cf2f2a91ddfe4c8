//! The life of incidents, as the contract tells it (section 6): what is told, when, and what is not.
#![allow(clippy::unwrap_used)]

use super::alert_support;
mod balance;
mod causes;
mod collectors;
mod disconnect;
mod escalation;
mod flapping;
mod lifecycle;
mod remembered;
mod start;
mod states;
