//! What people read, made once for page, JSON and terminal, which only lay it out. Pure: what is known, the
//! incidents and the time in, values and words out.

pub(crate) mod advice;
pub(crate) mod billing;
pub(crate) mod calendar;
pub(crate) mod cards;
mod causes;
pub(crate) mod chart;
pub(crate) mod cut_off;
pub(crate) mod decided;
pub(crate) mod headline;
pub(crate) mod health;
pub(crate) mod history;
mod incident_rows;
pub(crate) mod incidents;
pub(crate) mod links;
pub(crate) mod lookup;
pub(crate) mod records;
pub(crate) mod resource;
pub(crate) mod resources;
pub(crate) mod said;
pub(crate) mod sentence;
pub(crate) mod status;
mod troubles;
pub(crate) mod why;
pub(crate) mod words;

pub(crate) use billing::{Billing, BillingFacts, Due, LastReading, Orders};
pub(crate) use cards::{Card, Cards};
pub(crate) use cut_off::CutOff;
pub(crate) use headline::Urgency;
pub(crate) use health::Health;
pub(crate) use incidents::{Alerting, IncidentRow, OutboxSummary};
pub(crate) use links::Link;
pub(crate) use records::PolledRecords;
pub(crate) use resources::{Query, ResourceRow, StateCount};
pub(crate) use status::{About, AccountStatus, CollectorRow, DaemonTime, Status};
