//! Checks the merged values against the table of keys. It reports each unknown key with the nearest known one,
//! and each value of the wrong type with the expected type. It does not interpret values.

use figment::value::{Dict, Value};

use super::findings::Findings;
use super::keys::{self, ValueType};
use super::recipient;
use super::sources::Sources;
use crate::alert::Kind;
use crate::model::nearest::{likeness, nearest};

/// Reports unknown keys and values of the wrong type.
pub(super) fn check(sources: &Sources, findings: &Findings) {
    if let Some(root) = sources.values.as_dict() {
        walk(&mut Vec::new(), root, sources, findings);
    }
}

fn walk(path: &mut Vec<String>, table: &Dict, sources: &Sources, findings: &Findings) {
    for (name, value) in table {
        path.push(name.clone());
        match value.as_dict() {
            Some(inner) if keys::find(path).is_none() && keys::is_table(path) => {
                walk(path, inner, sources, findings);
            }
            _ => {
                if let Some(message) = complaint(path, value) {
                    let origin = sources.origin(value);
                    let source = origin.as_deref().unwrap_or(&sources.main);
                    findings.error(source, &path.join("."), message);
                }
            }
        }
        path.pop();
    }
}

fn complaint(path: &[String], value: &Value) -> Option<String> {
    match keys::find(path) {
        Some(key) if key.kind.fits(value) => None,
        Some(key)
            if key.kind.is_list()
                && matches!(value, Value::String(..) | Value::Char(..) | Value::Num(..)) =>
        {
            let name = path.last().map_or("", String::as_str);
            Some(format!("needs brackets: {name} = {}", key.kind.words().1))
        }
        Some(key) if key.kind.is_text() && matches!(value, Value::Num(..) | Value::Bool(..)) => {
            let name = path.last().map_or("", String::as_str);
            Some(format!("needs quotes: {name} = {}", key.kind.words().1))
        }
        Some(key) => Some(mismatch(key.kind, value)),
        None if keys::is_table(path) => {
            Some(format!("is {}, expected a table: [{}]", actual(value), path.join(".")))
        }
        None => Some(unknown(path)),
    }
}

/// A value, or a member of a list, of the wrong type.
fn mismatch(kind: ValueType, value: &Value) -> String {
    let members = value.as_array().filter(|_| kind.is_list());
    let fits = |one: &&Value| kind.fits(&Value::from(vec![(*one).clone()]));
    let odd = members.and_then(|all| all.iter().find(|one| !fits(one)));
    let one = odd.unwrap_or(value);
    if matches!(kind, ValueType::Count | ValueType::Counts)
        && let Ok(number) = one.deserialize::<f64>()
    {
        return format!("{number} is not allowed; use whole numbers from 0 to {}", u32::MAX);
    }
    if let Some(message) = odd.filter(|_| kind == ValueType::Recipients).and_then(recipient::unknown_key) {
        return message;
    }
    let verb = if odd.is_some() { "holds" } else { "is" };
    format!("{verb} {}, expected {}", actual(one), kind.expected())
}

/// The type of a value, never the value itself.
fn actual(value: &Value) -> &'static str {
    match value {
        Value::String(..) | Value::Char(..) => "text",
        Value::Bool(..) => "true or false",
        Value::Num(..) => "another number",
        Value::Empty(..) => "empty",
        Value::Dict(..) => "a table",
        Value::Array(..) => "a list",
    }
}

fn unknown(path: &[String]) -> String {
    let (name, table) = path.split_last().map_or(("", path), |(name, table)| (name.as_str(), table));
    let known = keys::names_in(table);
    let named = |what: &str| format!("{what} name is made of letters, digits, '_' and '-'; rename it");
    match known.iter().find(|name| name.starts_with('<')).copied() {
        Some("<kind>") => {
            return format!("unknown kind of incident; did you mean '{}'?", nearest(name, Kind::NAMES));
        }
        Some("<webhook>") => return named("a webhook's"),
        Some("<chat>") => return named("a Telegram chat's"),
        Some("<name>") => return named("an account's"),
        Some(_) => return "a container state's code is a whole number, such as 0 = \"ENABLED\"".to_owned(),
        None => {}
    }
    let near = nearest(name, &known);
    match keys::homes_of(name).next() {
        Some(home) if likeness(name, near) < 0.5 => {
            format!("unknown key in this place; it belongs to '{home}'")
        }
        Some(_) | None => format!("unknown key; did you mean '{near}'?"),
    }
}
