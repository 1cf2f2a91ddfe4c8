//! VMs and IP addresses as the VM API sends them (interface 2.5, 2.7).

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr};

use serde::Deserialize;
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;

use crate::model::{Ip, IpId, Vm, VmId, VmIp, VmState};

use super::diagnostics::{Reader, Record, Rejected, row};
use super::field::{Field, ListLength, Wire};

/// A VM (2.5).
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct VmRow {
    id: Field<u64>,
    vm_id: Field<Box<str>>,
    name: Field<Box<str>>,
    r#type: Field<Box<str>>,
    ncpu: Field<u64>,
    memsize: Field<u64>,
    state: Field<Box<str>>,
    monitoring_enabled: Field<bool>,
    ips: Field<Vec<Field<VmIp>>>,
    storages: Field<ListLength>,
}

impl Record for VmRow {
    type Model = Vm;
    type Parent = ();

    fn into_model(self, (): (), reader: &mut Reader<'_>) -> Result<Vm, Rejected> {
        let id = VmId::new(reader.require("vm.id", self.id)?);
        let state = VmState::from(&*reader.state("vm.state", self.state).map_err(|row| row.with_id(id))?);
        if !state.is_known() {
            reader.unknown("vm.state");
        }
        Ok(Vm {
            id,
            state,
            vm_id: reader.take("vm.vm_id", self.vm_id),
            name: reader.take("vm.name", self.name),
            tariff: reader.take("vm.type", self.r#type),
            ncpu: reader.take("vm.ncpu", self.ncpu),
            memsize: reader.take("vm.memsize", self.memsize),
            monitoring_enabled: reader.take("vm.monitoring_enabled", self.monitoring_enabled),
            ips: reader
                .take("vm.ips", self.ips)
                .map(|ips| ips.into_iter().filter_map(|ip| reader.take("vm.ips", ip)).collect()),
            disks: reader.take("vm.storages", self.storages).map(|ListLength(count)| count),
        })
    }
}

/// An address. IPv6 is written in the form of RFC 5952, so that its text is the same everywhere; IPv4 has a single
/// form. Any other text stays as it came, but for the blanks around it.
struct Address(Box<str>);

impl Wire<'_> for Address {
    fn text(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some(address) = text.contains(':').then(|| text.parse::<Ipv6Addr>().ok()).flatten() else {
            return Box::text(text).map(Self);
        };
        let mut out = String::with_capacity(text.len());
        write!(out, "{address}").ok()?;
        Some(Self(out.into()))
    }
}

/// An entry of `ips`: an object in lists and reads, a bare id in other answers. A bare address is accepted too.
impl<'de> Wire<'de> for VmIp {
    fn unsigned(_: u64) -> Option<Self> {
        Some(Self { address: None })
    }
    fn text(text: &str) -> Option<Self> {
        let is_address = text.trim().parse::<IpAddr>().is_ok();
        let address = Address::text(text).filter(|_| is_address).map(|Address(text)| text);
        (is_address || u64::text(text).is_some()).then_some(Self { address })
    }
    fn object<A: MapAccess<'de>>(object: A) -> Result<Field<Self>, A::Error> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Entry {
            id: Field<u64>,
            ipvalue: Field<Address>,
        }
        let entry = Entry::deserialize(MapAccessDeserializer::new(object))?;
        let address = entry.ipvalue.value().ok().map(|Address(text)| text);
        let is_entry = matches!(entry.id, Field::Value(_)) || address.is_some();
        Ok(if is_entry { Field::Value(Self { address }) } else { Field::Mistyped("an object".into()) })
    }
}

/// An IP record (2.7).
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct IpRow {
    id: Field<u64>,
    ipvalue: Field<Address>,
    vm: Field<u64>,
}

impl Record for IpRow {
    type Model = Ip;
    type Parent = ();

    fn into_model(self, (): (), reader: &mut Reader<'_>) -> Result<Ip, Rejected> {
        Ok(Ip {
            id: IpId::new(reader.require("ip.id", self.id)?),
            address: reader.take("ip.ipvalue", self.ipvalue).map(|Address(text)| text),
            vm: reader.take("ip.vm", self.vm).map(VmId::new),
        })
    }
}

row!(VmRow, IpRow);
