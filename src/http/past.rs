//! The past in the store, for the pages behind the status page. The store is read outside of the server's own
//! threads, for a short time.

use std::sync::Arc;

use chrono::Duration;
use hyper::{Response, StatusCode};

use super::body::Body;
use super::head::Head;
use super::past_pages::{self, PastPage};
use super::query::{Asked, PageQuery};
use super::response::{PLAIN, html, text, typed};
use super::{Context, language, query};
use crate::alert::{History, Key, Past};
use crate::model::zone_of;
use crate::view::resource::{DAYS, ResourceFacts};
use crate::view::{Reader, history};

/// The number of incidents on one page.
const MOST: usize = 500;

/// `/resource`.
pub(super) async fn resource(Asked { page: asked, request, context, .. }: Asked<'_>) -> Response<Body> {
    const UNKNOWN: &str =
        "404: no such resource is known; ask with account, kind (vm, container, site) and id\n";
    let now = context.clock.now();
    let snapshot = context.snapshot.get();
    let found =
        asked.resource().and_then(|which| Some((snapshot.accounts.get(&which.account)?.clone(), which)));
    let Some((state, which)) = found else { return text(StatusCode::NOT_FOUND, UNKNOWN) };
    let past = Past { from: now - Duration::days(DAYS), keys: Some(which.keys()), account: None, most: MOST };
    let history = match read(context, past).await {
        Ok(history) => history,
        Err(refusal) => return refusal,
    };
    let alerting = context.alerting.get();
    let rows: Vec<_> = alerting.incidents.iter().collect();
    let language = language::of(request.headers(), &[&state]);
    let reader = Reader::new(language, now).of(Some(&state));
    let Some(facts) = ResourceFacts::of(&which, &state, &rows, &history, reader) else {
        return text(StatusCode::NOT_FOUND, UNKNOWN);
    };
    let here = query::of_resource(&which.account, which.kind, which.id);
    let head = head(&facts.title, here, &asked, reader);
    html(past_pages::resource(&which, &facts, head))
}

/// `/incidents`.
pub(super) async fn incidents(Asked { page: asked, request, context, .. }: Asked<'_>) -> Response<Body> {
    let (now, days, account) = (context.clock.now(), asked.days, asked.query.account.as_deref());
    let past = Past {
        from: now - Duration::days(days),
        keys: None,
        account: account.map(str::to_owned),
        most: MOST,
    };
    let history = match read(context, past).await {
        Ok(history) => history,
        Err(refusal) => return refusal,
    };
    let snapshot = context.snapshot.get();
    let accounts = asked.query.accounts(&snapshot);
    let zone = |key: &Key| zone_of(snapshot.accounts.get(&key.account).map(AsRef::as_ref));
    let language = language::of(request.headers(), &accounts);
    let reader = Reader::new(language, now).of(accounts.first().copied());
    let rows = history::rows(&history.episodes, zone, reader);
    let title = past_pages::title(days, language);
    let here = query::of_past(days, account);
    let head = head(&title, here, &asked, reader);
    let page = PastPage { head, days, account, rows: &rows, more: history.more };
    html(past_pages::past(&page))
}

/// The top of the page at `here`. `other` is the address of the same page with the other setting of reloading.
fn head(title: &str, here: String, asked: &PageQuery, reader: Reader) -> Head {
    let other = if asked.refresh { format!("{here}&refresh=0") } else { here };
    Head::new(title, asked.refresh, other, reader)
}

async fn read(context: &Context, past: Past) -> Result<History, Response<Body>> {
    let memory = Arc::clone(&context.memory);
    let read = tokio::task::spawn_blocking(move || memory.history(&past)).await;
    read.unwrap_or_else(|_| Err("its reader failed".to_owned())).map_err(|error| {
        let words = format!("503: the store cannot be read now: {error}\n");
        typed(StatusCode::SERVICE_UNAVAILABLE, PLAIN, words)
    })
}
