//! Faults: their sorts, their places and their numbers (docs/provider.md, "Faults"). This module decides which
//! answers they change, and apply.rs changes them.

pub mod apply;

use super::auth::Group;
use serde::Deserialize;

/// The sort of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
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
    /// pages after the first start `by` (1) rows later, as if rows before them had gone
    ShiftingRows,
    /// a page's first row is in its last place as well
    DuplicateRows,
    /// the connection is closed, after `bytes` of the body if given
    Reset,
}

/// A fault, with its place and its number.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub kind: Kind,
    /// hosting, vm, billing, all, or the beginning of a path
    #[serde(default = "everywhere")]
    pub on: String,
    /// The name by which it is switched off.
    pub name: Option<String>,
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

    fn meets(&self, group: Group, path: &str) -> bool {
        match self.on.as_str() {
            "all" => true,
            "hosting" => group == Group::Hosting,
            "vm" => group == Group::Vm,
            "billing" => group == Group::Billing,
            prefix => prefix.starts_with('/') && path.starts_with(prefix),
        }
    }
}

/// The faults that are on.
#[derive(Debug, Default)]
pub struct Faults {
    pub on: Vec<Fault>,
}

impl Faults {
    /// Switches off the faults of a name, or all.
    pub fn clear(&mut self, name: Option<&str>) {
        self.on.retain(|fault| name.is_some() && fault.name.as_deref() != name);
    }

    /// The faults that a request meets; each counts it.
    pub fn meet(&mut self, group: Group, path: &str) -> Vec<Fault> {
        let mut met = Vec::new();
        self.on.retain_mut(|fault| {
            if !fault.meets(group, path) {
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
