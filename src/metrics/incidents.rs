//! Incidents that are open, or ended within a day: the engine's state, for rules and dashboards.

use super::family::{Family, facts};
use super::text::Label;

pub(super) const FAMILIES: &[Family] = facts! {
    Incidents "hostwatch_incident_open" ["kind", "resource", "name", "severity"]
        "Whether the incident is open (1) or has been over for less than a day (0). It is absent before it is confirmed, and while another incident has explained it from its first moment. An account past its cut-off is of kind overdue beside disconnect."
        => |given, lines| {
            for one in &given.incidents.series {
                let labels = [one.kind, &one.resource, &one.name, one.severity].map(Label::Text);
                lines.put(&labels, one.is_open);
            }
        };
};
