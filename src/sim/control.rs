//! Commands that change the simulated account from outside, in the form of a scenario's timetable, of `POST
//! /_sim/…` and of `Simulator::control`. world/commands.rs carries them out.

use super::SimError;
use super::faults::Fault;
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::Value;

/// The VM, site or container of a command: its id, its name (a VM's `vm_id` and a container's `login` do as well), or "*"
/// for all.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Value")]
pub struct Which(pub(super) String);

impl From<Value> for Which {
    fn from(written: Value) -> Which {
        Which(written.as_str().map_or_else(|| written.to_string(), str::to_owned))
    }
}

/// A change of the account. In TOML and JSON the key `do` names it.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Sets a VM's state, any text.
    SetVm {
        vm: Which,
        state: String,
    },
    /// The same for a site.
    SetSite {
        site: Which,
        state: String,
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
    /// Sets the balance.
    SetBalance {
        amount: Decimal,
    },
    /// Sets the balance so that it lasts exactly this number of days.
    LastDays {
        days: u32,
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

fn usual_engine() -> String {
    "php".to_owned()
}

impl Command {
    /// Reads `POST /_sim/<name>` with its JSON body.
    pub fn parse(name: &str, body: &[u8]) -> Result<Command, SimError> {
        let empty = body.iter().all(u8::is_ascii_whitespace);
        let mut fields: serde_json::Map<String, Value> = if empty {
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
        assert!(matches!(set, Command::SetVm { vm: Which(id), .. } if id == "7"));
        let pay = Command::parse("pay", br#"{"amount": "12.50"}"#).unwrap();
        assert!(matches!(pay, Command::Pay { amount } if amount == Decimal::new(1250, 2)));
        let fault = Command::parse("fault", br#"{"kind": "status", "code": 503, "on": "vm", "count": 2}"#);
        assert!(matches!(fault.unwrap(), Command::Fault(_)));
        assert!(matches!(Command::parse("clear_faults", b"").unwrap(), Command::ClearFaults { name: None }));
        assert!(Command::parse("set_vm", br#"{"vm": 7, "stat": "error"}"#).is_err());
        assert!(Command::parse("explode", b"{}").is_err());
    }
}
