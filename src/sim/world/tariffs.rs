//! The simulated price list. The interface lists no tariffs (section 4.5), so any name buys a VM. These are the
//! names that the generated account uses.

use super::ledger::Tariff;
use super::period::{Period, Unit};
use rust_decimal::Decimal;
use std::collections::HashMap;
use std::sync::Arc;

/// CPUs, memory in MB and monthly price (in whole units) of a VM tariff.
pub(crate) const VM_TARIFFS: [(&str, i64, i64, i64); 5] = [
    ("micro", 1, 512, 190),
    ("small", 1, 1024, 350),
    ("medium", 2, 2048, 690),
    ("large", 4, 8192, 1990),
    ("xlarge", 8, 16384, 4490),
];

/// CPUs, memory and price of an unknown VM tariff.
const OTHER_VM: (i64, i64, i64) = (1, 1024, 300);

/// CPUs and memory of a VM tariff.
pub(crate) fn vm_size(kind: &str) -> (i64, i64) {
    let known = VM_TARIFFS.iter().find(|t| t.0 == kind);
    known.map_or((OTHER_VM.0, OTHER_VM.1), |t| (t.1, t.2))
}

/// The tariffs so far. Equal ones are shared.
#[derive(Debug, Default)]
pub struct Tariffs {
    by_name: HashMap<String, Arc<Tariff>>,
    next: u64,
}

/// The values of a requested tariff.
pub struct Wanted<'a> {
    pub name: String,
    pub short_name: &'a str,
    pub amount: Decimal,
    pub billing: Period,
    pub charge: Period,
    pub generic_type: Option<&'a str>,
    pub independent: bool,
    pub kind: &'a str,
}

impl Tariffs {
    /// The tariff of this name and price, which is made if needed.
    pub fn get(&mut self, wanted: Wanted<'_>) -> Arc<Tariff> {
        let mut amount = wanted.amount;
        amount.rescale(2);
        let key = format!("{}|{amount}|{:?}|{:?}", wanted.name, wanted.billing, wanted.charge);
        if let Some(known) = self.by_name.get(&key) {
            return Arc::clone(known);
        }
        self.next += 1;
        let tariff = Arc::new(Tariff {
            id: 100 + self.next,
            amount,
            billing: wanted.billing,
            charge: wanted.charge,
            generic_type: wanted.generic_type.map(str::to_owned),
            independent: wanted.independent,
            name: wanted.name.into(),
            short_name: wanted.short_name.to_owned(),
            kind: wanted.kind.to_owned(),
        });
        self.by_name.insert(key, Arc::clone(&tariff));
        tariff
    }

    /// A VM's tariff: billed by the month, charged by the day.
    pub fn vm(&mut self, kind: &str) -> Arc<Tariff> {
        let price = VM_TARIFFS.iter().find(|t| t.0 == kind).map_or(OTHER_VM.2, |t| t.3);
        self.get(Wanted {
            name: format!("Virtual server {kind}"),
            short_name: kind,
            amount: Decimal::from(price),
            billing: Period(1, Unit::Month),
            charge: Period(1, Unit::Day),
            generic_type: Some("dedicated"),
            independent: true,
            kind: "std",
        })
    }

    /// A container's tariff: 1.10 a day for each started 256 MB, billed and charged by the day.
    pub fn container(&mut self, memory_mb: i64) -> Arc<Tariff> {
        let units = (memory_mb.max(1) + 255) / 256;
        self.get(Wanted {
            name: format!("Cloud hosting {} MB", units * 256),
            short_name: "cloud",
            amount: Decimal::new(110 * units, 2),
            billing: Period(1, Unit::Day),
            charge: Period(1, Unit::Day),
            generic_type: Some("hosting"),
            independent: true,
            kind: "pro",
        })
    }
}
