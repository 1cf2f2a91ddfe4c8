//! The receipt in a mail after a payment: the amount that arrived, the new cut-off, the cost of the next 30
//! days. Pure.

use chrono::Duration;

use super::DisconnectMail;
use crate::alert::Event;
use crate::mail::body::Section;
use crate::model::{forecast, say};
use crate::view::billing::Due;
use crate::view::words::capital;

/// Mails name a payment for this long: each event about a payment is mailed once in 24 hours.
const TOLD_FOR: Duration = Duration::hours(48);

impl DisconnectMail<'_> {
    /// The receipt for a payment that moved the cut-off, or ended it.
    pub(super) fn receipt(&self) -> Option<Section> {
        let language = self.context.language;
        let (report, _) = self.report?;
        let arrived = self.arrived();
        if arrived.is_none() && !matches!(self.item.event, Event::Paid(_)) {
            return None;
        }
        let mut section = Section::new(language.pick("The payment", "Платёж"));
        if let Some(arrived) = arrived {
            section.row(language.pick("Arrived", "Поступило"), arrived);
        }
        let cut_off =
            if self.item.event.is_end() { capital(&self.no_cut_off()) } else { self.when_in_full() };
        section.row(language.pick("Cut-off now", "Отключение теперь"), cut_off);
        let then = Due::month(report, self.context.now);
        if let Some((now, then)) = forecast::balance_now(report).zip(then.balance) {
            let cost = self.money(now - then);
            section.row(
                language.pick("Next 30 days", "Ближайшие 30 дней"),
                say!(language, "cost {cost}", "обойдутся в {cost}"),
            );
        }
        Some(section)
    }

    /// The payment in words: `300.00 RUB more than forecast, seen Sun 1 Mar 15:00 MSK`.
    pub(super) fn arrived(&self) -> Option<String> {
        let is_told = matches!(self.item.event, Event::Paid(_)) || self.item.event.is_end();
        let (at, amount) =
            self.cut_off.arrived.filter(|(at, _)| is_told && self.context.now - *at < TOLD_FOR)?;
        let (amount, at) = (self.money(amount), self.moment(at));
        Some(say!(
            self.context.language,
            "{amount} more than forecast, seen {at}",
            "{amount} сверх прогноза, замечено {at}"
        ))
    }
}
