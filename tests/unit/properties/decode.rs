//! Decoding of records (interface 2): an encoded record comes back as it was, only id and state are required, what is
//! odd is absent and counted, what is unknown is ignored.

use crate::model::*;
use crate::provider::bench::{Account, Decoded, Paged};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use crate::unit::properties::given;

/// What a field is due as.
#[derive(Clone, Copy, Debug)]
pub enum Due {
    Text,
    ListLength,
    Switch,
    Moment,
    List,
    Decimal,
}

/// JSON that no field of this type takes.
fn mistyped(due: Due) -> BoxedStrategy<Value> {
    let object = Just(json!({"id": 7, "name": "x"})).boxed();
    let word = "[a-z]{1,8}".prop_map(Value::from).boxed();
    let number = prop_oneof![2..u64::MAX].prop_map(Value::from).boxed();
    let negative = (i64::MIN..0).prop_map(Value::from).boxed();
    let part = any::<i32>().prop_map(|n| json!(f64::from(n) + 0.5)).boxed();
    let switch = any::<bool>().prop_map(Value::from).boxed();
    let list = Just(json!([1, "a"])).boxed();
    let all: Vec<BoxedStrategy<Value>> = match due {
        Due::Text => vec![object, number, negative, part, switch, list],
        Due::ListLength => vec![object, word, negative, part, switch, list],
        Due::Switch => vec![object, word, number, negative, part, list],
        Due::Moment => vec![object, word, number, negative, part, switch, list],
        Due::List => vec![object, word, number, negative, part, switch],
        Due::Decimal => vec![object, word, switch, list],
    };
    proptest::strategy::Union::new(all).boxed()
}

/// A field of a record that may be odd: its name on the wire, its name in the metrics, its type, and how the record
/// looks without it.
type Optional<R> = (&'static str, &'static str, Due, fn(&mut R));

/// A record of the interface.
trait Sent: Paged + Clone + PartialEq + std::fmt::Debug + 'static {
    const OPTIONAL: &'static [Optional<Self>];
    const REQUIRED: &'static [&'static str];
    fn given() -> BoxedStrategy<Self>;
    fn encode(&self) -> Value;
    /// How many of its states are unknown, which is counted by the field's name.
    fn unknown(&self) -> Option<&'static str> {
        None
    }
}

pub fn at(moment: Option<chrono::DateTime<chrono::Utc>>) -> Value {
    moment.map_or(Value::Null, |at| Value::from(at.format("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

impl Sent for Vm {
    const OPTIONAL: &'static [Optional<Self>] = &[
        ("vm_id", "vm.vm_id", Due::Text, |vm| vm.vm_id = None),
        ("name", "vm.name", Due::Text, |vm| vm.name = None),
        ("type", "vm.type", Due::Text, |vm| vm.tariff = None),
        ("ncpu", "vm.ncpu", Due::ListLength, |vm| vm.ncpu = None),
        ("memsize", "vm.memsize", Due::ListLength, |vm| vm.memsize = None),
        ("monitoring_enabled", "vm.monitoring_enabled", Due::Switch, |vm| vm.monitoring_enabled = None),
        ("ips", "vm.ips", Due::List, |vm| vm.ips = None),
        ("storages", "vm.storages", Due::List, |vm| vm.disks = None),
    ];
    const REQUIRED: &'static [&'static str] = &["id", "state"];
    fn given() -> BoxedStrategy<Self> {
        given::vm().boxed()
    }
    fn encode(&self) -> Value {
        let ip = |ip: &VmIp| json!({"id": 3, "ipvalue": ip.address});
        json!({
            "id": self.id, "vm_id": self.vm_id, "name": self.name, "type": self.tariff, "ncpu": self.ncpu,
            "memsize": self.memsize, "state": self.state, "monitoring_enabled": self.monitoring_enabled,
            "ips": self.ips.as_ref().map(|ips| ips.iter().map(ip).collect::<Vec<_>>()),
            "storages": self.disks.map(|disks| (0..disks).collect::<Vec<_>>()),
        })
    }
    fn unknown(&self) -> Option<&'static str> {
        (!self.state.is_known()).then_some("vm.state")
    }
}

impl Sent for Container {
    const OPTIONAL: &'static [Optional<Self>] = &[
        ("login", "container.login", Due::Text, |row| row.login = None),
        ("name", "container.name", Due::Text, |row| row.name = None),
        ("service_address", "container.service_address", Due::Text, |row| row.server = None),
        ("memory_limit", "container.memory_limit", Due::ListLength, |row| row.memory_limit_mb = None),
        ("quota", "container.quota", Due::ListLength, |row| row.disk_quota_mb = None),
        ("created", "container.created", Due::Moment, |row| row.created = None),
        ("updated", "container.updated", Due::Moment, |row| row.updated = None),
        ("is_in_transfer", "container.is_in_transfer", Due::Switch, |row| row.in_transfer = None),
    ];
    const REQUIRED: &'static [&'static str] = &["id", "state"];
    /// Without spaces around its state: a number may have them.
    fn given() -> BoxedStrategy<Self> {
        let trimmed = |row: Container| Container { state: row.state.as_str().trim().into(), ..row };
        given::container().prop_map(trimmed).boxed()
    }
    fn encode(&self) -> Value {
        json!({
            "id": self.id, "login": self.login, "name": self.name, "service_address": self.server,
            "memory_limit": self.memory_limit_mb, "quota": self.disk_quota_mb,
            "state": self.state, "created": at(self.created), "updated": at(self.updated),
            "is_in_transfer": self.in_transfer,
        })
    }
    fn unknown(&self) -> Option<&'static str> {
        (!self.state.is_known()).then_some("container.state")
    }
}

