//! Reasons, observations and people's decisions as sentences, in both languages. All of them are for the inside
//! of a sentence. Pure.

use super::forms;
use super::reader::Reader;
use super::words::{self, DAYS, DAYS_LESS, lasted};
use crate::alert::{Cause, Decided, Detail};
use crate::model::forecast::Doubt;
use crate::model::{Language, Sort, sanitize, say, when};

/// The sentence of a reason from the store. One that is not known is shown as it is.
pub(crate) fn stored(reason: String) -> String {
    Cause::of_stored(&reason).map_or(reason, |known| cause(&known, Language::En))
}

/// The sentence of the event behind it.
#[allow(clippy::too_many_lines, reason = "a table: a sentence each")]
pub(crate) fn cause(cause: &Cause, language: Language) -> String {
    let pick = |en, ru| language.pick(en, ru).to_owned();
    let polls = |count: u32| language.count(count as usize, words::POLLS);
    let days = |count: i64| language.count(usize::try_from(count).unwrap_or(0), DAYS);
    let less = |count: i64| language.count(usize::try_from(count).unwrap_or(0), DAYS_LESS);
    let minutes = |minutes: u64| match i64::try_from(minutes) {
        Ok(0) => pick("a minute", "минуту"),
        Ok(minutes) => lasted(chrono::Duration::minutes(minutes.min(1_000_000_000)), language),
        Err(_) => String::new(),
    };
    let day = |date| when::kept_day(date, language);
    match cause {
        Cause::SeenWrong => pick("first seen in this poll", "замечено при последнем опросе"),
        Cause::SeenWrongInARow { polls: count } => {
            let polls = polls(*count);
            say!(language, "confirmed by {polls}", "подтверждено: {polls} подряд")
        }
        Cause::Confirming { seen, polls } => {
            say!(language, "{seen} of {polls} bad polls", "плохих опросов: {seen} из {polls}")
        }
        Cause::Unchanged { minutes: count } => {
            let span = minutes(*count);
            say!(language, "unchanged for {span}", "без изменений {span}")
        }
        Cause::Holding { minutes: count } => {
            let span = minutes(*count);
            say!(
                language,
                "no mail yet: mailed if it lasts {span}",
                "письма пока нет: оно уйдёт, если это продлится {span}"
            )
        }
        Cause::Unconfirmed => {
            pick("went away before it was confirmed: no mail", "прошло до подтверждения: письма не будет")
        }
        Cause::SeenBefore => pick("already so in an earlier poll", "было так уже при прошлом опросе"),
        Cause::WrongAgain => {
            pick("failed again before it had recovered", "сбой повторился раньше, чем закончился прежний")
        }
        Cause::NoRecovery { detail } => {
            let detail = self::detail(detail, language);
            say!(
                language,
                "still open: {detail}, which is no recovery",
                "проблема остаётся: {detail} — это ещё не восстановление"
            )
        }
        Cause::CoverEnded => {
            pick("still open after its cause ended", "причина устранена, а проблема осталась")
        }
        Cause::MoreThanTold => pick("more than the last mail said", "больше, чем в прошлом письме"),
        Cause::Reminder { count, most } => {
            say!(
                language,
                "reminder {count} of {most}: still open",
                "напоминание {count} из {most}: проблема остаётся"
            )
        }
        Cause::Escalated { to, after } => {
            let after = minutes(*after);
            say!(
                language,
                "escalated to {to}: nobody acknowledged it within {after}",
                "передано дальше ({to}): за {after} никто не подтвердил, что занимается этим"
            )
        }
        Cause::Flapping { changes } => {
            let changes = language.count(*changes, words::CHANGES);
            say!(language, "{changes} within an hour", "{changes} состояния за час")
        }
        Cause::Stable => {
            pick("stable for half an hour after many changes", "полчаса без изменений после частых сбоев")
        }
        Cause::Recovering { seen, polls } => {
            say!(language, "{seen} of {polls} good polls", "хороших опросов: {seen} из {polls}")
        }
        Cause::OkInARow { polls: 0 | 1 } => pick("OK in this poll", "последний опрос в порядке"),
        Cause::OkInARow { polls: count } => {
            let polls = polls(*count);
            say!(language, "OK in {polls} in a row", "в порядке: {polls} подряд")
        }
        Cause::SeenRight => pick("OK again", "снова в порядке"),
        Cause::NoLongerListed => pick("no longer listed", "больше нет в списке провайдера"),
        Cause::RuleOff => pick("its rule is switched off", "правило выключено"),
        Cause::AccountGone => {
            pick("its account is no longer in the configuration", "аккаунта больше нет в конфигурации")
        }
        Cause::CollectorOff => pick(
            "what reads it is switched off or has no credentials",
            "опрос выключен или для него нет учётных данных",
        ),
        Cause::LeftOut => pick("its rule leaves this name out", "правило исключает это имя"),
        Cause::CodeUnnamed => pick(
            "the number of its state has no name in container_states any more",
            "у номера этого состояния больше нет имени в container_states",
        ),
        Cause::LeftReport => pick("the report does not have it any more", "в отчёте этого больше нет"),
        Cause::GoneForADay => {
            pick("gone for a day: no more mail about it", "прошёл день: писем об этом больше не будет")
        }
        Cause::WatchedAgain => {
            pick("still open, and watched again", "проблема остаётся и снова отслеживается")
        }
        Cause::KnownAtStart => pick("already so at the first start", "было так уже при первом запуске"),
        Cause::Doubt(doubt) => {
            let doubt = self::doubt(*doubt, language);
            say!(language, "still open: {doubt}", "проблема остаётся: {doubt}")
        }
        Cause::NoFurtherReport => pick(
            "still open: no further report could be read",
            "проблема остаётся: новый отчёт получить не удалось",
        ),
        Cause::WithoutDate { seen, polls } => {
            say!(
                language,
                "{seen} of {polls} good reports without a cut-off",
                "хороших отчётов без отключения: {seen} из {polls}"
            )
        }
        Cause::UsedUp => pick("the balance is used up", "деньги на балансе закончились"),
        Cause::DatePassed => pick("the cut-off date has passed", "дата отключения прошла"),
        Cause::Rung { days: count } => {
            let days = less(*count);
            say!(language, "less than {days} left", "до отключения меньше {days}")
        }
        Cause::LastSafeDay => pick(
            "the last day on which a payment arrives in time has come",
            "наступил последний день, когда платёж ещё успеет дойти",
        ),
        Cause::MovedBack { to } => {
            let to = day(*to);
            say!(language, "cut-off postponed to {to}", "отключение отодвинулось на {to}")
        }
        Cause::Paid { to } => {
            let to = day(*to);
            say!(language, "a payment arrived, cut-off now {to}", "платёж поступил, отключение теперь {to}")
        }
        Cause::StillOverdue => pick("still overdue", "оплата всё ещё просрочена"),
        Cause::DeletionIn { days: count } => {
            let days = days(*count);
            say!(language, "{days} before the data are deleted", "до удаления данных: {days}")
        }
        Cause::DeletionDay => pick("the day on which the data are deleted", "наступил день удаления данных"),
        Cause::BalanceDrop => pick("the balance is lower than forecast", "баланс ниже прогноза"),
        Cause::Dearer => pick("the order costs more than before", "заказ подорожал"),
    }
}

