//! The account that a query names.

use hyper::{Response, StatusCode};

use super::Context;
use super::body::Body;
use super::query::PageQuery;
use super::response::{PLAIN, typed};
use crate::model::{AccountName, sanitize};

/// Refuses a query for an account that is not watched: an empty page would look healthy.
pub(super) fn refused(asked: &PageQuery, context: &Context) -> Option<Response<Body>> {
    let account = asked.query.account.as_ref()?;
    let snapshot = context.snapshot.get();
    let names: Vec<&str> = snapshot.accounts.keys().map(AccountName::as_str).collect();
    if names.contains(&account.as_str()) {
        return None;
    }
    let account = sanitize::one_line(account, 40);
    let known = if names.is_empty() { "none is configured".to_owned() } else { names.join(", ") };
    let words = format!("404: there is no account '{account}'; the accounts: {known}\n");
    Some(typed(StatusCode::NOT_FOUND, PLAIN, words))
}
