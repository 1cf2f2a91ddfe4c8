//! Exact decimals, from a string or from the text of a number, and never through a float.

use rust_decimal::Decimal;
use serde_json::value::RawValue;

/// The digits that every decimal can hold behind its point.
const MOST_PLACES: i64 = 28;

/// The decimal, rounded half-even to the digits that a [`Decimal`] holds.
pub(crate) fn decimal(raw: &RawValue) -> Option<Decimal> {
    let text = raw.get();
    match text.as_bytes().first()? {
        b'"' => match serde_json::from_str::<&str>(text) {
            Ok(plain) => parse(plain),
            // A string with an escape in it.
            Err(_) => parse(&serde_json::from_str::<String>(text).ok()?),
        },
        b'-' | b'0'..=b'9' => parse(text),
        _ => None,
    }
}

fn parse(text: &str) -> Option<Decimal> {
    // `Decimal` would accept 1_000 too.
    if text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
        && let Ok(exact) = Decimal::from_str_exact(text)
    {
        return Some(exact);
    }
    // U+2212 is the minus of typography.
    let text: String = text.replace('\u{2212}', "-").split_whitespace().collect();
    let is_comma_decimal =
        text.split_once(',').is_some_and(|(_, places)| matches!(places.len(), 1 | 2)) && !text.contains('.');
    let text = if is_comma_decimal { text.replace(',', ".") } else { text };
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = [whole.strip_prefix(['-', '+']).unwrap_or(whole), part].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let places = (part.len() as i64).saturating_sub(exponent.parse().ok()?);
    let rounded = rounded(digits.trim_start_matches('0'), places)?;
    Some(if whole.starts_with('-') && !rounded.is_zero() { -rounded } else { rounded })
}

/// The number `digits` × 10^−`places`; `None` if it is too large.
fn rounded(digits: &str, places: i64) -> Option<Decimal> {
    if digits.is_empty() {
        return Some(Decimal::ZERO);
    }
    let zeros = usize::try_from(places.saturating_neg().max(0)).ok().filter(|&zeros| zeros <= 29)?;
    let (digits, places) = (digits.to_owned() + &"0".repeat(zeros), places.max(0));
    let length = digits.len() as i64;
    let least = (places - MOST_PLACES).max(length - MOST_PLACES - 1).max(0);
    // Most numbers of 29 digits are too large, so that one more digit goes.
    (least..=least + 1).take_while(|&dropped| dropped <= places).find_map(|dropped| {
        let Ok(kept) = usize::try_from(length - dropped) else { return Some(Decimal::ZERO) };
        let (kept, rest) = digits.split_at(kept);
        let whole: i128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
        let half = rest.trim_end_matches('0');
        let is_up = half > "5" || (half == "5" && whole % 2 == 1);
        Decimal::try_from_i128_with_scale(whole + i128::from(is_up), (places - dropped) as u32).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_rounded_half_even_whether_quoted_or_not() {
        let table = [
            ("\"10.10\"", Some("10.10")),
            ("10.10", Some("10.10")),
            ("-0.01", Some("-0.01")),
            // A float would end in …56789012346 here.
            ("12345678901234567890.12345678", Some("12345678901234567890.12345678")),
            ("0.1234567890123456789012345678", Some("0.1234567890123456789012345678")),
            ("1.5e3", Some("1500")),
            ("1E+2", Some("100")),
            ("\"+7\"", Some("7")),
            ("\" 7 \"", Some("7")),
            ("\"\u{2212}1\u{a0}250,50\"", Some("-1250.50")),
            ("\"\\u0037\"", Some("7")),
            // More digits than fit.
            ("2.842170943040401e-14", Some("0.0000000000000284217094304040")),
            ("\"0.01428571428571428571428571429\"", Some("0.0142857142857142857142857143")),
            ("\"9.99999999999999999999999999999\"", Some("10.000000000000000000000000000")),
            ("0.12345678901234567890123456789e1", Some("1.2345678901234567890123456789")),
            ("0.00000000000000000000000000005", Some("0.0000000000000000000000000000")),
            ("0.00000000000000000000000000015", Some("0.0000000000000000000000000002")),
            ("0.00000000000000000000000000025", Some("0.0000000000000000000000000002")),
            ("0.000000000000000000000000000250001", Some("0.0000000000000000000000000003")),
            ("79228162514264337593543950335.4", Some("79228162514264337593543950335")),
            ("79228162514264337593543950335.5", None),
            ("79228162514264337593543950336", None),
            ("-7922816251426433759354395033.54", Some("-7922816251426433759354395033.5")),
            ("1e28", Some("10000000000000000000000000000")),
            ("1e29", None),
            ("1e99999999999999999999", None),
            ("0e999999999999999999", Some("0")),
            ("1e999999999999999999", None),
            ("\"1e-999999999999999999\"", Some("0")),
            ("1e-9223372036854775808", Some("0")),
            ("\"-1e-99\"", Some("0")),
            // Blanks between digits, and decimal commas.
            ("\"1 234 567.89\"", Some("1234567.89")),
            ("\"-1\\u00a0234,5\"", Some("-1234.5")),
            ("\"12\\u202f345,67\"", Some("12345.67")),
            ("\"1,234\"", None),
            ("\"1,234.56\"", None),
            ("\"1,2,3\"", None),
            ("\"1,\"", None),
            ("\"1_000\"", None),
            ("\"1.2.3\"", None),
            ("\"1e\"", None),
            ("\"1e5e5\"", None),
            ("\"0x10\"", None),
            ("\"\"", None),
            ("\"-\"", None),
            ("\".\"", None),
            ("\"NaN\"", None),
            ("\"5 RUB\"", None),
            ("true", None),
            ("null", None),
            ("[1]", None),
        ];
        for (json, want) in table {
            let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
            assert_eq!(decimal(&raw).map(|value| value.to_string()).as_deref(), want, "{json}");
        }
    }
}
