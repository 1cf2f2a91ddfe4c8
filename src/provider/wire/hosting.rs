//! Containers and sites in the form of the hosting endpoints (interface 2.1, 2.3), and records that are only
//! counted.

use serde::Deserialize;

use crate::model::time::Stamp;
use crate::model::{Container, ContainerId, ContainerState, Counted, Site, SiteId, SiteState};

use super::diagnostics::{DecodeContext, Reader, Record, Rejected, row};
use super::field::{Field, Wire};

/// A container (2.1). Its `virtualhosts` are not read, since only the listing of sites is used for sites.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct ContainerRow {
    id: Field<u64>,
    login: Field<Box<str>>,
    name: Field<Box<str>>,
    service_address: Field<Box<str>>,
    memory_limit: Field<u64>,
    quota: Field<u64>,
    state: Field<Code>,
    created: Field<Stamp>,
    updated: Field<Stamp>,
    is_in_transfer: Field<bool>,
}

impl Record for ContainerRow {
    type Model = Container;
    type Parent = ();

    fn into_model(self, (): (), reader: &mut Reader<'_>) -> Result<Container, Rejected> {
        let id = ContainerId::new(reader.require("container.id", self.id)?);
        let state = reader.require("container.state", self.state).map_err(|row| row.with_id(id))?;
        let state = state.named(reader.context);
        if !state.is_known() {
            reader.unknown("container.state");
        }
        Ok(Container {
            id,
            state,
            login: reader.take("container.login", self.login),
            name: reader.take("container.name", self.name),
            server: reader.take("container.service_address", self.service_address),
            memory_limit_mb: reader.take("container.memory_limit", self.memory_limit),
            disk_quota_mb: reader.take("container.quota", self.quota),
            created: reader.moment("container.created", self.created),
            updated: reader.moment("container.updated", self.updated),
            in_transfer: reader.take("container.is_in_transfer", self.is_in_transfer),
        })
    }
}

/// A container's state: a number, or a name. The interface gives the names, but not the numbers.
struct Code(Box<str>);

impl Wire<'_> for Code {
    fn text(text: &str) -> Option<Self> {
        let text = text.trim();
        super::diagnostics::is_state(text).then(|| Self(text.into()))
    }
    fn unsigned(value: u64) -> Option<Self> {
        i64::unsigned(value).and_then(Self::signed)
    }
    fn signed(value: i64) -> Option<Self> {
        Some(Self(value.to_string().into()))
    }
    fn float(value: f64) -> Option<Self> {
        i64::float(value).and_then(Self::signed)
    }
}

impl Code {
    /// The configured name of the number; without one, what came.
    fn named(&self, context: &DecodeContext) -> ContainerState {
        let name = self.0.parse().ok().and_then(|number: i64| context.container_states.get(&number));
        ContainerState::from(name.map_or(&*self.0, String::as_str))
    }
}

/// A site (2.3). Its parent is the container in whose listing it is.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct SiteRow {
    id: Field<u64>,
    name: Field<Box<str>>,
    state: Field<Box<str>>,
    created: Field<Stamp>,
    updated: Field<Stamp>,
    force_https: Field<bool>,
    certificate_id: Field<u64>,
    main_alias: Field<Box<str>>,
    engine: Field<Box<str>>,
    engine_version: Field<Box<str>>,
    num_workers: Field<u64>,
}

impl Record for SiteRow {
    type Model = Site;
    type Parent = ContainerId;

    fn into_model(self, container: ContainerId, reader: &mut Reader<'_>) -> Result<Site, Rejected> {
        let id = SiteId::new(reader.require("site.id", self.id)?);
        let state = SiteState::from(&*reader.state("site.state", self.state).map_err(|row| row.with_id(id))?);
        if !state.is_known() {
            reader.unknown("site.state");
        }
        let name = reader.take("site.name", self.name);
        let main_alias = reader.take("site.main_alias", self.main_alias);
        Ok(Site {
            id,
            state,
            container,
            // Most sites have no name but their own.
            main_alias: main_alias.filter(|alias| name.as_ref() != Some(alias)),
            name,
            engine: reader.take("site.engine", self.engine),
            engine_version: reader.take("site.engine_version", self.engine_version),
            workers: reader.take("site.num_workers", self.num_workers),
            force_https: reader.take("site.force_https", self.force_https),
            certificate_id: reader.take("site.certificate_id", self.certificate_id),
            created: reader.moment("site.created", self.created),
            updated: reader.moment("site.updated", self.updated),
        })
    }
}

/// A database (2.2), a cron job (2.4) or an SSH key (2.6).
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct CountedRow {
    id: Field<u64>,
}

impl Record for CountedRow {
    type Model = Counted;
    type Parent = ();

    fn into_model(self, (): (), reader: &mut Reader<'_>) -> Result<Counted, Rejected> {
        Ok(Counted { id: reader.require("counted.id", self.id)? })
    }
}

row!(ContainerRow, SiteRow, CountedRow);
