//! The life of incidents, as section 6 of the contract describes it: readings, time, acts of operators and answers
//! of mail servers, and the mails that recipients get of them. Most are stories, told as text.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::alert_support::{
    Daemon, Fate, Mail, NOTHING, Received, World, bill, cut_off_in, moment, money, report, rich, start,
    stories, stories_of, vm,
};

mod balance;
mod causes;
mod clock;
mod collectors;
mod cut_off;
mod delivery;
mod exported;
mod first_start;
mod flapping;
mod lifecycle;
mod many_accounts;
mod muted;
mod order_cost;
mod overdue;
mod people;
mod reports;
mod states;
mod unwatched;
