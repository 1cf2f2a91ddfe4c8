//! JSON of the provider → the model, tolerantly: only what a record can't do without is required,
//! everything else that is missing, null or of another type is absent and counted. Pure.

mod billing;
mod diagnostics;
mod field;
mod hosting;
mod lenient;
mod page;
mod vm;

pub(super) use billing::{ChargeRow, MomentRow, OrderRecord, edd, error_text};
pub(crate) use diagnostics::FIELDS;
pub(super) use diagnostics::{DecodeContext, Diagnostics, Reader, Record, RowOf};
pub(super) use field::{Field, Stamp, decimal};
pub(super) use hosting::{ContainerRow, CountedRow, SiteRow};
pub(super) use lenient::{mended, tolerant};
#[cfg(test)]
pub(super) use page::MOST_ROWS;
pub(super) use page::{NextPage, WirePage, page};
pub(super) use vm::{IpRow, VmRow};
