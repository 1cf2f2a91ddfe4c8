//! Times, amounts and counts as people read them: one form for each value. Only subjects have no separators
//! between thousands. Pure.

use chrono::{DateTime, Duration, Utc};

use crate::alert::Severity;
use crate::model::money::Money;
use crate::model::sanitize::one_line;
use crate::model::{Collector, Language, Noun, Sort, say};

pub(crate) const RESOURCES: Noun =
    Noun { en: ["resource", "resources"], ru: ["ресурс", "ресурса", "ресурсов"] };
pub(crate) const PROBLEMS: Noun =
    Noun { en: ["problem", "problems"], ru: ["проблема", "проблемы", "проблем"] };
pub(crate) const ACCOUNTS: Noun =
    Noun { en: ["account", "accounts"], ru: ["аккаунт", "аккаунта", "аккаунтов"] };
pub(crate) const DAYS: Noun = Noun { en: ["day", "days"], ru: ["день", "дня", "дней"] };
/// The same noun behind `less than`.
pub(crate) const DAYS_LESS: Noun = Noun { en: ["day", "days"], ru: ["дня", "дней", "дней"] };
pub(crate) const POLLS: Noun =
    Noun { en: ["poll", "polls"], ru: ["опрос", "опроса", "опросов"] };
pub(crate) const CHARGES: Noun = Noun {
    en: ["charge", "charges"],
    ru: ["начисление", "начисления", "начислений"],
};
pub(crate) const CHANGES: Noun =
    Noun { en: ["change", "changes"], ru: ["смена", "смены", "смен"] };
pub(crate) const TIMES: Noun = Noun { en: ["time", "times"], ru: ["раз", "раза", "раз"] };
pub(crate) const MAILS: Noun =
    Noun { en: ["mail", "mails"], ru: ["письмо", "письма", "писем"] };
pub(crate) const RECIPIENTS: Noun = Noun {
    en: ["recipient", "recipients"],
    ru: ["получателя", "получателей", "получателей"],
};
pub(crate) const ORDERS: Noun =
    Noun { en: ["order", "orders"], ru: ["заказ", "заказа", "заказов"] };
const VM: Noun = Noun { en: ["VM", "VMs"], ru: ["сервер", "сервера", "серверов"] };
const CONTAINER: Noun = Noun {
    en: ["container", "containers"],
    ru: ["контейнер", "контейнера", "контейнеров"],
};
const SITE: Noun = Noun { en: ["site", "sites"], ru: ["сайт", "сайта", "сайтов"] };

/// The noun of a sort behind a number.
pub(crate) const fn noun_of(sort: Sort) -> Noun {
    match sort {
        Sort::Vm => VM,
        Sort::Container => CONTAINER,
        Sort::Site => SITE,
    }
}

/// The noun before a name, inside of a sentence: `VM`, `site`.
pub(crate) const fn sort(sort: Sort, language: Language) -> &'static str {
    let Noun { en: [en, _], ru: [ru, ..] } = noun_of(sort);
    language.pick(en, ru)
}

/// The full noun, as the label of a row.
pub(crate) const fn sort_label(sort: Sort, language: Language) -> &'static str {
    match sort {
        Sort::Vm => language.pick("VM", "Виртуальный сервер"),
        Sort::Container => language.pick("Container", "Контейнер"),
        Sort::Site => language.pick("Site", "Сайт"),
    }
}

/// The word behind `of`: `VM`; in Russian the genitive `сервера`.
pub(super) const fn of_sort(sort: Sort, language: Language) -> &'static str {
    let Noun { en: [en, _], ru: [_, ru, _] } = noun_of(sort);
    language.pick(en, ru)
}

/// The data that a collector reads, inside of a sentence.
pub(crate) const fn collected(collector: Collector, language: Language) -> &'static str {
    match language {
        Language::En => collector.words(),
        Language::Ru => match collector {
            Collector::Vms => "серверы",
            Collector::Containers => "контейнеры",
            Collector::Sites => "сайты",
            Collector::ExpectedBalance => "баланс",
            Collector::Charges => "начисления",
            Collector::Databases => "базы данных",
            Collector::CronJobs => "задания cron",
            Collector::Ips => "IP-адреса",
            Collector::SshKeys => "ключи SSH",
        },
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn all_of(names: &[&str], language: Language) -> String {
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => {
            let others = others.join(", ");
            say!(language, "{others} and {last}", "{others} и {last}")
        }
    }
}

/// THE list with a limit: `a, b and 3 more`.
pub(crate) fn few(names: &[String], most: usize, language: Language) -> String {
    let shown = names[..names.len().min(most)].join(", ");
    with_more(&shown, names.len().saturating_sub(most), language)
}

/// The same as lines; the last line has the number of the others.
pub(crate) fn first(mut names: Vec<String>, most: usize, language: Language) -> Vec<String> {
    let left = names.len().saturating_sub(most);
    names.truncate(most);
    if left > 0 && most > 0 {
        names.push(more(left, language));
    }
    names
}

/// The rest of a list: `and 3 more`.
pub(crate) fn more(left: usize, language: Language) -> String {
    say!(language, "and {left} more", "и ещё {left}")
}

/// A text followed by the rest of its list.
pub(crate) fn with_more(shown: &str, left: usize, language: Language) -> String {
    if left == 0 { shown.to_owned() } else { format!("{shown} {}", more(left, language)) }
}

