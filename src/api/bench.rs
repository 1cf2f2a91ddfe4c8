//! Decoding without a server, for benches/scale.rs. Not meant for anybody else.

use std::collections::BTreeMap;

use super::error::ErrorKind;
use super::report;
use super::wire::{Context, Notes, RowOf, Shape, SiteRow, VmRow, page};
use crate::model::{ContainerId, Report, Site, Vm};

/// A page of VMs (interface 4.5), as a poll decodes it.
///
/// # Errors
/// When it is no page.
pub fn vms(body: &[u8]) -> Result<Vec<Vm>, ErrorKind> {
    rows::<VmRow>(body, Shape::Vm, ())
}

/// A page of a container's sites (interface 4.3).
///
/// # Errors
/// When it is no page.
pub fn sites(body: &[u8], container: ContainerId) -> Result<Vec<Site>, ErrorKind> {
    rows::<SiteRow>(body, Shape::Hosting, container)
}

/// An expected-balance report (interface 4.8).
///
/// # Errors
/// When it is no report.
pub fn report(body: &[u8]) -> Result<Report, ErrorKind> {
    report::decode(body, &context(), report::Most::ANY, &mut Notes::default())
}

fn rows<R: RowOf>(body: &[u8], shape: Shape, home: R::Home) -> Result<Vec<R::Model>, ErrorKind> {
    Ok(page::<R>(body, shape, home, &context(), &mut Notes::default())?.rows)
}

fn context() -> Context {
    Context { zone: Some(chrono_tz::Europe::Moscow), container_states: BTreeMap::new() }
}
