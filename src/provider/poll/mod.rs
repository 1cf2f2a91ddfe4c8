//! Collectors: when each listing of an account is read, and what is passed on. Keeps no state of the
//! account and judges nothing.

mod account;
mod collectors;
mod report;
mod scheduler;
mod sweep;

pub use account::{Plan, Update};
pub use report::read_report;
pub use scheduler::run;
