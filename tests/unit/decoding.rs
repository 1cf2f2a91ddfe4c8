//! Decoding without a server: one page of any record, or a report.

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono_tz::Tz;

use crate::model::{Charge, Container, ContainerId, Counted, Group, Ip, Report, Site, Vm};
use crate::provider::report::{self, Most};
use crate::provider::wire::{
    ChargeRow, ContainerRow, CountedRow, DecodeContext, Diagnostics, IpRow, Record, SiteRow, VmRow, page,
};

/// A report of at most `most` charge moments, with its problems.
pub(crate) fn whole_report(body: &[u8], account: &Account, most: u64) -> Option<Decoded<Report>> {
    let mut notes = Diagnostics::default();
    let most = Most { moments: most, order_bytes: u64::MAX };
    let value = report::decode(
        std::iter::once(Ok(Bytes::copy_from_slice(body))),
        &account.context(),
        most,
        &mut notes,
    )
    .ok()?;
    Some(Decoded { rejected: value.moments_rejected, value, fields: notes.fields, problems: notes.problems })
}

/// The facts about an account that decoding needs.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub zone: Option<Tz>,
    pub container_states: BTreeMap<i64, String>,
    /// The container of a page of sites.
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

/// A decoded value and its problems.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Decoded<T> {
    pub value: T,
    /// The number of rows or moments that were left out.
    pub rejected: u64,
    /// The numbers of odd fields, by their names in `FIELDS`.
    pub fields: BTreeMap<&'static str, u64>,
    /// The first few problems.
    pub problems: Vec<String>,
}

/// A record that comes in pages.
pub(crate) trait Paged: Sized {
    /// Decodes one page of a listing, as a poll does.
    fn page(body: &[u8], account: &Account) -> Option<Decoded<Vec<Self>>>;
}

macro_rules! paged {
    ($($model:ty: $row:ty, $group:ident, $parent:expr;)*) => {$(
        impl Paged for $model {
            fn page(body: &[u8], account: &Account) -> Option<Decoded<Vec<Self>>> {
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

fn rows<R: Record>(
    body: &[u8],
    group: Group,
    parent: R::Parent,
    account: &Account,
) -> Option<Decoded<Vec<R::Model>>> {
    let mut notes = Diagnostics::default();
    let page = page::<R>(body, group, parent, &account.context(), &mut notes).ok()?;
    Some(Decoded {
        value: page.rows,
        rejected: page.rejected,
        fields: notes.fields,
        problems: notes.problems,
    })
}
