//! The rules of the client, each against a server that breaks them.

use crate::api::{BillingCredentials, HostingCredentials, Limits, Settings};

/// Settings of an account with every group on.
pub(crate) fn settings() -> Settings {
    Settings {
        account: "main".parse().unwrap(),
        base_url: Some("https://base.example".parse().unwrap()),
        panel_url: Some("https://panel.example".parse().unwrap()),
        hosting: Some(HostingCredentials {
            scheme: "Bearer".into(),
            token: "hosting-secret".to_owned().into(),
        }),
        vm_api_key: Some("vm-secret".to_owned().into()),
        billing: Some(BillingCredentials {
            username: "user".into(),
            password: "billing-secret".to_owned().into(),
        }),
        container_states: [(0, "ENABLED".to_owned()), (1, "DISABLED_BY_SERVICE".to_owned())].into(),
        time_zone: Some(chrono_tz::Europe::Moscow),
        limits: Limits::default(),
    }
}
