//! The query of the page and of `/api/v1/status`, read and written: `account=…&kind=…&state=…&q=…&page=…`, and of the
//! page alone `show=…&all=1&refresh=0`; those of the pages behind it.

use std::collections::BTreeSet;

use crate::alert::Key;
use crate::alert::Sort;
use crate::model::AccountName;
use crate::view::Query;
use crate::view::resource::ResourceId;

/// What the page folds away until a link opens it; that way a refresh closes nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fold {
    /// Resources that are fine.
    Fine,
    Orders,
    /// How polls and mails go, where they go well.
    Data,
}

/// What a page is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PageQuery {
    pub query: Query,
    /// Every card, not the first ten alone.
    pub all: bool,
    pub open: BTreeSet<Fold>,
    /// It loads itself anew each minute.
    pub refresh: bool,
}

/// The longest past that can be asked for, in days: as long as incidents are kept.
const MOST_DAYS: i64 = 400;

impl Fold {
    fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Orders => "orders",
            Self::Data => "data",
        }
    }

    fn read(word: &str) -> Option<Self> {
        [Self::Fine, Self::Orders, Self::Data].into_iter().find(|fold| fold.as_str() == word)
    }
}

/// Reads a query; all of it may be left out.
pub(super) fn parse(query: &str) -> PageQuery {
    let list = Query { page: 1, ..Query::default() };
    let mut parsed = PageQuery { query: list, all: false, open: BTreeSet::new(), refresh: true };
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = value.trim();
        let some = (!value.is_empty()).then(|| value.to_owned());
        match name.as_ref() {
            "account" => parsed.query.account = some,
            "kind" => parsed.query.kind = some,
            "state" => parsed.query.state = some,
            "q" => parsed.query.text = value.to_owned(),
            "page" => parsed.query.page = value.parse().unwrap_or(1),
            "show" => parsed.open.extend(Fold::read(value)),
            "all" => parsed.all = value == "1",
            "refresh" => parsed.refresh = value != "0",
            _ => {}
        }
    }
    parsed
}

/// Does it name an account more than once? Which one is meant then, nobody knows.
pub(super) fn names_several_accounts(query: &str) -> bool {
    form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "account").count() > 1
}

/// The page's own address with this query, at one of its parts. All addresses are relative: a reverse proxy may have put
/// a path in front of them.
pub(super) fn link(asked: &PageQuery, part: &str) -> String {
    let PageQuery { query: Query { account, kind, state, text, page }, all, open, refresh } = asked;
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (name, value) in [("account", account), ("kind", kind), ("state", state)] {
        pairs.extend(value.as_deref().map(|value| (name, value)));
    }
    let page = page.to_string();
    pairs.extend((!text.is_empty()).then_some(("q", text.as_str())));
    pairs.extend((page != "1").then_some(("page", page.as_str())));
    pairs.extend(open.iter().map(|fold| ("show", fold.as_str())));
    pairs.extend(all.then_some(("all", "1")));
    pairs.extend((!refresh).then_some(("refresh", "0")));
    address("./", &pairs) + part
}

/// The page of what an incident is about; `None` where that is no resource.
pub(super) fn of_incident(key: &Key) -> Option<String> {
    Some(of_resource(&key.account, key.kind.sort()?, key.id()?))
}

/// The page of a resource.
pub(super) fn of_resource(account: &AccountName, kind: Sort, id: u64) -> String {
    let id = id.to_string();
    address("./resource", &[("account", account.as_str()), ("kind", kind.as_str()), ("id", &id)])
}

/// The page of the incidents of so many days.
pub(super) fn of_past(days: i64, account: Option<&str>) -> String {
    let days = days.to_string();
    let mut pairs = vec![("days", days.as_str())];
    pairs.extend(account.map(|account| ("account", account)));
    address("./incidents", &pairs)
}

/// Which resource is asked for; `None` where the query names none.
pub(super) fn resource(query: &str) -> Option<ResourceId> {
    Some(ResourceId {
        account: value(query, "account")?.parse().ok()?,
        kind: value(query, "kind")?.parse().ok()?,
        id: value(query, "id")?.parse().ok()?,
    })
}

/// For how many days the past is asked for.
pub(super) fn days(query: &str) -> i64 {
    let days = value(query, "days").and_then(|days| days.parse().ok());
    days.unwrap_or(30).clamp(1, MOST_DAYS)
}

fn value(query: &str, wanted: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.trim().to_owned())
}

fn address(path: &str, pairs: &[(&str, &str)]) -> String {
    if pairs.is_empty() {
        return path.to_owned();
    }
    let start = format!("{path}?");
    let length = start.len();
    let mut written = form_urlencoded::Serializer::for_suffix(start, length);
    written.extend_pairs(pairs);
    written.finish()
}
