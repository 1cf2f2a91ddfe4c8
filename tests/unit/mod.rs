//! Tests of the library's inner parts. They are compiled into the library, so that these parts need not be
//! public. They start no binary.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/certificates.rs"]
mod certificates;
#[path = "../common/smtp.rs"]
mod smtp;
#[path = "../common/tools.rs"]
mod tools;

pub(crate) mod account;
mod alert_support;
mod config_support;
mod decoding;
mod layers_support;
mod mail_support;
mod server;

mod alert_histories;
mod alert_stories;
mod api_fixtures;
mod circles;
mod cli;
mod config_layers;
mod config_mistakes;
mod config_reference;
mod dashboards;
mod docs;
mod generated;
mod http_cards;
mod http_front;
mod http_pages;
mod http_past;
mod http_server;
mod http_status;
mod http_tls;
mod languages;
mod layers;
mod mail_billing;
mod mail_digest;
mod mail_docs;
mod mail_golden;
mod mail_headers;
mod mail_resources;
mod mail_subjects;
mod mail_telegram;
mod mail_webhook;
mod metrics_golden;
mod metrics_page;
mod packaging;
mod properties;
mod rules;
mod sentences;
mod smtp_transport;
mod store;
mod store_asked;
mod store_chats;
mod store_log;
mod store_upgrade;
mod systemd;
mod targets;
mod terminal_doctor;
mod terminal_forecast;
mod terminal_records;
mod terminal_rehearsal;
mod terminal_status;
mod trust;
mod view_incidents;
