//! What went wrong in a page besides the page: problems with their JSON path, and counts by field.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde::de::DeserializeOwned;

use super::field::{Field, Stamp, Wire};

/// Problems kept of one listing; the counts go on.
const KEPT: usize = 8;

/// Every value of the `field` label of [`crate::provider::Observer::field_problem`]. `….state` also counts
/// states that nobody here knows.
pub(crate) const FIELDS: &[&str] = &[
    "vm.vm_id",
    "vm.name",
    "vm.type",
    "vm.ncpu",
    "vm.memsize",
    "vm.state",
    "vm.monitoring_enabled",
    "vm.ips",
    "vm.storages",
    "container.login",
    "container.name",
    "container.service_address",
    "container.memory_limit",
    "container.quota",
    "container.state",
    "container.created",
    "container.updated",
    "container.is_in_transfer",
    "site.state",
    "site.name",
    "site.main_alias",
    "site.engine",
    "site.engine_version",
    "site.num_workers",
    "site.force_https",
    "site.certificate_id",
    "site.created",
    "site.updated",
    "ip.ipvalue",
    "ip.vm",
    "report.date",
    "report.edd",
    "report.expected_balance",
    "moment.positive",
    "moment.order",
    "order.state",
    "order.comment",
    "order.tariff",
    "tariff.generic_type",
    "tariff.name",
    "tariff.short_name",
    "charge.description",
    "charge.price",
    "charge.quantity",
    "charge.total",
    "charge.resource_uri",
];

/// What decoding needs to know of the account.
#[derive(Clone, Debug)]
pub(crate) struct DecodeContext {
    pub zone: Option<Tz>,
    pub container_states: BTreeMap<i64, String>,
}

/// A record that lacks what it can't do without; the problem is noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rejected;

/// A row of the wire that becomes one of the model.
pub(crate) trait Record: DeserializeOwned + Send + 'static {
    type Model: Send + 'static;
    /// What the row does not hold itself: the container of a site. `()` for most.
    type Parent: Copy + Send + 'static;

    fn into_model(self, parent: Self::Parent, reader: &mut Reader<'_>) -> Result<Self::Model, Rejected>;

    /// About how many bytes of memory a row takes for as long as it is known.
    fn weight(row: &Self::Model) -> usize;
}

/// What a row of a listing takes whatever it holds: itself, its place among the others, its incident.
pub(crate) const ROW_BYTES: usize = 256;

/// Of texts that may be absent.
pub(crate) fn lengths<'a>(texts: impl IntoIterator<Item = &'a Option<Box<str>>>) -> usize {
    texts.into_iter().flatten().map(|text| text.len()).sum()
}

/// Problems of one listing or record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Diagnostics {
    /// The first few, each after its JSON path (`$.results[3].memsize: a string`); those that cost a record before those
    /// that cost a field.
    pub problems: Vec<String>,
    refusals: usize,
    pub fields: BTreeMap<&'static str, u64>,
}

impl Diagnostics {
    pub(crate) fn problem(&mut self, text: impl FnOnce() -> String) {
        if self.problems.len() < KEPT {
            self.problems.push(text());
        }
    }

    /// A problem that costs a record.
    pub(crate) fn refusal(&mut self, path: impl FnOnce() -> String, what: &'static str) {
        if self.refusals < KEPT {
            self.problems.insert(self.refusals, format!("{}: {what}, so the record is left out", path()));
            self.problems.truncate(KEPT);
            self.refusals += 1;
        }
    }

    /// Takes in what a later page noted.
    pub(crate) fn add(&mut self, mut later: Self) {
        let others = later.problems.split_off(later.refusals);
        self.problems.splice(self.refusals..self.refusals, later.problems);
        self.problems.extend(others);
        self.problems.truncate(KEPT);
        self.refusals = (self.refusals + later.refusals).min(KEPT);
        for (field, count) in later.fields {
            *self.fields.entry(field).or_default() += count;
        }
    }
}

