//! Reads and writes queries. The page and `/api/v1/status` have `account=…&kind=…&state=…&q=…&page=…`; the page
//! also has `all=1&refresh=0`. The pages behind it have queries of their own.

use hyper::Request;
use hyper::body::Incoming;

use super::Context;
use crate::alert::Key;
use crate::model::{AccountName, Sort};
use crate::view::Query;
use crate::view::resource::ResourceId;

/// The query of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PageQuery {
    pub query: Query,
    /// The number of accounts that are named.
    pub accounts: usize,
    /// The id of a resource.
    pub id: Option<u64>,
    /// The days of the past.
    pub days: i64,
    /// Whether everything is shown: all cards and resources, the orders, polls and mails that work. The address holds
    /// it, so that a reload keeps it.
    pub all: bool,
    /// Whether the page reloads itself each minute.
    pub refresh: bool,
}

/// A request that was admitted.
pub(super) struct Asked<'a> {
    pub(super) request: &'a Request<()>,
    /// Its parameters.
    pub(super) page: PageQuery,
    pub(super) body: Incoming,
    pub(super) context: &'a Context,
}

/// The longest past that can be asked for, in days. Incidents are kept as long.
const MOST_DAYS: i64 = 400;

impl PageQuery {
    /// The resource that the query names.
    pub(super) fn resource(&self) -> Option<ResourceId> {
        let Query { account, kind, .. } = &self.query;
        let (account, kind) = (account.as_ref()?.parse().ok()?, kind.as_ref()?.parse().ok()?);
        Some(ResourceId { account, kind, id: self.id? })
    }
}

/// Reads a query. Each part is optional.
pub(super) fn parse(query: &str) -> PageQuery {
    let list = Query { page: 1, ..Query::default() };
    let mut parsed = PageQuery { query: list, accounts: 0, id: None, days: 30, all: false, refresh: true };
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = value.trim();
        let some = (!value.is_empty()).then(|| value.to_owned());
        match name.as_ref() {
            "account" => {
                parsed.query.account = some;
                parsed.accounts += 1;
            }
            "id" => parsed.id = value.parse().ok(),
            "days" => parsed.days = value.parse().unwrap_or(30).clamp(1, MOST_DAYS),
            "kind" => parsed.query.kind = some,
            "state" => parsed.query.state = some,
            "q" => parsed.query.text = value.to_owned(),
            "page" => parsed.query.page = value.parse().unwrap_or(1),
            "all" => parsed.all = value == "1",
            "refresh" => parsed.refresh = value != "0",
            _ => {}
        }
    }
    parsed
}

/// The page's address with this query and an anchor. All addresses are relative, since a reverse proxy may add
/// a path in front of them.
pub(super) fn link(asked: &PageQuery, part: &str) -> String {
    let PageQuery { query: Query { account, kind, state, text, page }, all, refresh, .. } = asked;
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (name, value) in [("account", account), ("kind", kind), ("state", state)] {
        pairs.extend(value.as_deref().map(|value| (name, value)));
    }
    let page = page.to_string();
    pairs.extend((!text.is_empty()).then_some(("q", text.as_str())));
    pairs.extend((page != "1").then_some(("page", page.as_str())));
    pairs.extend(all.then_some(("all", "1")));
    pairs.extend((!refresh).then_some(("refresh", "0")));
    address("./", pairs) + part
}

/// The page of an incident's resource; `None` if the incident is about none.
pub(super) fn of_incident(key: &Key) -> Option<String> {
    Some(of_resource(&key.account, key.kind.sort()?, key.id()?))
}

/// The page of a resource.
pub(super) fn of_resource(account: &AccountName, kind: Sort, id: u64) -> String {
    let id = id.to_string();
    address("./resource", vec![("account", account.as_str()), ("kind", kind.as_str()), ("id", &id)])
}

/// The page with the incidents of a number of days.
pub(super) fn of_past(days: i64, account: Option<&str>) -> String {
    let days = days.to_string();
    let mut pairs = vec![("days", days.as_str())];
    pairs.extend(account.map(|account| ("account", account)));
    address("./incidents", pairs)
}

fn address(path: &str, pairs: Vec<(&str, &str)>) -> String {
    if pairs.is_empty() {
        return path.to_owned();
    }
    let start = format!("{path}?");
    let length = start.len();
    let mut written = form_urlencoded::Serializer::for_suffix(start, length);
    written.extend_pairs(pairs);
    written.finish()
}
