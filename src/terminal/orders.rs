//! The table of the dearest orders, for `status` and `forecast`. Pure.

use super::layout::{Cell, Column, Emphasis, Layout};
use super::text;
use super::words::EN;
use crate::view::{Orders, words};

/// The columns and rows that are shown.
pub(super) struct OrderTable<'a> {
    pub title: &'static str,
    pub most: usize,
    /// `None`: the table has no currency, and the cost a month.
    pub currency: Option<&'a str>,
}

impl OrderTable<'_> {
    /// Writes the table. Without a cut-off ahead (`is_ahead`) the column about the gain is left out.
    pub(super) fn write(&self, layout: &mut Layout, orders: &Orders, is_ahead: bool) {
        let currency = self.currency.unwrap_or_default();
        let month = self.currency.is_none().then(|| Column::right("A month"));
        let gain = is_ahead.then(|| Column::left("Without it"));
        let columns = [Column::flexible(self.title), Column::right("A day")].into_iter().chain(month);
        let columns: Vec<Column> = columns.chain([Column::right("Share")]).chain(gain).collect();
        let shown = &orders.dearest[..orders.dearest.len().min(self.most)];
        let rows = shown.iter().map(|one| {
            let month = month.map(|_| words::spaced_amount(one.per_month, currency, EN));
            let gain = gain.map(|_| words::without_order(one.buys_days, EN));
            let share = format!("{:.1} %", one.share_percent);
            // The order's name comes from the provider.
            let costs = [text::name(&one.words(EN)), words::spaced_amount(one.per_day, currency, EN)];
            costs.into_iter().chain(month).chain([share]).chain(gain).map(Cell::new).collect()
        });
        let rows: Vec<Vec<Cell>> = rows.collect();
        if rows.is_empty() {
            return;
        }
        layout.table(2, &columns, &rows);
        let others = orders.orders_with_charges.saturating_sub(rows.len());
        if others > 0 {
            layout.text(2, words::count(others, "other order", "other orders"), Emphasis::Faint);
        }
    }
}
