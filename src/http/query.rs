//! The query of the page and of `/api/v1/status`, read and written: `account=…&kind=…&state=…&q=…&page=…`.

use crate::view::Query;

/// Reads a query; all of it may be left out.
pub(super) fn parse(query: &str) -> Query {
    let mut parsed = Query { page: 1, ..Query::default() };
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = value.trim();
        let some = (!value.is_empty()).then(|| value.to_owned());
        match name.as_ref() {
            "account" => parsed.account = some,
            "kind" => parsed.kind = some,
            "state" => parsed.state = some,
            "q" => parsed.text = value.to_owned(),
            "page" => parsed.page = value.parse().unwrap_or(1),
            _ => {}
        }
    }
    parsed
}

/// The page's own address with this query, at the list of resources.
pub(super) fn link(query: &Query) -> String {
    let mut pairs = form_urlencoded::Serializer::for_suffix(String::from("/?"), "/?".len());
    let Query { account, kind, state, text, page } = query;
    for (name, value) in [("account", account), ("kind", kind), ("state", state)] {
        if let Some(value) = value {
            pairs.append_pair(name, value);
        }
    }
    if !text.is_empty() {
        pairs.append_pair("q", text);
    }
    if *page > 1 {
        pairs.append_pair("page", &page.to_string());
    }
    pairs.finish() + "#resources"
}