/// Reads the fields of one row and notes what is wrong with them.
pub(crate) struct Reader<'a> {
    pub context: &'a DecodeContext,
    pub notes: &'a mut Diagnostics,
    /// The path of the row: the list's name and the row's place, or of a record alone.
    pub list: Option<(&'static str, usize)>,
}

impl Reader<'_> {
    /// A field that the record can't do without. `name` is `kind.field`.
    pub(crate) fn require<T>(&mut self, name: &'static str, field: Field<T>) -> Result<T, Rejected> {
        field.value().or_else(|came| self.refuse(name, came))
    }

    /// A state: required, and short enough to be one.
    pub(crate) fn state(&mut self, name: &'static str, field: Field<Box<str>>) -> Result<Box<str>, Rejected> {
        let state = self.require(name, field)?;
        if is_state(&state) { Ok(state) } else { self.refuse(name, "empty or far too long for a state") }
    }

    /// A field that should be there.
    pub(crate) fn take<T>(&mut self, name: &'static str, field: Field<T>) -> Option<T> {
        field.value().map_or_else(|came| self.odd(name, came), Some)
    }

    /// A field that the interface lets be null; left out is as good.
    pub(crate) fn maybe<T>(&mut self, name: &'static str, field: Field<T>) -> Option<T> {
        if matches!(field, Field::Missing | Field::Null) { None } else { self.take(name, field) }
    }

    /// A datetime that should be there. Without the account's zone a naive one is absent, which is
    /// nobody's mistake.
    pub(crate) fn moment(&mut self, name: &'static str, field: Field<Stamp>) -> Option<DateTime<Utc>> {
        let stamp = self.take(name, field)?;
        self.resolve(name, &stamp)
    }

    /// A datetime that may be null.
    pub(crate) fn maybe_moment(&mut self, name: &'static str, field: Field<Stamp>) -> Option<DateTime<Utc>> {
        let stamp = self.maybe(name, field)?;
        self.resolve(name, &stamp)
    }

    fn resolve(&mut self, name: &'static str, stamp: &Stamp) -> Option<DateTime<Utc>> {
        stamp.moment(self.context.zone).unwrap_or_else(|()| self.odd(name, "no datetime"))
    }

    /// Notes a field as odd and leaves it absent.
    pub(crate) fn odd<T>(&mut self, name: &'static str, what: &'static str) -> Option<T> {
        self.unknown(name);
        let list = self.list;
        self.notes.problem(|| format!("{}: {what}", path(list, name)));
        None
    }

    /// Notes why a row is rejected.
    pub(crate) fn refuse<T>(&mut self, name: &'static str, what: &'static str) -> Result<T, Rejected> {
        let list = self.list;
        self.notes.refusal(|| path(list, name), what);
        Err(Rejected)
    }

    /// Counts what is odd, such as a state that nobody here knows.
    pub(crate) fn unknown(&mut self, name: &'static str) {
        *self.notes.fields.entry(name).or_default() += 1;
    }
}

/// A state ends up as a label: an empty or endless one is none.
pub(crate) fn is_state(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= 128
}

/// `vm.memsize` of the fourth of `results` → `$.results[3].memsize`.
fn path(list: Option<(&'static str, usize)>, name: &str) -> String {
    let field = name.split_once('.').map_or(name, |(_, field)| field);
    match list {
        Some((list, index)) => format!("$.{list}[{index}].{field}"),
        None => format!("$.{field}"),
    }
}

/// Makes a row of the wire acceptable as a list's element: any object will do.
macro_rules! row {
    ($($name:ident),* $(,)?) => {$(
        impl<'de> crate::provider::wire::field::Wire<'de> for $name {
            fn object<A: serde::de::MapAccess<'de>>(object: A) -> Result<Option<Self>, A::Error> {
                serde::Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(object)).map(Some)
            }
        }
    )*};
}
pub(crate) use row;

/// A record that is a list's element.
pub(crate) trait RowOf: Record + for<'de> Wire<'de> {}
impl<T: Record + for<'de> Wire<'de>> RowOf for T {}