/// The reason why a report proves nothing.
pub(crate) fn doubt(doubt: Doubt, language: Language) -> String {
    let russian = match doubt {
        _ if language == Language::En => return doubt.to_string(),
        Doubt::Error => "отчёт пришёл с ошибкой",
        Doubt::DateGiven => "в отчёте есть дата отключения",
        Doubt::DateUnknown => "в отчёте нет даты отключения или это не дата",
        Doubt::ExpectedBalance => "неизвестно, больше ли нуля ожидаемый баланс",
        Doubt::Moment(_) => "после одного из начислений баланс не больше нуля",
        Doubt::MomentsRejected => "часть начислений прочитать не удалось",
        Doubt::BalanceNow => "сейчас баланс не больше нуля",
        Doubt::TooShort => "отчёт кончается раньше известной даты отключения",
        Doubt::NoCharges => "отчёты без начислений доказывают что-то только через сутки",
    };
    russian.to_owned()
}

/// The sentence of the last observation.
pub(crate) fn detail(detail: &Detail, language: Language) -> String {
    let pick = |en, ru| language.pick(en, ru).to_owned();
    match detail {
        Detail::State { state, now } => {
            let state = forms::state(state, language);
            let now = if *now { language.pick(" now", " теперь") } else { "" };
            say!(language, "its state is{now} {state}", "состояние{now}: {state}")
        }
        Detail::NotListed => {
            pick("no longer listed by the provider", "провайдер больше не показывает это в списке")
        }
        Detail::ListedAgain => pick("listed again", "снова в списке"),
        Detail::LeftReport => pick("no longer in the report", "в отчёте этого больше нет"),
        Detail::NoLongerSeen => pick("no longer seen", "больше не встречается"),
        Detail::CannotTell { sort } => {
            let remedy = match sort {
                Sort::Container => {
                    language.pick("; name it in container_states", "; назовите его в container_states")
                }
                Sort::Vm | Sort::Site => "",
            };
            say!(
                language,
                "cannot tell whether resources in this state are OK{remedy}",
                "непонятно, в порядке ли ресурсы в этом состоянии{remedy}"
            )
        }
        Detail::SitesStopped { stopped, sites, unnamed } => {
            sites_stopped(*stopped, *sites, unnamed.as_deref(), language)
        }
        Detail::SitesBack => pick(
            "its sites are no longer all stopped by the service",
            "провайдер больше не держит остановленными все его сайты",
        ),
        Detail::Answers => pick("answers again", "снова отвечает"),
        Detail::Unproven { doubt, held } => {
            let held = held.as_ref().map(|held| format!(" ({held})"));
            self::doubt(*doubt, language) + &held.unwrap_or_default()
        }
        Detail::Balance { foreseen, actual, currency } => {
            let [foreseen, actual] =
                [foreseen, actual].map(|money| words::spaced_amount(*money, currency, language));
            say!(language, "forecast {foreseen}, actual {actual}", "по прогнозу {foreseen}, на деле {actual}")
        }
        Detail::CostPerDay { from, to, currency } => {
            let [from, to] = [from, to].map(|money| words::spaced_amount(*money, currency, language));
            say!(language, "{to} a day, was {from}", "{to} в день, было {from}")
        }
        Detail::Text(text) => text.clone(),
    }
}

