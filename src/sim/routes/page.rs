//! The three ways in which lists are paged: offset and limit (hosting), page numbers (VM API), `meta`
//! (charges). A page is cut out of ordered ids or rows, and only the page is copied.

use super::Request;
use crate::answer::{Answer, Outcome, Refusal};
use serde_json::{Value, json};
use std::ops::Range;

/// Offset and limit of a hosting list (section 8: 1 to 100, from 0). The interface does not show the default.
pub(super) fn offset_limit(rq: &Request<'_>, most: i64) -> Result<(usize, usize), Refusal> {
    let mut refusal = Refusal { status: 400, ..Refusal::default() };
    let mut read = |name: &str, default: i64, low: i64, high: i64| {
        let Some(text) = rq.param(name) else { return default };
        match text.parse::<i64>() {
            Ok(n) if (low..=high).contains(&n) => n,
            Ok(_) | Err(_) => {
                let message = if high == i64::MAX {
                    format!("must be a number from {low}")
                } else {
                    format!("must be a number from {low} to {high}")
                };
                refusal.errors.insert(name.to_owned(), vec![message]);
                default
            }
        }
    };
    let (offset, limit) = (read("offset", 0, 0, i64::MAX), read("limit", 20, 1, most));
    if !refusal.errors.is_empty() {
        return Err(refusal);
    }
    Ok((usize::try_from(offset).unwrap_or(usize::MAX), usize::try_from(limit).unwrap_or(20)))
}

/// The indexes of a page's rows, shifted if a fault requires it.
fn cut(count: usize, offset: usize, limit: usize, shift: i64) -> Range<usize> {
    let shifted = if offset == 0 { 0 } else { (offset as i64).saturating_add(shift).max(0) };
    let from = usize::try_from(shifted).unwrap_or(0).min(count);
    from..from.saturating_add(limit).min(count)
}

/// `{"count", "entities"}` (section 4.1 to 4.4).
pub(super) fn entities<T>(rq: &Request<'_>, rows: &[T], show: impl Fn(&T) -> Option<Value>) -> Outcome {
    let (offset, limit) = offset_limit(rq, 100)?;
    let page = &rows[cut(rows.len(), offset, limit, rq.shift)];
    let entities: Vec<Value> = page.iter().filter_map(show).collect();
    Ok(Answer::json(200, &json!({ "count": rows.len(), "entities": entities })))
}

/// `{"count", "next", "previous", "results"}` with page numbers (sections 4.5 to 4.7).
pub(super) fn numbered<T>(rq: &Request<'_>, rows: &[T], show: impl Fn(&T) -> Value) -> Outcome {
    let size = rq.args.vm_page_size as usize;
    let page: usize = match rq.param("page").map(str::parse) {
        None => 1,
        Some(Ok(page)) => page,
        Some(Err(_)) => 0,
    };
    let offset = page.saturating_sub(1).saturating_mul(size);
    if page == 0 || (page > 1 && offset >= rows.len()) {
        return Err(Refusal::new(404, "page", "no such page"));
    }
    let url = |page: usize| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in rq.query.iter().filter(|(name, _)| name != "page") {
            query.append_pair(name, value);
        }
        query.append_pair("page", &page.to_string());
        format!("http://{}{}?{}", rq.host, rq.path, query.finish())
    };
    let results = &rows[cut(rows.len(), offset, size, rq.shift)];
    let body = json!({
        "count": rows.len(),
        "next": (offset + size < rows.len()).then(|| url(page + 1)),
        "previous": (page > 1).then(|| url(page - 1)),
        "results": results.iter().map(show).collect::<Vec<Value>>(),
    });
    Ok(Answer::json(200, &body))
}

/// `{"meta", "objects"}` (section 4.8), the last row first. The interface does not show the order.
pub(super) fn newest_first<T>(rq: &Request<'_>, rows: &[T], show: impl Fn(&T) -> Value) -> Outcome {
    let count = rows.len();
    let (offset, limit) = offset_limit(rq, 1000)?;
    let url = |offset: usize| format!("{}?limit={limit}&offset={offset}", rq.path);
    let meta = json!({
        "limit": limit,
        "offset": offset,
        "next": (offset.saturating_add(limit) < count).then(|| url(offset + limit)),
        "previous": (offset > 0).then(|| url(offset.saturating_sub(limit))),
        "total_count": count,
    });
    let page = cut(count, offset, limit, rq.shift);
    let objects: Vec<Value> = rows.iter().rev().skip(page.start).take(page.len()).map(show).collect();
    Ok(Answer::json(200, &json!({ "meta": meta, "objects": objects })))
}
