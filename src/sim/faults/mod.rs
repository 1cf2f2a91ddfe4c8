//! Faults: their sorts, their places and their numbers (docs/provider.md, "Faults"). This module decides which
//! answers they change, and apply.rs changes them.

pub mod apply;

use super::auth::Group;
use serde::{Deserialize, Serialize};

/// The sort of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// an error status: `code` (503), `retry_after` seconds
    #[default]
    Status,
    /// the answer comes `seconds` late
    Delay,
    /// half the body, then silence
    Stall,
    /// the body ends early, as if complete
    TruncatedJson,
    /// not JSON
    InvalidJson,
    /// values of other types in records; `fields` names them, all if absent
    WrongTypes,
    /// The named fields hold `value` (null), which is JSON or anything else.
    NullFields,
    /// a byte order mark, and a tab and a letter of Windows-1251 before the text in each of `fields`
    OddBytes,
    /// a web page instead of JSON: `code` (200)
    HtmlPage,
    /// the answer after `bytes` (64 MiB) of blanks
    HugeBody,
    /// 302 `to` an address
    Redirect,
    /// `next` on another host: `to`
    ForeignNext,
    /// `next` leads to the page itself
    NextLoop,
    /// pages after the first start `by` (1) rows later, as if rows before them had gone
    ShiftingRows,
    /// a page's first row is in its last place as well
    DuplicateRows,
    /// `count` (or `total_count`) is off `by` (1)
    WrongCount,
    /// the connection is closed, after `bytes` of the body if given
    Reset,
    /// 401 for any credentials
    ExpiredCredentials,
}

/// A fault, with its place and its number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub kind: Kind,
    /// hosting, vm, billing, all, or the beginning of a path
    #[serde(default = "everywhere")]
    pub on: String,
    /// The name by which it is switched off.
    pub name: Option<String>,
    /// Only requests of this method.
    pub method: Option<String>,
    /// The number of requests that it affects; without it, until it is switched off.
    pub count: Option<u32>,
    pub code: Option<u16>,
    pub retry_after: Option<u32>,
    pub seconds: Option<f64>,
    pub bytes: Option<u64>,
    pub by: Option<i64>,
    pub to: Option<String>,
    pub fields: Option<Vec<String>>,
    pub value: Option<String>,
}

fn everywhere() -> String {
    "all".to_owned()
}

impl Fault {
    /// A fault of a sort in a place, until it is switched off.
    pub fn new(kind: Kind, on: &str) -> Fault {
        Fault { kind, on: on.to_owned(), ..Fault::default() }
    }

    fn meets(&self, group: Group, method: &str, path: &str) -> bool {
        let here = match self.on.as_str() {
            "all" => true,
            "hosting" => group == Group::Hosting,
            "vm" => group == Group::Vm,
            "billing" => group == Group::Billing,
            prefix => prefix.starts_with('/') && path.starts_with(prefix),
        };
        here && self.method.as_ref().is_none_or(|m| m.eq_ignore_ascii_case(method))
    }
}

/// The faults that are on.
#[derive(Debug, Default)]
pub struct Faults {
    pub on: Vec<Fault>,
}

impl Faults {
    /// Switches off the faults of a name (or of a sort with that name), or all.
    pub fn clear(&mut self, name: Option<&str>) {
        let kind_of =
            |f: &Fault| serde_json::to_value(f.kind).ok().and_then(|v| v.as_str().map(str::to_owned));
        self.on.retain(|f| {
            name.is_some_and(|n| f.name.as_deref() != Some(n) && kind_of(f).as_deref() != Some(n))
        });
    }

    /// The faults that a request meets; each counts it.
    pub fn meet(&mut self, group: Group, method: &str, path: &str) -> Vec<Fault> {
        let mut met = Vec::new();
        self.on.retain_mut(|fault| {
            if !fault.meets(group, method, path) {
                return true;
            }
            met.push(fault.clone());
            match &mut fault.count {
                None => true,
                Some(left) => {
                    *left = left.saturating_sub(1);
                    *left > 0
                }
            }
        });
        met
    }
}
