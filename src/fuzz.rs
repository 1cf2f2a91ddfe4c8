//! The readers of foreign texts, for the fuzz targets in `fuzz/` only. They are built with `--cfg fuzzing`.

use bytes::Bytes;

use crate::http::web_config;
use crate::mail::smtp;
use crate::model::{ContainerId, Group};
use crate::provider::cron::Schedule;
use crate::provider::report::{self, Most};
use crate::provider::wire::{
    ChargeRow, ContainerRow, CountedRow, DecodeContext, Diagnostics, IpRow, Record, SiteRow, VmRow, page,
};

/// The provider's answers: a page of each record, and the report.
pub fn wire(body: &[u8]) {
    let context = DecodeContext { zone: Some(chrono_tz::Europe::Moscow), container_states: [].into() };
    fn rows<R: Record>(body: &[u8], group: Group, parent: R::Parent, context: &DecodeContext) {
        let _ = page::<R>(body, group, parent, context, &mut Diagnostics::default());
    }
    rows::<VmRow>(body, Group::Vm, (), &context);
    rows::<IpRow>(body, Group::Vm, (), &context);
    rows::<ContainerRow>(body, Group::Hosting, (), &context);
    rows::<SiteRow>(body, Group::Hosting, ContainerId::new(0), &context);
    rows::<CountedRow>(body, Group::Hosting, (), &context);
    rows::<ChargeRow>(body, Group::Billing, (), &context);
    let most = Most { moments: 10_000, order_bytes: u64::MAX };
    let _ = report::decode(
        std::iter::once(Ok(Bytes::copy_from_slice(body))),
        &context,
        most,
        &mut Diagnostics::default(),
    );
}

/// The replies of an SMTP server.
///
/// # Panics
/// If no runtime can be made.
pub fn smtp(sent: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(smtp::read_replies(sent));
}

/// The web file of the exporter toolkit.
pub fn web_file(text: &str) {
    web_config::read_text(text);
}

/// A cron expression, and its ticks.
pub fn cron(text: &str) {
    let Ok(schedule) = text.parse::<Schedule>() else { return };
    let start = chrono::DateTime::from_timestamp(1_772_366_400, 0).expect("in 2026");
    let tick = schedule.next_after(start, chrono_tz::Europe::Berlin);
    assert!(tick.is_none_or(|tick| tick > start));
}
