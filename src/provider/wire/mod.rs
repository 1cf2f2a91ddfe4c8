//! Converts the provider's JSON to the model, tolerantly: a few fields are required. Any other field that is
//! missing, null or of another type is absent and counted. Pure.

mod billing;
mod decimal;
mod diagnostics;
mod field;
mod hosting;
mod lenient;
mod page;
mod parts;
mod vm;

pub(crate) use billing::{ChargeRow, MomentRow, OrderRecord, edd, error_text};
pub(crate) use diagnostics::{DecodeContext, Diagnostics, FIELDS, Reader, Record};
pub(crate) use field::{Field, is_none_json};
pub(crate) use hosting::{ContainerRow, CountedRow, SiteRow};
pub(crate) use lenient::{once, tolerant};
pub(crate) use page::{MOST_ROWS, NextPage, PAGE_ROWS, WirePage, page};
pub(crate) use parts::Parts;
pub(crate) use vm::{IpRow, VmRow};
