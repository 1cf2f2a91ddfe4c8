//! Money: exact decimals in the account's currency. Never a float.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};

use super::as_text::serde_as_text;
use super::language::Language;

/// An amount in the account's currency, as exact as the provider gave it.
///
/// Arithmetic saturates at the ends of `Decimal` (some 7.9 × 10²⁸), so that absurd input cannot cause a panic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Money(Decimal);

impl Money {
    /// Zero.
    pub(crate) const ZERO: Self = Self(Decimal::ZERO);
    /// The lowest amount that keeps a balance above zero.
    pub(crate) const SMALLEST: Self = Self(Decimal::from_parts(1, 0, 0, false, 2));

    /// Wraps an exact decimal.
    pub(crate) const fn new(value: Decimal) -> Self {
        Self(value)
    }

    /// The exact decimal.
    pub(crate) const fn decimal(self) -> Decimal {
        self.0
    }

    /// Whether it is above zero, which the interface calls `positive` (2.8). A remainder of floats is
    /// no money.
    pub(crate) fn is_positive(self) -> bool {
        const REMAINDER: Decimal = Decimal::from_parts(1, 0, 0, false, 6);
        self.0 > REMAINDER
    }

    /// Whether it is neither above nor below zero.
    pub(crate) fn is_zero(self) -> bool {
        !self.is_positive() && !(-self).is_positive()
    }

    /// The amount rounded up to whole units, as mails name amounts to pay, so that it is never too low.
    pub(crate) fn ceil_units(self) -> Self {
        Self(self.0.round_dp_with_strategy(0, RoundingStrategy::ToPositiveInfinity))
    }

    /// Rounded to two places, for people.
    pub(crate) fn rounded(self) -> Self {
        Self(self.0.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero))
    }

    /// `−1 234.50`, `−1 234,50`: two places and narrow spaces between thousands, for people.
    pub(crate) fn spaced(self, language: Language) -> String {
        apart(&format!("{:.2}", self.rounded().0), language)
    }

    /// `−1 235`: whole units, rounded up.
    pub(crate) fn spaced_units(self) -> String {
        apart(&self.ceil_units().0.normalize().to_string(), Language::En)
    }

    /// Multiplied by an exact factor, saturating.
    pub(crate) fn times(self, factor: Decimal) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// Divided by an exact divisor; `None` for zero.
    pub(crate) fn over(self, divisor: Decimal) -> Option<Self> {
        self.0.checked_div(divisor).map(Self)
    }

    /// The nearest float, for drawing only.
    pub(crate) fn to_f64(self) -> f64 {
        self.0.to_f64().unwrap_or(0.0)
    }
}

/// A number with a narrow space between thousands, a minus sign in place of a hyphen, and the language's decimal mark.
pub(crate) fn apart(number: &str, language: Language) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("\u{2212}", digits));
    match digits.split_once('.') {
        Some((whole, part)) => format!("{sign}{}{}{part}", thousands(whole), language.pick(".", ",")),
        None => format!("{sign}{}", thousands(digits)),
    }
}

/// Digits with a narrow space between thousands.
fn thousands(digits: &str) -> String {
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join("\u{202f}")
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Money {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Money {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Money {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Money {
    type Err = rust_decimal::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        Decimal::from_str_exact(text).or_else(|_| Decimal::from_scientific(text)).map(Self)
    }
}

/// Without trailing zeros, for metrics: `25.5`, `-44.5`, `0`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.normalize().fmt(f)
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

serde_as_text!(Money);

#[cfg(test)]
mod tests {
    use super::*;

    fn money(text: &str) -> Money {
        text.parse().unwrap()
    }

    #[test]
    fn amounts_for_people_have_two_places() {
        assert_eq!(money("0.125").rounded(), money("0.13"));
        assert_eq!(money("-0.125").rounded(), money("-0.13"));
        assert_eq!(money("7.004").rounded(), money("7"));
        assert_eq!(money("-2.5").to_f64(), -2.5);
        assert_eq!(-money("2.5"), money("-2.5"));
    }

    #[test]
    fn a_remainder_of_floats_is_no_money() {
        for (text, want) in [("0.01", true), ("0.00001", true), ("0.0000000000000284", false), ("-5", false)]
        {
            assert_eq!(money(text).is_positive(), want, "{text}");
            assert_eq!(money(text).is_zero(), text.starts_with("0.00000000"), "{text}");
        }
    }
}