impl Sent for Site {
    const OPTIONAL: &'static [Optional<Self>] = &[
        ("name", "site.name", Due::Text, |row| row.name = None),
        ("main_alias", "site.main_alias", Due::Text, |row| row.main_alias = None),
        ("engine", "site.engine", Due::Text, |row| row.engine = None),
        ("engine_version", "site.engine_version", Due::Text, |row| row.engine_version = None),
        ("num_workers", "site.num_workers", Due::ListLength, |row| row.workers = None),
        ("force_https", "site.force_https", Due::Switch, |row| row.force_https = None),
        ("certificate_id", "site.certificate_id", Due::ListLength, |row| row.certificate_id = None),
        ("created", "site.created", Due::Moment, |row| row.created = None),
        ("updated", "site.updated", Due::Moment, |row| row.updated = None),
    ];
    const REQUIRED: &'static [&'static str] = &["id", "state"];
    fn given() -> BoxedStrategy<Self> {
        given::site(HOME).boxed()
    }
    fn encode(&self) -> Value {
        json!({
            "id": self.id, "name": self.name, "state": self.state, "created": at(self.created),
            "updated": at(self.updated), "force_https": self.force_https, "certificate_id": self.certificate_id,
            "main_alias": self.main_alias, "engine": self.engine, "engine_version": self.engine_version, "num_workers": self.workers,
        })
    }
    fn unknown(&self) -> Option<&'static str> {
        (!self.state.is_known()).then_some("site.state")
    }
}

impl Sent for Ip {
    const OPTIONAL: &'static [Optional<Self>] = &[
        ("ipvalue", "ip.ipvalue", Due::Text, |row| row.address = None),
        ("vm", "ip.vm", Due::ListLength, |row| row.vm = None),
    ];
    const REQUIRED: &'static [&'static str] = &["id"];
    fn given() -> BoxedStrategy<Self> {
        given::ip().boxed()
    }
    fn encode(&self) -> Value {
        json!({"id": self.id, "ipvalue": self.address, "vm": self.vm})
    }
}

impl Sent for Counted {
    const OPTIONAL: &'static [Optional<Self>] = &[];
    const REQUIRED: &'static [&'static str] = &["id"];
    fn given() -> BoxedStrategy<Self> {
        given::counted().boxed()
    }
    fn encode(&self) -> Value {
        json!({"id": self.id, "name": "a", "charset": 7, "comment": null})
    }
}

impl Sent for Charge {
    const OPTIONAL: &'static [Optional<Self>] = &[
        ("description", "charge.description", Due::Text, |row| row.description = None),
        ("price", "charge.price", Due::Decimal, |row| row.price = None),
        ("quantity", "charge.quantity", Due::Decimal, |row| row.quantity = None),
        ("resource_uri", "charge.resource_uri", Due::Text, |row| row.resource_uri = None),
    ];
    const REQUIRED: &'static [&'static str] = &["event_date"];
    fn given() -> BoxedStrategy<Self> {
        given::charge().boxed()
    }
    fn encode(&self) -> Value {
        json!({
            "description": self.description, "event_date": self.event_date.to_string(), "price": self.price,
            "quantity": self.quantity.map(|quantity| quantity.to_string()), "total": self.total,
            "resource_uri": self.resource_uri,
        })
    }
}

/// The container whose sites are listed.
const HOME: u64 = 31;

pub fn account() -> Account {
    Account { container: ContainerId::new(HOME), ..Account::default() }
}

/// A page in all three shapes at once: the endpoint says which is looked at.
pub fn page(rows: &[Value]) -> Vec<u8> {
    let count = rows.len();
    let page = json!({
        "count": count, "next": null, "previous": null, "results": rows, "entities": rows, "objects": rows,
        "meta": {"total_count": count, "next": null},
    });
    serde_json::to_vec(&page).unwrap()
}

fn decoded<R: Paged>(rows: &[Value]) -> Decoded<Vec<R>> {
    R::page(&page(rows), &account()).unwrap()
}

/// Other members, none of which the interface has, some with names that look like it.
fn unknown_fields() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        given::name().prop_map(Value::from),
        Just(json!({"id": 5, "state": "error", "results": [{"id": 6}]})),
        Just(json!([[[]], {}])),
    ];
    let name =
        prop_oneof!["x_[a-z]{1,8}", Just("Id".to_owned()), Just("STATE".to_owned()), Just(String::new())];
    vec((name, value), 0..4).prop_map(|members| members.into_iter().collect())
}

