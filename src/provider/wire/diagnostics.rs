//! The problems in the records of a page, with their JSON paths, and counts by field.

use std::collections::BTreeMap;
use std::fmt::Display;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::field::{Field, Wire};
use crate::model::time::Stamp;

/// The number of problems that are kept of one listing. The counts go on.
const KEPT: usize = 8;

/// All values of the `field` label of [`crate::provider::Observer::field_problem`]. `….state` also counts
/// unknown states.
#[rustfmt::skip]
pub(crate) const FIELDS: &[&str] = &[
    "vm.vm_id", "vm.name", "vm.type", "vm.ncpu", "vm.memsize", "vm.state", "vm.monitoring_enabled",
    "vm.ips", "vm.storages",
    "container.login", "container.name", "container.service_address", "container.memory_limit",
    "container.quota", "container.state", "container.created", "container.updated",
    "container.is_in_transfer",
    "site.state", "site.name", "site.main_alias", "site.engine", "site.engine_version", "site.num_workers",
    "site.force_https", "site.certificate_id", "site.created", "site.updated",
    "ip.ipvalue", "ip.vm",
    "report.date", "report.edd", "report.expected_balance",
    "moment.amount", "moment.positive", "moment.order",
    "order.state", "order.comment", "order.tariff",
    "tariff.generic_type", "tariff.name", "tariff.short_name",
    "charge.resource_uri",
];

/// The facts about the account that decoding needs.
#[derive(Clone, Debug)]
pub(crate) struct DecodeContext {
    pub zone: Option<Tz>,
    pub container_states: BTreeMap<i64, String>,
}

/// A record that lacks a required field. The problem is noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rejected {
    /// The record's id, if that could be read.
    pub id: Option<u64>,
}

impl Rejected {
    pub(super) fn with_id(self, id: impl Into<u64>) -> Self {
        Self { id: Some(id.into()) }
    }
}

/// A row of the wire that becomes one of the model.
pub(crate) trait Record: for<'de> Wire<'de> + Default + Send + 'static {
    type Model: Send + 'static;
    /// The part that the row itself does not hold: the container of a site. `()` for most.
    type Parent: Copy + Send + 'static;

    fn into_model(self, parent: Self::Parent, reader: &mut Reader<'_>) -> Result<Self::Model, Rejected>;
}

/// The problems of one listing or record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Diagnostics {
    /// The first few, each behind its JSON path (`$.results[3].memsize: the text "2 GB"`). Problems that rejected a
    /// record come before those of a field.
    pub problems: Vec<String>,
    refusals: usize,
    /// The counts by field since they were last reported.
    pub fields: BTreeMap<&'static str, u64>,
}

impl Diagnostics {
    pub(crate) fn problem(&mut self, text: impl FnOnce() -> String) {
        if self.problems.len() < KEPT {
            self.problems.push(text());
        }
    }

    /// Notes a problem that rejects a record.
    pub(crate) fn refusal(&mut self, path: impl FnOnce() -> String, what: impl Display) {
        if self.refusals < KEPT {
            self.problems.insert(self.refusals, format!("{}: {what}, so the record is left out", path()));
            self.problems.truncate(KEPT);
            self.refusals += 1;
        }
    }
}

/// Reads the fields of one row and notes their problems.
pub(crate) struct Reader<'a> {
    pub context: &'a DecodeContext,
    pub notes: &'a mut Diagnostics,
    /// The path of the row: the list's name and the index, or `None` for a record alone.
    pub list: Option<(&'static str, usize)>,
}

impl Reader<'_> {
    /// A required field of the record. `name` is `kind.field`.
    pub(crate) fn require<T>(&mut self, name: &'static str, field: Field<T>) -> Result<T, Rejected> {
        field.value().or_else(|came| self.refuse(name, came))
    }

    /// A state, which is required and has a limited length.
    pub(crate) fn state(&mut self, name: &'static str, field: Field<Box<str>>) -> Result<Box<str>, Rejected> {
        let state = self.require(name, field)?;
        if is_state(&state) { Ok(state) } else { self.refuse(name, "empty or far too long for a state") }
    }

    /// A field that should be there.
    pub(crate) fn take<T>(&mut self, name: &'static str, field: Field<T>) -> Option<T> {
        field.value().map_or_else(|came| self.odd(name, came), Some)
    }

    /// A field that may be null by the interface. It may be missing too.
    pub(crate) fn maybe<T>(&mut self, name: &'static str, field: Field<T>) -> Option<T> {
        if matches!(field, Field::Missing | Field::Null) { None } else { self.take(name, field) }
    }

    /// A datetime that should be there. If the account's zone is unknown, one without offset is absent and
    /// counts as no problem.
    pub(crate) fn moment(&mut self, name: &'static str, field: Field<Stamp>) -> Option<DateTime<Utc>> {
        self.take(name, field)?.at(self.context.zone)
    }

    /// A datetime that may be null.
    pub(crate) fn maybe_moment(&mut self, name: &'static str, field: Field<Stamp>) -> Option<DateTime<Utc>> {
        self.maybe(name, field)?.at(self.context.zone)
    }

    /// Notes a field as odd and leaves it absent.
    pub(crate) fn odd<T>(&mut self, name: &'static str, what: impl Display) -> Option<T> {
        self.unknown(name);
        let list = self.list;
        self.notes.problem(|| format!("{}: {what}", path(list, name)));
        None
    }

    /// Notes why a row is rejected.
    pub(crate) fn refuse<T>(&mut self, name: &'static str, what: impl Display) -> Result<T, Rejected> {
        let list = self.list;
        self.notes.refusal(|| path(list, name), what);
        Err(Rejected { id: None })
    }

    /// Counts an odd value, such as an unknown state.
    pub(crate) fn unknown(&mut self, name: &'static str) {
        *self.notes.fields.entry(name).or_default() += 1;
    }
}

/// Whether a text can be a state. States become labels, so empty and very long texts are none.
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

/// Accepts a row of the wire as a list's element: any object is accepted.
macro_rules! row {
    ($($name:ident),* $(,)?) => {$(
        impl<'de> crate::provider::wire::field::Wire<'de> for $name {
            fn object<A: serde::de::MapAccess<'de>>(
                object: A,
            ) -> Result<crate::provider::wire::field::Field<Self>, A::Error> {
                let row = serde::Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(object));
                row.map(crate::provider::wire::field::Field::Value)
            }
        }
    )*};
}
pub(crate) use row;
