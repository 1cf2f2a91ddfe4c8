//! Decoding without a server, for benches/scale.rs and tests/properties. Not meant for anybody else.

use std::collections::BTreeMap;

use chrono_tz::Tz;

use super::error::ErrorKind;
use super::report;
use super::wire::{
    ChargeRow, ContainerRow, CountedRow, DecodeContext, Diagnostics, IpRow, RowOf, SiteRow, VmRow, page,
};
use crate::model::{Charge, Container, ContainerId, Counted, Group, Ip, Report, Site, Vm};

/// A report of at most `most` charge moments, and what was noted of it.
///
/// # Errors
/// When it is no report, or too large a one.
pub(crate) fn whole_report(body: &[u8], account: &Account, most: u64) -> Result<Decoded<Report>, ErrorKind> {
    let mut notes = Diagnostics::default();
    let most = report::Most { moments: most, ..report::Most::ANY };
    let value = report::decode(body, &account.context(), most, &mut notes)?;
    Ok(Decoded { rejected: value.moments_rejected, value, fields: notes.fields, problems: notes.problems })
}

/// What decoding needs to know of an account.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub zone: Option<Tz>,
    pub container_states: BTreeMap<i64, String>,
    /// Whose sites a page of sites lists.
    pub container: ContainerId,
}

impl Default for Account {
    fn default() -> Self {
        let container = ContainerId::new(0);
        Self { zone: Some(chrono_tz::Europe::Moscow), container_states: BTreeMap::new(), container }
    }
}

impl Account {
    fn context(&self) -> DecodeContext {
        DecodeContext { zone: self.zone, container_states: self.container_states.clone() }
    }
}

/// What was decoded, and what was wrong with it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Decoded<T> {
    pub value: T,
    /// Rows, or moments, that were left out.
    pub rejected: u64,
    /// Odd fields, by their names in [`super::FIELDS`].
    pub fields: BTreeMap<&'static str, u64>,
    /// The first few problems.
    pub problems: Vec<String>,
}

/// A record that comes in pages.
pub(crate) trait Paged: Sized {
    /// Decodes one page of a listing, as a poll does.
    ///
    /// # Errors
    /// When it is no page.
    fn page(body: &[u8], account: &Account) -> Result<Decoded<Vec<Self>>, ErrorKind>;
}

macro_rules! paged {
    ($($model:ty: $row:ty, $group:ident, $parent:expr;)*) => {$(
        impl Paged for $model {
            fn page(body: &[u8], account: &Account) -> Result<Decoded<Vec<Self>>, ErrorKind> {
                rows::<$row>(body, Group::$group, $parent(account), account)
            }
        }
    )*};
}

paged! {
    Vm: VmRow, Vm, |_| ();
    Ip: IpRow, Vm, |_| ();
    Container: ContainerRow, Hosting, |_| ();
    Site: SiteRow, Hosting, |account: &Account| account.container;
    Counted: CountedRow, Hosting, |_| ();
    Charge: ChargeRow, Billing, |_| ();
}

fn rows<R: RowOf>(
    body: &[u8],
    group: Group,
    parent: R::Parent,
    account: &Account,
) -> Result<Decoded<Vec<R::Model>>, ErrorKind> {
    let mut notes = Diagnostics::default();
    let page = page::<R>(body, group, parent, &account.context(), &mut notes)?;
    Ok(Decoded { value: page.rows, rejected: page.rejected, fields: notes.fields, problems: notes.problems })
}
