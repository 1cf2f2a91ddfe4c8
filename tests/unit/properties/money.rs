//! Money is exact: sums against whole numbers of the smallest part, conversion to text and back, rounding for
//! people.

use crate::model::Money;
use proptest::collection::vec;
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::unit::properties::given;

/// In millionths, each amount of [`given::amount`] is a whole number.
fn millionths(money: Money) -> i128 {
    let decimal = money.decimal();
    decimal.mantissa() * 10_i128.pow(6 - decimal.scale())
}

fn exact(millionths: i128) -> Money {
    Money::new(Decimal::from_i128_with_scale(millionths, 6))
}

proptest! {
    #![proptest_config(crate::unit::properties::quick!("money", 256))]

    #[test]
    fn a_sum_is_exact_in_any_order(mut amounts in vec(given::amount(), 0..200), turn in any::<proptest::sample::Index>()) {
        let want = exact(amounts.iter().copied().map(millionths).sum());
        prop_assert_eq!(amounts.iter().copied().sum::<Money>(), want);
        amounts.reverse();
        prop_assert_eq!(amounts.iter().copied().sum::<Money>(), want);
        amounts.sort();
        prop_assert_eq!(amounts.iter().copied().sum::<Money>(), want);
        if !amounts.is_empty() {
            let middle = turn.index(amounts.len());
            let halves = amounts[middle..].iter().copied().sum::<Money>() + amounts[..middle].iter().copied().sum();
            prop_assert_eq!(halves, want);
        }
    }

    #[test]
    fn subtraction_undoes_addition(a in given::amount(), b in given::amount()) {
        prop_assert_eq!(a + b - b, a);
        prop_assert_eq!(a - b, -(b - a));
        let mut sum = a;
        sum += b;
        sum -= a;
        prop_assert_eq!(sum, b);
        prop_assert_eq!(millionths(a - b), millionths(a) - millionths(b));
    }

    #[test]
    fn text_is_read_as_the_amount_it_was_written_from(decimal in given::any_decimal()) {
        let money = Money::new(decimal);
        let text = money.to_string();
        prop_assert_eq!(text.parse::<Money>().unwrap(), money);
        prop_assert!(!text.contains('.') || !text.ends_with(['0', '.']), "{} has zeros to spare", text);
        prop_assert!(text != "-0" && !text.contains('e'));
        prop_assert_eq!(serde_json::from_str::<Money>(&serde_json::to_string(&money).unwrap()).unwrap(), money);
        prop_assert_eq!(decimal.to_string().parse::<Money>().unwrap(), money);
    }

    #[test]
    fn amounts_are_rounded_up_by_less_than_one(amount in given::amount()) {
        let up = millionths(amount.ceil_units());
        let have = millionths(amount);
        prop_assert!(up % 1_000_000 == 0 && up >= have && up - have < 1_000_000, "{} to {}", have, up);
        let near = millionths(amount.rounded());
        prop_assert!(near % 10_000 == 0 && (near - have).abs() <= 5_000);
        prop_assert_eq!(amount.is_positive(), have > 0);
    }

    /// For any amounts, the sign is right and nothing panics.
    #[test]
    fn no_amount_is_too_large(a in given::any_decimal(), b in given::any_decimal()) {
        let (one, other) = (Money::new(a), Money::new(b));
        let zero = Money::ZERO;
        prop_assert!(!(one >= zero && other >= zero) || one + other >= one.max(other));
        prop_assert!(!(one <= zero && other <= zero) || one + other <= one.min(other));
        prop_assert!(!(one >= zero && other <= zero) || one - other >= one.max(-other));
        prop_assert_eq!(one + other, other + one);
        let product = one.times(b);
        let sign = |money: Money| money.cmp(&zero);
        let same = sign(one) == sign(other);
        prop_assert!(if same { product >= zero } else { product <= zero }, "{} times {} is {}", one, other, product);
        prop_assert_eq!(one.over(Decimal::ZERO), None);
        let _ = (one.over(b), one.ceil_units(), one.rounded(), one.to_f64());
    }

    #[test]
    fn any_text_is_an_amount_or_an_error(text in prop_oneof!["(?s).{0,40}", "[+-]?[0-9]{0,40}\\.?[0-9]{0,40}(e[+-]?[0-9]{1,12})?"]) {
        if let Ok(money) = text.parse::<Money>() {
            prop_assert_eq!(money.to_string().parse::<Money>().unwrap(), money);
        }
    }
}