/// `1 thing`, `2 things`: for words that exist in English only.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A sentence of words that were made for the inside of one.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether both look the same.
pub(crate) fn is_one_minute(from: DateTime<Utc>, to: DateTime<Utc>) -> bool {
    from.timestamp().div_euclid(60) == to.timestamp().div_euclid(60)
}

/// `< 1 min`, `23 min`, `2 h 5 min`, `2 d 5 h`.
pub(crate) fn lasted(span: Duration, language: Language) -> String {
    let (minutes, hours, days) = (span.num_minutes(), span.num_hours(), span.num_days());
    let (min, h, d) = (language.pick("min", "мин"), language.pick("h", "ч"), language.pick("d", "д"));
    let with = |whole: String, part: i64, unit: &str| {
        if part == 0 { whole } else { format!("{whole} {part} {unit}") }
    };
    match minutes {
        ..1 => format!("< 1 {min}"),
        1..60 => format!("{minutes} {min}"),
        60..1440 => with(format!("{hours} {h}"), minutes % 60, min),
        _ => with(format!("{days} {d}"), hours % 24, h),
    }
}

/// The difference between this machine's clock, which is `ahead`, and the provider's.
pub(crate) fn clock(ahead: Duration, provider_decides: bool, language: Language) -> String {
    let (by, is_ahead) = (lasted(ahead.abs(), language), ahead > Duration::zero());
    let differs = match (language, is_ahead) {
        (Language::En, true) => format!("This machine's clock is {by} ahead of the provider's"),
        (Language::En, false) => format!("This machine's clock is {by} behind the provider's"),
        (Language::Ru, true) => format!("Часы этой машины спешат на {by} относительно часов провайдера"),
        (Language::Ru, false) => format!("Часы этой машины отстают на {by} от часов провайдера"),
    };
    let follows = language.pick("; the provider's is used", "; используется время провайдера");
    if provider_decides { differs + follows } else { differs }
}

/// The word of a severity, with a capital.
pub(crate) fn severity(severity: Severity, language: Language) -> String {
    match severity {
        Severity::Critical => language.pick("Critical", "Критично").to_owned(),
        Severity::Warning => language.pick("Warning", "Важно").to_owned(),
        Severity::Info => language.pick("Info", "К сведению").to_owned(),
    }
}

/// The word for an unknown value.
pub(crate) const fn not_known(language: Language) -> &'static str {
    language.pick("not known", "неизвестно")
}

/// `1 234.50 RUB`, or the word for an unknown value.
pub(crate) fn known_spaced_amount(money: Option<Money>, currency: &str, language: Language) -> String {
    money.map_or_else(|| not_known(language).to_owned(), |money| spaced_amount(money, currency, language))
}

/// `1 235 RUB`, `nothing`, or the word for an unknown value: the amount to pay in a column.
pub(crate) fn known_to_pay(money: Option<Money>, currency: &str, language: Language) -> String {
    match money {
        Some(money) if money.is_positive() => spaced_to_pay(money, currency, language),
        Some(_) => language.pick("nothing", "ничего").to_owned(),
        None => not_known(language).to_owned(),
    }
}

/// `45 RUB`: for a subject; amounts to pay are rounded up to whole units.
pub(crate) fn to_pay(money: Money, currency: &str, language: Language) -> String {
    let unit = unit(currency, language);
    let number = money.ceil_units();
    if unit.is_empty() { number.to_string() } else { format!("{number} {unit}") }
}

/// The sign of a currency, if the language has one.
pub(crate) fn unit(currency: &str, language: Language) -> String {
    match (language, currency) {
        (_, "") => String::new(),
        (Language::Ru, "RUB" | "RUR") => "₽".to_owned(),
        (_, other) => one_line(other, 12),
    }
}

/// `1 235 RUB`: an amount to pay for people, rounded up to whole units.
pub(crate) fn spaced_to_pay(money: Money, currency: &str, language: Language) -> String {
    with_unit(money.spaced_units(), currency, language)
}

/// `1 234.50 RUB`: two places, narrow no-break spaces between thousands and before the unit.
pub(crate) fn spaced_amount(money: Money, currency: &str, language: Language) -> String {
    with_unit(money.spaced(language), currency, language)
}

fn with_unit(mut number: String, currency: &str, language: Language) -> String {
    if !currency.is_empty() {
        number.push('\u{a0}');
        number.push_str(&unit(currency, language));
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::forecast::tests::money;

    #[test]
    fn amounts() {
        let table = [
            ("0", "0.00 RUB"),
            ("-44.505", "\u{2212}44.51 RUB"),
            ("999.9", "999.90 RUB"),
            ("1234567.891", "1 234 567.89 RUB"),
        ];
        for (text, want) in table {
            let got = spaced_amount(money(text), "RUB", Language::En).replace(['\u{202f}', '\u{a0}'], " ");
            assert_eq!(got, want);
        }
        assert_eq!(spaced_amount(money("5"), "", Language::En), "5.00");
        for (text, currency, want) in [
            ("44.51", "RUB", "45 RUB"),
            ("12345.01", "RUB", "12346 RUB"),
            ("0", "", "0"),
            ("44.01", "\u{1b}[31m", "45 [31m"),
        ] {
            assert_eq!(to_pay(money(text), currency, Language::En), want);
        }
    }
}
