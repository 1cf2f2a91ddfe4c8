//! Commands that change the simulated account from outside, in the form of a scenario's timetable, of `POST
//! /_sim/…` and of `Simulator::control`. world/commands.rs carries them out.

use super::SimError;
use super::faults::Fault;
use super::time::Span;
use rust_decimal::Decimal;
use serde::Deserialize;
use std::fmt;

/// The VM, site or container of a command.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Which {
    /// by its numeric id
    Id(u64),
    /// by its name (a VM's `vm_id` and a container's `login` do as well); "*" means all
    Name(String),
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Id(id) => write!(f, "{id}"),
            Which::Name(name) => f.write_str(name),
        }
    }
}

impl From<&str> for Which {
    fn from(name: &str) -> Which {
        Which::Name(name.to_owned())
    }
}

/// A change of the account. In TOML and JSON the key `do` names it.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Sets a VM's state, any text. With `after`, it goes on to `then` by itself, or to the usual next state.
    SetVm {
        vm: Which,
        state: String,
        then: Option<String>,
        after: Option<Span>,
    },
    /// The same for a site.
    SetSite {
        site: Which,
        state: String,
        then: Option<String>,
        after: Option<Span>,
    },
    /// Sets a container's state by name or code, and whether it is being transferred.
    SetContainer {
        container: Which,
        state: Option<String>,
        in_transfer: Option<bool>,
    },
    /// Sets an order's state.
    SetOrder {
        order: u64,
        state: String,
    },
    /// Adds a payment.
    Pay {
        amount: Decimal,
    },
    /// Adds a charge without an order.
    Charge {
        amount: Decimal,
        #[serde(default = "one_off")]
        description: String,
    },
    /// Sets the balance.
    SetBalance {
        amount: Decimal,
    },
    /// Sets the balance so that it lasts exactly this number of days.
    LastDays {
        days: u32,
    },
    /// Moves the account's time ahead of the clock. Everything that is due on the way happens.
    Advance {
        by: Span,
    },
    /// Switches a fault on.
    Fault(Fault),
    /// Switches the faults of a name off, or all.
    ClearFaults {
        name: Option<String>,
    },
    /// Makes reports carry this error; without text they are good again.
    ReportError {
        text: Option<String>,
    },
    /// Ends all hosting tokens that were bought, before their time.
    EndTokens {},
    AddVm {
        name: String,
        #[serde(default = "usual_tariff")]
        tariff: String,
    },
    AddContainer {
        name: String,
    },
    AddSite {
        container: Which,
        name: String,
        #[serde(default = "usual_engine")]
        engine: String,
    },
    RemoveVm {
        vm: Which,
    },
    RemoveSite {
        site: Which,
    },
    RemoveContainer {
        container: Which,
    },
}

fn one_off() -> String {
    "One-off service".to_owned()
}

fn usual_tariff() -> String {
    "small".to_owned()
}

fn usual_engine() -> String {
    "php".to_owned()
}

impl Command {
    /// Reads `POST /_sim/<name>` with its JSON body.
    pub fn parse(name: &str, body: &[u8]) -> Result<Command, SimError> {
        let empty = body.iter().all(u8::is_ascii_whitespace);
        let mut fields: serde_json::Map<String, serde_json::Value> = if empty {
            serde_json::Map::new()
        } else {
            serde_json::from_slice(body).map_err(|e| SimError::Command(e.to_string()))?
        };
        fields.insert("do".to_owned(), name.into());
        serde_json::from_value(fields.into()).map_err(|e| SimError::Command(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_misspelt_ones_refused() {
        let set = Command::parse("set_vm", br#"{"vm": 7, "state": "error"}"#).unwrap();
        assert!(matches!(set, Command::SetVm { vm: Which::Id(7), .. }));
        let pay = Command::parse("pay", br#"{"amount": "12.50"}"#).unwrap();
        assert!(matches!(pay, Command::Pay { amount } if amount == Decimal::new(1250, 2)));
        let fault = Command::parse("fault", br#"{"kind": "status", "code": 503, "on": "vm", "count": 2}"#);
        assert!(matches!(fault.unwrap(), Command::Fault(_)));
        assert!(matches!(Command::parse("clear_faults", b"").unwrap(), Command::ClearFaults { name: None }));
        assert!(Command::parse("set_vm", br#"{"vm": 7, "stat": "error"}"#).is_err());
        assert!(Command::parse("explode", b"{}").is_err());
    }
}
