//! One field of a record, which accepts any JSON. Decoding never fails because of a type: a value of another
//! type is noted as such.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::lenient::NO_NUMBER;
use crate::model::sanitize::one_line;
use crate::model::time::Stamp;

/// A field as it came.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum Field<T> {
    Value(T),
    #[default]
    Missing,
    Null,
    /// The value that came instead, for a problem's text: `the number -1`, `an object`.
    Mistyped(Box<str>),
}

impl<T> Field<T> {
    /// The value, or the one that came in its place.
    pub(crate) fn value(self) -> Result<T, Cow<'static, str>> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Missing => Err("missing".into()),
            Self::Null => Err("null".into()),
            Self::Mistyped(came) => Err(String::from(came).into()),
        }
    }
}

/// Whether a text means "none", as null does. The date is the first one of languages and databases.
///
/// Of other JSON false, `[]` and `{}` mean it too, for each type of fields that does not accept them.
pub(crate) fn is_none(text: &str) -> bool {
    let text = text.trim();
    ["", "null", "none"].iter().any(|none| text.eq_ignore_ascii_case(none))
        || text.starts_with("0000-")
        || text.starts_with("0001-01-01")
}

/// A type without values.
enum Never {}

impl Wire<'_> for Never {}

/// A value as a field of a type that accepts nothing. `serde_json` refuses only numbers beyond its range.
fn refused(raw: &RawValue) -> Field<Never> {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| Field::Mistyped("a number out of range".into()))
}

/// Whether JSON of any type means "none".
pub(crate) fn is_none_json(raw: &RawValue) -> bool {
    matches!(refused(raw), Field::Null)
}

/// Any JSON for a problem's text: `the text "much"`, `a list`.
pub(super) fn in_words(raw: &RawValue) -> Cow<'static, str> {
    refused(raw).value().map_or_else(|came| came, |never| match never {})
}

/// A type of fields, with the JSON that it accepts. It refuses the JSON that it does not name.
pub(crate) trait Wire<'de>: Sized {
    fn text(_: &str) -> Option<Self> {
        None
    }
    fn unsigned(_: u64) -> Option<Self> {
        None
    }
    fn signed(_: i64) -> Option<Self> {
        None
    }
    fn float(_: f64) -> Option<Self> {
        None
    }
    fn boolean(_: bool) -> Option<Self> {
        None
    }
    fn list<A: SeqAccess<'de>>(list: A) -> Result<Field<Self>, A::Error> {
        Ok(if rest(list)? == 0 { Field::Null } else { Field::Mistyped("a list".into()) })
    }
    fn object<A: MapAccess<'de>>(mut object: A) -> Result<Field<Self>, A::Error> {
        let mut came = Field::Null;
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            came = Field::Mistyped("an object".into());
        }
        Ok(came)
    }
}

impl<'de, T: Wire<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyOf(PhantomData))
    }
}

/// Skips the rest of a list and counts its elements, up to `u32::MAX`.
pub(super) fn rest<'de, A: SeqAccess<'de>>(mut list: A) -> Result<u32, A::Error> {
    let mut count = 0u32;
    while list.next_element::<IgnoredAny>()?.is_some() {
        count = count.saturating_add(1);
    }
    Ok(count)
}

struct AnyOf<T>(PhantomData<T>);

fn or<T>(value: Option<T>, number: impl fmt::Debug) -> Field<T> {
    let came = || format!("the number {number:?}").replace(NO_NUMBER, "NaN");
    value.map_or_else(|| Field::Mistyped(came().into()), Field::Value)
}

