//! The incidents of one account as metrics show them.

/// One incident as a series: 1 while it is open, 0 for a day after its end.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct IncidentSeries {
    pub kind: &'static str,
    pub resource: String,
    /// The name of the VM, site, container or order; empty for other incidents.
    pub name: String,
    pub severity: &'static str,
    pub is_open: bool,
}

/// The series of one account.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct AccountIncidents {
    /// Each state collector has read once, so every open incident has a series.
    pub are_known: bool,
    pub series: Vec<IncidentSeries>,
}