fn with(row: Value, more: Map<String, Value>) -> Value {
    let mut all = more;
    let Value::Object(row) = row else { unreachable!("records are objects") };
    all.extend(row);
    Value::Object(all)
}

fn encoded_rows_come_back<R: Sent>(rows: &[(R, Map<String, Value>)]) -> Result<(), TestCaseError> {
    let sent: Vec<Value> = rows.iter().map(|(row, more)| with(row.encode(), more.clone())).collect();
    let got = decoded::<R>(&sent);
    prop_assert_eq!(&got.value, &rows.iter().map(|(row, _)| row.clone()).collect::<Vec<_>>());
    prop_assert_eq!(got.rejected, 0);
    // Only what was null, or unknown, is counted, each once.
    for &(wire, field, ..) in R::OPTIONAL {
        let nulls = sent.iter().filter(|row| row[wire].is_null()).count();
        let inner = field == "vm.ips";
        prop_assert!(
            inner || got.fields.get(field).copied().unwrap_or(0) == nulls as u64,
            "{} {:?}",
            field,
            got.fields
        );
    }
    let unknown = rows.iter().filter_map(|(row, _)| row.unknown()).count() as u64;
    let counted: u64 =
        got.fields.iter().filter(|(field, _)| field.ends_with(".state")).map(|(_, count)| count).sum();
    prop_assert_eq!(counted, unknown);
    Ok(())
}

fn an_odd_field_is_absent<R: Sent>(
    row: &R,
    which: Index,
    odd: &[Value],
    missing: bool,
) -> Result<(), TestCaseError> {
    if R::OPTIONAL.is_empty() {
        return Ok(());
    }
    let place = which.index(R::OPTIONAL.len());
    let (wire, field, due, without) = R::OPTIONAL[place];
    let mut sent = row.encode();
    let before = decoded::<R>(&[sent.clone()]).fields.get(field).copied().unwrap_or(0);
    let was_odd = u64::from(sent[wire].is_null());
    match missing {
        true => drop(sent.as_object_mut().unwrap().remove(wire)),
        false => sent[wire] = odd[due as usize].clone(),
    }
    let got = decoded::<R>(&[sent]);
    let mut want = row.clone();
    without(&mut want);
    prop_assert_eq!(&got.value, &[want], "{} as {:?}", wire, odd[due as usize]);
    prop_assert_eq!(got.rejected, 0);
    prop_assert!(before >= was_odd);
    prop_assert_eq!(got.fields.get(field), Some(&1), "{}", field);
    Ok(())
}

fn only_the_required_is_required<R: Sent>(row: &R, odd: &Value) -> Result<(), TestCaseError> {
    let whole = row.encode();
    let mut bare: Map<String, Value> =
        R::REQUIRED.iter().map(|&name| (name.to_owned(), whole[name].clone())).collect();
    if let Some(total) = whole.get("total") {
        bare.insert("total".to_owned(), total.clone());
    }
    let mut want = row.clone();
    R::OPTIONAL.iter().for_each(|(.., without)| without(&mut want));
    prop_assert_eq!(&decoded::<R>(&[bare.clone().into()]).value, &[want]);
    for &name in R::REQUIRED {
        for came in [None, Some(Value::Null), Some(odd.clone())] {
            let mut broken = whole.as_object().unwrap().clone();
            broken.remove(name);
            broken.extend(came.map(|came| (name.to_owned(), came)));
            // Its neighbours are none the worse.
            let got = decoded::<R>(&[whole.clone(), broken.into(), whole.clone()]);
            prop_assert_eq!((got.value.len(), got.rejected), (2, 1), "{}", name);
            let path = format!("[1].{name}");
            prop_assert!(
                got.problems[0].split(": ").next().unwrap().ends_with(&path),
                "{:?} is not {}",
                got.problems[0],
                path
            );
        }
    }
    Ok(())
}

/// One JSON value for each type that is none of it, in the order of [`Due`].
pub fn odd() -> impl Strategy<Value = Vec<Value>> {
    [Due::Text, Due::ListLength, Due::Switch, Due::Moment, Due::List, Due::Decimal].map(mistyped).to_vec()
}

macro_rules! of_records {
    ($($name:ident: $record:ty),* $(,)?) => {
        $(mod $name {
            use super::*;
            proptest! {
                #![proptest_config(crate::unit::properties::quick!("decode", 96))]

                #[test]
                fn comes_back_as_it_was(rows in vec((<$record>::given(), unknown_fields()), 0..5)) {
                    encoded_rows_come_back(&rows)?;
                }

                #[test]
                fn is_none_the_worse_for_an_odd_field(row in <$record>::given(), which in any::<Index>(), odd in odd(), missing in any::<bool>()) {
                    an_odd_field_is_absent(&row, which, &odd, missing)?;
                }

                #[test]
                fn needs_nothing_but_what_is_required(row in <$record>::given(), odd in select(vec![json!({}), json!([]), json!(true), json!("")])) {
                    only_the_required_is_required(&row, &odd)?;
                }
            }
        })*
    };
}

of_records! {
    vm: Vm, container: Container, site: Site, ip: Ip, counted: Counted, charge: Charge,
}
