//! The typed reads: one for each read operation of the interface (4.1–4.8).
//!
//! Each fails with an [`ApiError`] where no answer, or none of the documented shape, could be had;
//! the account's limits are waited for, which is no failure.

use chrono::NaiveDate;

use crate::model::{
    Charge, Container, ContainerId, CronJob, CronJobId, Database, Ip, IpId, Resource, Site, SiteId, SshKey,
    SshKeyId, Vm, VmId,
};

use super::charges::{self, ChargesRead};
use super::client::Client;
use super::endpoints::{Endpoint, Operation};
use super::error::ApiError;
use super::paging::{self, Listed};
use super::report::{self, ReportRead};
use super::wire::{
    self, ChargeRow, ContainerRow, CronJobRow, DatabaseRow, Diagnostics, IpRow, RowOf, Shape, SiteRow,
    SshKeyRow, Versions, VmRow,
};

impl Client {
    /// All containers (4.1).
    pub async fn containers(&self) -> Result<Listed<Container>, ApiError> {
        self.list::<ContainerRow>(Operation::Containers, "", Shape::Hosting, ()).await
    }

    /// One container (4.1).
    pub async fn container(&self, id: ContainerId) -> Result<Container, ApiError> {
        self.one::<ContainerRow>(Operation::Container, &id.to_string(), ()).await
    }

    /// The databases of a site (4.2).
    pub async fn databases(&self, site: SiteId) -> Result<Listed<Database>, ApiError> {
        self.list::<DatabaseRow>(Operation::Databases, &site.to_string(), Shape::Hosting, ()).await
    }

    /// The sites of a container (4.3). [`ApiError::is_not_found`]: the container is gone.
    pub async fn sites(&self, container: ContainerId) -> Result<Listed<Site>, ApiError> {
        self.list::<SiteRow>(Operation::Sites, &container.to_string(), Shape::Hosting, container).await
    }

    /// One site (4.3). What its nested container holds is not shown, so the caller names the container
    /// it is known to live in.
    pub async fn site(&self, id: SiteId, container: ContainerId) -> Result<Site, ApiError> {
        self.one::<SiteRow>(Operation::Site, &id.to_string(), container).await
    }

    /// The engine versions that a site can have (4.3).
    pub async fn engine_versions(&self, site: SiteId) -> Result<Vec<Box<str>>, ApiError> {
        self.one::<Versions>(Operation::EngineVersions, &site.to_string(), ()).await
    }

    /// The cron jobs of a site (4.4). [`ApiError::is_not_found`]: the site is gone.
    pub async fn cron_jobs(&self, site: SiteId) -> Result<Listed<CronJob>, ApiError> {
        self.list::<CronJobRow>(Operation::CronJobs, &site.to_string(), Shape::Hosting, ()).await
    }

    /// One cron job (4.4).
    pub async fn cron_job(&self, id: CronJobId) -> Result<CronJob, ApiError> {
        self.one::<CronJobRow>(Operation::CronJob, &id.to_string(), ()).await
    }

    /// All VMs (4.5).
    pub async fn vms(&self) -> Result<Listed<Vm>, ApiError> {
        self.list::<VmRow>(Operation::Vms, "", Shape::Vm, ()).await
    }

    /// One VM (4.5).
    pub async fn vm(&self, id: VmId) -> Result<Vm, ApiError> {
        self.one::<VmRow>(Operation::Vm, &id.to_string(), ()).await
    }

    /// All SSH keys (4.6); deprecated at the provider.
    pub async fn ssh_keys(&self) -> Result<Listed<SshKey>, ApiError> {
        self.list::<SshKeyRow>(Operation::SshKeys, "", Shape::Vm, ()).await
    }

    /// One SSH key (4.6).
    pub async fn ssh_key(&self, id: SshKeyId) -> Result<SshKey, ApiError> {
        self.one::<SshKeyRow>(Operation::SshKey, &id.to_string(), ()).await
    }

    /// All IP addresses (4.7).
    pub async fn ips(&self) -> Result<Listed<Ip>, ApiError> {
        self.list::<IpRow>(Operation::Ips, "", Shape::Vm, ()).await
    }

    /// The IP addresses of one VM (4.7).
    pub async fn ips_of(&self, vm: VmId) -> Result<Listed<Ip>, ApiError> {
        let mut endpoint = self.endpoint(Operation::Ips, "")?;
        endpoint.url.set_query(Some(&format!("vm={vm}")));
        paging::read::<IpRow>(self, &endpoint, Shape::Vm, ()).await
    }

    /// One IP address (4.7).
    pub async fn ip(&self, id: IpId) -> Result<Ip, ApiError> {
        self.one::<IpRow>(Operation::Ip, &id.to_string(), ()).await
    }

    /// The balance expected at a date of the account's zone, at most two years off, and every charge
    /// until then (4.8). A report that carries an `error` is read, and its `error` is set.
    /// [`ApiError::is_not_found`]: no such data. [`ApiError::wants_less`]: ask for a nearer date.
    pub async fn expected_balance(&self, date: NaiveDate) -> Result<ReportRead, ApiError> {
        let endpoint = self.endpoint(Operation::ExpectedBalance, &date.format("%Y-%m-%d").to_string())?;
        report::read(self, &endpoint).await
    }

    /// The charges since `keep_from` (4.8). Without `known` all pages are read, with it only as many
    /// as hold something new.
    pub async fn charges(
        &self,
        known: Option<&ChargesRead>,
        keep_from: NaiveDate,
    ) -> Result<ChargesRead, ApiError> {
        charges::read(self, &self.endpoint(Operation::Charges, "")?, known, keep_from).await
    }

    /// One charge by the last part of its `resource_uri` (4.8). The answer's shape is not shown; it is
    /// taken to be a charge as in the list.
    pub async fn charge(&self, charge_id: &str) -> Result<Charge, ApiError> {
        self.one::<ChargeRow>(Operation::Charge, charge_id, ()).await
    }

    async fn list<R: RowOf<Model: Resource>>(
        &self,
        operation: Operation,
        id: &str,
        shape: Shape,
        parent: R::Parent,
    ) -> Result<Listed<R::Model>, ApiError> {
        paging::read::<R>(self, &self.endpoint(operation, id)?, shape, parent).await
    }

    async fn one<R: RowOf>(
        &self,
        operation: Operation,
        id: &str,
        parent: R::Parent,
    ) -> Result<R::Model, ApiError> {
        let endpoint: Endpoint = self.endpoint(operation, id)?;
        let body = self.fetch(&endpoint, endpoint.url.clone()).await?;
        let mut notes = Diagnostics::default();
        let record = wire::one::<R>(&body, parent, self.context(), &mut notes);
        self.tell(&notes);
        record.map_err(|kind| endpoint.error(kind))
    }
}
