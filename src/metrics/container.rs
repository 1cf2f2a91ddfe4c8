//! Containers (interface 2.1) as metrics.

use super::family::{Family, facts};
use super::given::Given;
use super::states;
use super::text::Label;
use crate::model::{Collector, Container, ContainerState};

pub(super) const FAMILIES: &[Family] = facts! {
    Of(Containers) "hosting_container_info" ["container", "login", "name", "server"]
        "Descriptions of the container with this id, always 1."
        => |given, lines| lines.info(containers(given), |container| [
            Label::Id(container.id.get()),
            Label::maybe(container.login.as_deref()),
            Label::maybe(container.name.as_deref()),
            Label::maybe(container.server.as_deref()),
        ]);
    Of(Containers) "hosting_container_state" ["container", "state"]
        "State of the container, 1 on the current one."
        => |given, lines| {
            let states =
                containers(given).iter().map(|container| (container.id.get(), container.state.as_str()));
            states::each(lines, states, ContainerState::known_names, given.state_series);
        };
    Of(Containers) "hosting_container_memory_limit_bytes" ["container"]
        "Memory limit of the container in bytes (the provider's MB taken as 1048576)."
        => |given, lines| lines.each(containers(given), |container| bytes(container.memory_limit_mb));
    Of(Containers) "hosting_container_disk_quota_bytes" ["container"]
        "Disk quota of the container in bytes (the provider's MB taken as 1048576)."
        => |given, lines| lines.each(containers(given), |container| bytes(container.disk_quota_mb));
    Of(Containers) "hosting_container_in_transfer" ["container"]
        "Whether the container is being transferred to another account (0 or 1)."
        => |given, lines| lines.each(containers(given), |container| container.in_transfer);
    Of(Containers) "hosting_container_created_timestamp_seconds" ["container"]
        "When the container was created, in seconds since the Unix epoch."
        => |given, lines| lines.each(containers(given), |container| container.created);
    Of(Containers) "hosting_container_updated_timestamp_seconds" ["container"]
        "When the container was changed last, in seconds since the Unix epoch."
        => |given, lines| lines.each(containers(given), |container| container.updated);
    Of(Containers) "hosting_containers" ["state"] "Containers by state, once the listing was read completely."
        => |given, lines| {
            if let Some(rows) = given.counted(Collector::Containers, &given.state.containers) {
                states::count(
                    lines,
                    ContainerState::known_names(),
                    rows.iter().map(|container| container.state.as_str()),
                );
            }
        };
};

fn containers<'a>(given: &Given<'a>) -> &'a [Container] {
    given.rows(Collector::Containers, &given.state.containers)
}

/// The provider does not say which MB it means; the help texts say that 2^20 is assumed.
fn bytes(megabytes: Option<u64>) -> Option<u64> {
    megabytes?.checked_mul(1_048_576)
}
