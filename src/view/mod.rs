//! The words and values that people read, made once for page, JSON and terminal, which only lay them out. Pure:
//! snapshot, incidents and time in, values and words out.

pub(crate) mod advice;
pub(crate) mod billing;
pub(crate) mod calendar;
pub(crate) mod cards;
pub(crate) mod chart;
pub(crate) mod cut_off;
pub(crate) mod decided;
pub(crate) mod figure;
pub(crate) mod forms;
pub(crate) mod headline;
pub(crate) mod health;
pub(crate) mod history;
mod incident_rows;
pub(crate) mod incidents;
pub(crate) mod links;
pub(crate) mod lookup;
mod outbox;
mod payer;
mod png;
mod reader;
pub(crate) mod reasons;
pub(crate) mod records;
pub(crate) mod resource;
pub(crate) mod resources;
pub(crate) mod said;
pub(crate) mod sentence;
pub(crate) mod status;
mod subjects;
mod troubles;
pub(crate) mod why;
pub(crate) mod words;

pub(crate) use billing::{Billing, Due, Orders};
pub(crate) use cards::{Card, Cards};
pub(crate) use cut_off::CutOff;
pub(crate) use headline::Urgency;
pub(crate) use incident_rows::Alerting;
pub(crate) use incidents::IncidentRow;
pub(crate) use links::Link;
pub(crate) use payer::Payer;
pub(crate) use reader::Reader;
pub(crate) use resources::{Query, ResourceRow, StateCount};
pub(crate) use status::{About, AccountStatus, CollectorRow, Status};
pub(crate) use troubles::MAIL_WAITS_AT_MOST;