impl<'de, T: Wire<'de>> Visitor<'de> for AnyOf<T> {
    type Value = Field<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_unit<E>(self) -> Result<Field<T>, E> {
        Ok(Field::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Field<T>, E> {
        let other = if value { Field::Mistyped("true".into()) } else { Field::Null };
        Ok(T::boolean(value).map_or(other, Field::Value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Field<T>, E> {
        Ok(or(T::unsigned(value), value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Field<T>, E> {
        Ok(or(T::signed(value), value))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Field<T>, E> {
        Ok(or(T::float(value), value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Field<T>, E> {
        Ok(match T::text(value) {
            Some(value) => Field::Value(value),
            None if is_none(value) => Field::Null,
            None => Field::Mistyped(quoted(value).into()),
        })
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Field<T>, A::Error> {
        T::list(list)
    }
    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Field<T>, A::Error> {
        T::object(object)
    }
}

/// The first integer that is not exact in a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Integers, also as numeric strings and as floats without a fraction.
impl Wire<'_> for i64 {
    fn text(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }
    fn unsigned(value: u64) -> Option<Self> {
        value.try_into().ok()
    }
    fn signed(value: i64) -> Option<Self> {
        Some(value)
    }
    fn float(value: f64) -> Option<Self> {
        (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
    }
}

/// Integers from 0.
impl Wire<'_> for u64 {
    fn text(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }
    fn unsigned(value: u64) -> Option<Self> {
        Some(value)
    }
    fn float(value: f64) -> Option<Self> {
        (value.fract() == 0.0 && (0.0..=EXACT).contains(&value)).then_some(value as u64)
    }
}

/// `true` and `false`, and the numbers 1 and 0 that some encoders write for them.
impl Wire<'_> for bool {
    fn boolean(value: bool) -> Option<Self> {
        Some(value)
    }
    fn unsigned(value: u64) -> Option<Self> {
        match value {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// The number of characters that a problem quotes.
const MOST_SHOWN: usize = 40;

/// A text for a problem's words. A long one is left out: a part of a credential would not be hidden later.
fn quoted(text: &str) -> String {
    match text.chars().count() {
        0..=MOST_SHOWN => format!("the text {:?}", one_line(text, MOST_SHOWN)),
        characters => format!("a text of {characters} characters"),
    }
}

/// The maximum length. Longer texts are no names, states or addresses, and would fill memory, pages and mails.
pub(crate) const LONGEST_TEXT_BYTES: usize = 4096;
/// The maximum number of elements in a record's list.
const MOST_ELEMENTS: usize = 1000;

impl Wire<'_> for Box<str> {
    fn text(text: &str) -> Option<Self> {
        (text.len() <= LONGEST_TEXT_BYTES).then(|| text.into())
    }
}

/// The number of elements in a list, of any type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ListLength(pub u32);

impl<'de> Wire<'de> for ListLength {
    fn list<A: SeqAccess<'de>>(list: A) -> Result<Field<Self>, A::Error> {
        rest(list).map(Self).map(Field::Value)
    }
}

/// A list in a record. Odd elements are tolerated one by one; a list that is too long is refused.
impl<'de, T: Wire<'de>> Wire<'de> for Vec<Field<T>> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Field<Self>, A::Error> {
        let mut all = Self::new();
        while all.len() < MOST_ELEMENTS {
            let Some(element) = list.next_element()? else { return Ok(Field::Value(all)) };
            all.push(element);
        }
        Ok(if rest(list)? == 0 { Field::Value(all) } else { Field::Mistyped("a list".into()) })
    }
}

impl Wire<'_> for Stamp {
    fn text(text: &str) -> Option<Self> {
        if is_none(text) { None } else { Self::read(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn field<T: for<'de> Wire<'de>>(json: &str) -> Field<T> {
        serde_json::from_str(json).unwrap()
    }

    fn came<T>(instead: &str) -> Field<T> {
        Field::Mistyped(instead.into())
    }

    #[test]
    fn integers_come_in_many_guises() {
        for (json, want) in [
            ("7", Field::Value(7)),
            ("\"7\"", Field::Value(7)),
            ("\" 7 \"", Field::Value(7)),
            ("7.0", Field::Value(7)),
            ("18446744073709551615", Field::Value(u64::MAX)),
            ("null", Field::Null),
            ("-7", came("the number -7")),
            ("7.5", came("the number 7.5")),
            ("1e300", came("the number 1e300")),
            ("\"seven\"", came("the text \"seven\"")),
            ("\"\"", Field::Null),
            ("true", came("true")),
            ("[7]", came("a list")),
            ("{\"a\": [1, {\"b\": 2}]}", came("an object")),
        ] {
            assert_eq!(field::<u64>(json), want, "{json}");
        }
        for (json, want) in [
            ("7", Field::Value(7)),
            ("-7", Field::Value(-7)),
            ("\" -7 \"", Field::Value(-7)),
            ("-7.0", Field::Value(-7)),
            ("-7.5", came("the number -7.5")),
            ("null", Field::Null),
        ] {
            assert_eq!(field::<i64>(json), want, "{json}");
        }
        // From here on a float may stand for its neighbours.
        assert_eq!(field::<i64>("9007199254740992.0"), Field::Value(9_007_199_254_740_992));
        assert_eq!(field::<i64>("-9007199254740994.0"), came("the number -9007199254740994.0"));
        assert_eq!(field::<u64>("9007199254740992.0"), Field::Value(9_007_199_254_740_992));
        assert_eq!(field::<u64>("9007199254740994.0"), came("the number 9007199254740994.0"));
        assert_eq!(field::<u64>("-1.0"), came("the number -1.0"));
        assert_eq!(field::<i64>("18446744073709551615"), came("the number 18446744073709551615"));
    }

    #[test]
    fn a_value_that_is_far_too_long_counts_as_absent() {
        let text = |length: usize| format!("\"{}\"", "x".repeat(length));
        let list = |length: usize| format!("[{}0]", "0,".repeat(length - 1));
        assert!(matches!(field::<Box<str>>(&text(LONGEST_TEXT_BYTES)), Field::Value(_)));
        assert_eq!(field::<Box<str>>(&text(LONGEST_TEXT_BYTES + 1)), came("a text of 4097 characters"));
        assert!(matches!(field::<Vec<Field<u64>>>(&list(MOST_ELEMENTS)), Field::Value(_)));
        assert_eq!(field::<Vec<Field<u64>>>(&list(MOST_ELEMENTS + 1)), came("a list"));
    }

    #[test]
    fn lists_are_counted_or_tolerated_one_by_one() {
        assert_eq!(field::<ListLength>(r#"[1, {"a": []}, null]"#), Field::Value(ListLength(3)));
        assert_eq!(field::<ListLength>("[]"), Field::Value(ListLength(0)));
        assert_eq!(field::<ListLength>("3"), came("the number 3"));
        let each = vec![Field::Value(1), came("the text \"x\""), Field::Null, Field::Value(2)];
        assert_eq!(field::<Vec<Field<u64>>>(r#"[1, "x", null, 2]"#), Field::Value(each));
        assert_eq!(field::<Box<str>>("7"), came("the number 7"));
    }

    #[test]
    fn booleans_are_words_or_bits() {
        for (json, want) in [
            ("true", Field::Value(true)),
            ("false", Field::Value(false)),
            ("1", Field::Value(true)),
            ("0", Field::Value(false)),
            ("2", came("the number 2")),
            ("\"\"", Field::Null),
            ("\"true\"", came("the text \"true\"")),
            ("null", Field::Null),
        ] {
            assert_eq!(field::<bool>(json), want, "{json}");
        }
    }

    #[test]
    fn none_has_many_spellings() {
        let raw = |json: &str| serde_json::from_str::<Box<RawValue>>(json).unwrap();
        for none in [
            "null",
            "false",
            "[]",
            "{ }",
            "\"\"",
            "\" \"",
            "\"null\"",
            "\"None\"",
            "\"0000-00-00\"",
            "\"0000-00-00 00:00:00\"",
            "\"0001-01-01T00:00:00Z\"",
        ] {
            assert!(is_none_json(&raw(none)), "{none}");
            assert_eq!(field::<Stamp>(none), Field::Null, "{none}");
        }
        for some in ["true", "0", "7", "[null]", "{\"a\": null}", "\"2026-03-01\"", "\"no\"", "\"0\""] {
            assert!(!is_none_json(&raw(some)), "{some}");
            assert_ne!(field::<Stamp>(some), Field::Null, "{some}");
        }
        // A type that accepts them has a meaning of its own for them.
        assert_eq!(field::<Box<str>>("\"null\""), Field::Value("null".into()));
        assert_eq!(field::<bool>("false"), Field::Value(false));
        assert_eq!(field::<ListLength>("[]"), Field::Value(ListLength(0)));
    }

    #[test]
    fn a_datetime_without_offset_needs_the_zone_and_is_then_no_mistake() {
        let at = |json: &str| {
            let read = field::<Stamp>(json);
            if let Field::Value(stamp) = read { Ok(stamp.at(None).is_some()) } else { Err(read) }
        };
        assert_eq!(at("\"2026-03-01T12:00:00\""), Ok(false));
        assert_eq!(at("\"2026-03-01\""), Ok(false));
        assert_eq!(at("\"2026-03-01T12:00:00Z\""), Ok(true));
        for no_datetime in ["soon", "2026-02-30T12:00:00"] {
            let words = came(&format!("the text \"{no_datetime}\""));
            assert_eq!(at(&format!("\"{no_datetime}\"")), Err(words));
        }
    }

    proptest! {
        /// A field accepts any valid JSON, and the text behind it is still read.
        #[test]
        fn a_field_never_fails_on_json(number in any::<f64>(), text in ".*") {
            let odd = serde_json::json!([number, {"k": [text, null]}]);
            for value in [odd.clone(), odd[0].clone(), odd[1].clone(), odd[1]["k"][0].clone()] {
                let json = serde_json::json!([value, 7]).to_string();
                let (_, after): (Field<bool>, Field<u64>) = serde_json::from_str(&json).unwrap();
                prop_assert_eq!(after, Field::Value(7));
            }
        }
    }
}
