//! What was, asked of the store for the pages behind the status page. The store is read beside the server's own threads,
//! and never for long.

use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use chrono_tz::Tz;
use hyper::{Response, StatusCode};

use super::body::Body;
use super::head::Head;
use super::past_pages::{self, PastPage};
use super::response::{PLAIN, html, text, typed};
use super::{Context, accounts, query};
use crate::alert::{History, Past};
use crate::model::AccountState;
use crate::view::resource::{DAYS, ResourceFacts};
use crate::view::{IncidentRow, Urgency, history};

/// Incidents on one page.
const MOST: usize = 500;

/// `/resource`.
pub(super) async fn resource(asked: &str, context: &Context) -> Response<Body> {
    const UNKNOWN: &str =
        "404: no such resource is known; ask with account, kind (vm, container, site) and id\n";
    let now = context.clock.now();
    let snapshot = context.snapshot.get();
    let found = query::resource(asked)
        .and_then(|which| Some((snapshot.accounts.get(&which.account)?.clone(), which)));
    let Some((state, which)) = found else { return text(StatusCode::NOT_FOUND, UNKNOWN) };
    let past = Past { from: now - Duration::days(DAYS), keys: Some(which.keys()), account: None, most: MOST };
    let history = match read(context, past).await {
        Ok(history) => history,
        Err(refusal) => return refusal,
    };
    let alerting = context.alerting.get();
    let rows: Vec<&IncidentRow> = alerting.incidents.iter().collect();
    let Some(facts) = ResourceFacts::of(&which, &state, &rows, &history, now) else {
        return text(StatusCode::NOT_FOUND, UNKNOWN);
    };
    let level = if facts.open.is_empty() { Urgency::Fine } else { Urgency::Attention };
    let here = query::of_resource(&which.account, which.kind, which.id);
    let head = head(level, &facts.title, (&here, asked), state.profile.zone(), now);
    html(past_pages::resource(&which, &facts, head))
}

/// `/incidents`.
pub(super) async fn incidents(asked: &str, context: &Context) -> Response<Body> {
    let (now, days) = (context.clock.now(), query::days(asked));
    let account = query::parse(asked).query.account;
    let from = now - Duration::days(days);
    let past = Past { from, keys: None, account: account.clone(), most: MOST };
    let history = match read(context, past).await {
        Ok(history) => history,
        Err(refusal) => return refusal,
    };
    if history.episodes.is_empty()
        && let Some(refusal) = accounts::refused(asked, context)
    {
        return refusal;
    }
    let snapshot = context.snapshot.get();
    let accounts: Vec<&AccountState> = snapshot.accounts.values().map(|state| &**state).collect();
    let rows = history::rows(&history.episodes, |key| history::zone(&accounts, key), now);
    let level = if rows.iter().any(|row| row.is_open) { Urgency::Notice } else { Urgency::Fine };
    let title = past_pages::title(days);
    let here = query::of_past(days, account.as_deref());
    let zone = accounts.first().map_or(Tz::UTC, |state| state.profile.zone());
    let head = head(level, &title, (&here, asked), zone, now);
    let page = PastPage { head, days, account: account.as_deref(), rows: &rows, more: history.more };
    html(past_pages::past(&page))
}

/// Of the page at `here`, and the address of the one that does or does not load itself anew where this one does not or
/// does.
fn head(level: Urgency, title: &str, (here, asked): (&str, &str), zone: Tz, now: DateTime<Utc>) -> Head {
    let refresh = query::parse(asked).refresh;
    let other = if refresh { format!("{here}&refresh=0") } else { here.to_owned() };
    Head::new(level, title, refresh, other, zone, now)
}

async fn read(context: &Context, past: Past) -> Result<History, Response<Body>> {
    let memory = Arc::clone(&context.memory);
    let read = tokio::task::spawn_blocking(move || memory.history(&past)).await;
    read.unwrap_or_else(|_| Err("its reader failed".to_owned())).map_err(|error| {
        let words = format!("503: the store cannot be read now: {error}\n");
        typed(StatusCode::SERVICE_UNAVAILABLE, PLAIN, words)
    })
}
