//! The table of the dearest orders, for `forecast`. Pure.

use super::layout::{Cell, Column, Emphasis, Layout};
use super::text;
use super::words::EN;
use crate::view::{Orders, words};

/// Writes the table, without a currency.
pub(super) fn table(layout: &mut Layout, orders: &Orders) {
    let rows = orders.dearest.iter().map(|one| {
        // The order's name comes from the provider.
        let name = text::name(&one.words(EN));
        vec![Cell::new(name), Cell::new(words::spaced_amount(one.per_day, "", EN))]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    if rows.is_empty() {
        return;
    }
    layout.table(2, &[Column::flexible("Order"), Column::right("A day")], &rows);
    let others = orders.orders_with_charges.saturating_sub(rows.len());
    if others > 0 {
        layout.text(2, words::count(others, "other order", "other orders"), Emphasis::Faint);
    }
}
