//! The typed reads: one for each listing that is polled, and the report (4.1–4.8).
//!
//! A read fails with an [`ApiError`] if no answer of the documented shape came. Waiting for the account's
//! limits is no failure.

use chrono::NaiveDate;

use crate::model::{Charge, Collector, Container, ContainerId, Counted, Ip, Site, SiteId, Vm};

use super::client::Client;
use super::error::ApiError;
use super::paging::{self, Identified, Listed};
use super::report::{self, ReportRead};
use super::wire::{ChargeRow, ContainerRow, CountedRow, IpRow, Record, SiteRow, VmRow};

impl Client {
    /// All containers (4.1).
    pub(crate) async fn containers(&self) -> Result<Listed<Container>, ApiError> {
        self.list::<ContainerRow>(Collector::Containers, "", ()).await
    }

    /// The sites of a container (4.3). [`ApiError::is_not_found`]: the container is gone.
    pub(crate) async fn sites(&self, container: ContainerId) -> Result<Listed<Site>, ApiError> {
        self.list::<SiteRow>(Collector::Sites, &container.to_string(), container).await
    }

    /// All VMs (4.5).
    pub(crate) async fn vms(&self) -> Result<Listed<Vm>, ApiError> {
        self.list::<VmRow>(Collector::Vms, "", ()).await
    }

    /// Rows of which only the number matters: SSH keys (4.6), or databases (4.2) or cron jobs (4.4) of a site.
    /// [`ApiError::is_not_found`]: the site is gone.
    pub(crate) async fn counted(
        &self,
        collector: Collector,
        site: Option<SiteId>,
    ) -> Result<Listed<Counted>, ApiError> {
        let id = site.map(|site| site.to_string()).unwrap_or_default();
        self.list::<CountedRow>(collector, &id, ()).await
    }

    /// All IP addresses (4.7).
    pub(crate) async fn ips(&self) -> Result<Listed<Ip>, ApiError> {
        self.list::<IpRow>(Collector::Ips, "", ()).await
    }

    /// The expected balance at a date in the account's zone, at most two years ahead, and every charge until
    /// then (4.8). A report that carries an `error` is returned with its `error` set.
    /// [`ApiError::is_not_found`]: no such data. [`ApiError::wants_less`]: ask for a nearer date.
    pub(crate) async fn expected_balance(&self, date: NaiveDate) -> Result<ReportRead, ApiError> {
        let endpoint = self.endpoint(Collector::ExpectedBalance, &date.format("%Y-%m-%d").to_string())?;
        report::read(self, &endpoint).await
    }

    /// All charges, in any order (4.8).
    pub(crate) async fn charges(&self) -> Result<Listed<Charge>, ApiError> {
        self.list::<ChargeRow>(Collector::Charges, "", ()).await
    }

    async fn list<R: Record<Model: Identified>>(
        &self,
        collector: Collector,
        id: &str,
        parent: R::Parent,
    ) -> Result<Listed<R::Model>, ApiError> {
        paging::read::<R>(self, &self.endpoint(collector, id)?, parent).await
    }
}
