//! Collectors: when each listing of an account is read, and what is passed on. Keeps no state of the
//! account and judges nothing.

mod account;
mod collectors;
mod report;
mod scheduler;
mod sweep;

pub(crate) use account::{Plan, Update};
pub(crate) use report::read_report;
pub(crate) use scheduler::run;
