//! Containers (interface 2.1) as metrics.

use chrono::{DateTime, Utc};

use super::encoder::{Completed, Sink};
use super::text::{Label, Value};
use super::{Settings, family::Family, states, table};
use crate::model::freshness::is_fresh;
use crate::model::{AccountState, Collector, Container, ContainerState};

/// The provider's MB; it does not say which one, the help texts say that it is taken as 2^20.
const MEGABYTE: u64 = 1_048_576;

pub(super) fn encode(
    state: &AccountState,
    completed: &Completed,
    settings: &Settings,
    now: DateTime<Utc>,
    sink: &mut Sink<'_>,
) {
    if !is_fresh(&state.profile, Collector::Containers, state.containers.read_at, now) {
        return;
    }
    let rows = state.containers.rows.as_slice();
    let known = || ContainerState::KNOWN.iter().map(ContainerState::as_str);
    sink.family(&table::CONTAINER_INFO, |lines| {
        for container in rows {
            let labels = [
                Label::Id(container.id.get()),
                Label::maybe(container.login.as_deref()),
                Label::maybe(container.name.as_deref()),
                Label::maybe(container.server.as_deref()),
            ];
            lines.put(&labels, true);
        }
    });
    sink.family(&table::CONTAINER_STATE, |lines| {
        for container in rows {
            states::state(lines, container.id.get(), container.state.as_str(), known(), settings);
        }
    });
    let bytes = |megabytes: Option<u64>| megabytes?.checked_mul(MEGABYTE);
    let seconds = |moment: Option<DateTime<Utc>>| moment.map(|moment| moment.timestamp());
    each(sink, &table::CONTAINER_MEMORY, rows, |container| bytes(container.memory_limit_mb));
    each(sink, &table::CONTAINER_DISK, rows, |container| bytes(container.disk_quota_mb));
    each(sink, &table::CONTAINER_IN_TRANSFER, rows, |container| container.in_transfer);
    each(sink, &table::CONTAINER_CREATED, rows, |container| seconds(container.created));
    each(sink, &table::CONTAINER_UPDATED, rows, |container| seconds(container.updated));
    if completed.listings.contains(&Collector::Containers) {
        let current = rows.iter().map(|container| container.state.as_str());
        sink.family(&table::CONTAINERS_COUNT, |lines| states::count(lines, known(), current));
    }
}

fn each<V: Value>(
    sink: &mut Sink<'_>,
    family: &'static Family,
    rows: &[Container],
    value: impl Fn(&Container) -> Option<V>,
) {
    sink.family(family, |lines| {
        for container in rows {
            lines.maybe(&[Label::Id(container.id.get())], value(container));
        }
    });
}