/// `2 of its 3 sites are StoppedByService`, with the container's own state if that has no name.
fn sites_stopped(stopped: usize, sites: usize, unnamed: Option<&str>, language: Language) -> String {
    let unnamed = unnamed.map_or_else(String::new, |state| {
        say!(
            language,
            "; its own state \"{state}\" has no name in container_states",
            "; его собственное состояние «{state}» не названо в container_states"
        )
    });
    let are = match (stopped, sites) {
        (_, 1) => "its only site is".to_owned(),
        (1, _) => format!("1 of its {sites} sites is"),
        (_, _) => format!("{stopped} of its {sites} sites are"),
    };
    say!(
        language,
        "{are} StoppedByService{unnamed}",
        "сайтов остановлено провайдером: {stopped} из {sites}{unnamed}"
    )
}

impl Decided {
    /// `acknowledged Tue 24 Nov 07:15 MSK: Ann is on it`; `None` if nobody acknowledged or silenced it.
    pub(crate) fn words(&self, reader: Reader) -> Option<String> {
        let language = reader.language;
        let words = match (self.acknowledged, self.silenced_until) {
            (true, _) => {
                let since = |at| match language {
                    Language::En => reader.moment(at),
                    Language::Ru => reader.since(at),
                };
                let at = self.acknowledged_at.map_or_else(String::new, |at| format!(" {}", since(at)));
                say!(language, "acknowledged{at}", "этим занимаются{at}")
            }
            (false, Some(until)) => {
                let until = reader.moment(until);
                say!(language, "silenced until {until}", "без писем до {until}")
            }
            (false, None) => return None,
        };
        let note = self.note.as_ref().map(|note| format!(": {}", sanitize::one_line(note, 80)));
        Some(words + &note.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_reads_as_a_sentence_in_both_languages() {
        for (reason, en, ru) in [
            (Cause::SeenWrong, "first seen in this poll", "замечено при последнем опросе"),
            (Cause::Rung { days: 7 }, "less than 7 days left", "до отключения меньше 7 дней"),
            (
                Cause::LastSafeDay,
                "the last day on which a payment arrives in time has come",
                "наступил последний день, когда платёж ещё успеет дойти",
            ),
            (Cause::OkInARow { polls: 2 }, "OK in 2 polls in a row", "в порядке: 2 опроса подряд"),
            (
                Cause::Doubt(Doubt::TooShort),
                "still open: the report ends before the cut-off date known so far",
                "проблема остаётся: отчёт кончается раньше известной даты отключения",
            ),
            (
                Cause::Doubt(Doubt::Moment(chrono::DateTime::UNIX_EPOCH)),
                "still open: the balance is not above 0 after a charge",
                "проблема остаётся: после одного из начислений баланс не больше нуля",
            ),
            (Cause::Unchanged { minutes: 125 }, "unchanged for 2 h 5 min", "без изменений 2 ч 5 мин"),
        ] {
            assert_eq!([Language::En, Language::Ru].map(|language| cause(&reason, language)), [en, ru]);
        }
    }

    #[test]
    fn the_sites_of_a_container_are_counted() {
        for (stopped, sites, want) in [
            (1, 1, "its only site is StoppedByService"),
            (1, 3, "1 of its 3 sites is StoppedByService"),
            (3, 3, "3 of its 3 sites are StoppedByService"),
        ] {
            let detail = Detail::SitesStopped { stopped, sites, unnamed: None };
            assert_eq!(super::detail(&detail, Language::En), want);
        }
    }
}
