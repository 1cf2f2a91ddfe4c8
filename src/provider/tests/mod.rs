//! The rules of the client (contract, section 4), each against a server that tests it.

mod billing;
mod charges;
mod horizon;
mod paging;
mod records;
mod requests;
mod server;
mod token;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::model::{Group, Via};
use crate::provider::hosts::RequestTiming;
use crate::provider::{
    BillingCredentials, Client, HostingCredentials, HostingToken, Hosts, Observer, ProviderSettings,
};

use server::Server;

/// Settings of an account with every group on.
pub(crate) fn settings() -> ProviderSettings {
    ProviderSettings {
        account: "main".parse().unwrap(),
        base_url: Some("https://base.example".parse().unwrap()),
        panel_url: Some("https://panel.example".parse().unwrap()),
        hosting: Some(HostingCredentials {
            scheme: "Bearer".into(),
            token: HostingToken::Given("hosting-secret".to_owned().into()),
        }),
        vm_api_key: Some("vm-secret".to_owned().into()),
        billing: Some(BillingCredentials {
            username: "user".into(),
            password: "billing-secret".to_owned().into(),
        }),
        container_states: [(0, "ENABLED".to_owned()), (1, "DISABLED_BY_SERVICE".to_owned())].into(),
        time_zone: Some(chrono_tz::Europe::Moscow),
        limits: [200, 60, 300, 30],
        via: Via::default(),
    }
}

/// Settings with all endpoints at this server.
fn settings_at(server: &Server) -> ProviderSettings {
    let url = Some(server.url.clone());
    ProviderSettings { base_url: url.clone(), panel_url: url, ..settings() }
}

/// The ordinary rules with short pauses.
fn timing() -> RequestTiming {
    RequestTiming {
        backoff: [Duration::from_millis(20), Duration::from_millis(60)],
        ..RequestTiming::default()
    }
}

fn client(server: &Server) -> (Client, Arc<Log>) {
    client_with(server, timing())
}

fn client_with(server: &Server, timing: RequestTiming) -> (Client, Arc<Log>) {
    let log = Arc::new(Log::default());
    let observer = Arc::clone(&log) as Arc<dyn Observer>;
    let mut hosts = Hosts::default();
    hosts.timing = timing;
    (Client::new(settings_at(server), observer, hosts).unwrap(), log)
}

/// Records the reported events.
#[derive(Default)]
pub(crate) struct Log {
    codes: Mutex<Vec<String>>,
    fields: Mutex<BTreeMap<&'static str, u64>>,
}

impl Log {
    fn codes(&self) -> Vec<String> {
        self.codes.lock().unwrap().clone()
    }

    fn fields(&self) -> BTreeMap<&'static str, u64> {
        self.fields.lock().unwrap().clone()
    }
}

impl Observer for Log {
    fn request(&self, _group: Group, code: &str, _took: Duration) {
        self.codes.lock().unwrap().push(code.to_owned());
    }
    fn throttled(&self, _group: Group, _waited: Duration) {}
    fn field_problem(&self, field: &'static str, count: u64) {
        *self.fields.lock().unwrap().entry(field).or_default() += count;
    }
}
