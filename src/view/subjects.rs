//! The subjects of incidents and the states of the provider, in words, for the inside of a sentence. Pure.

use chrono::NaiveDate;

use super::words::{self, all_of, collected};
use crate::alert::{Key, Subject, Target};
use crate::model::{Language, Sort, say, when};

/// The tense of a sentence about an incident.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tense {
    Is,
    Still,
    /// It is wrong again and again.
    Keeps,
    Was,
    /// It is right again.
    Again,
    /// It is not wrong in this way, and its present state is not known.
    NoLonger,
    /// The provider lists it no more.
    NotListed,
    Unwatched,
}

/// A state of the provider. English shows the provider's name for it, Russian a word if there is one.
pub(crate) fn state(name: &str, language: Language) -> String {
    let russian = match name {
        "active" | "Active" => "работает",
        "stopped" | "Stopped" => "остановлен",
        "pending" => "в очереди",
        "building" | "Building" => "создаётся",
        "blocked" => "заблокирован",
        "error" | "Error" => "ошибка",
        "Starting" => "запускается",
        "Stopping" => "останавливается",
        "Restarting" => "перезапускается",
        "Updating" => "обновляется",
        "Backuping" => "идёт резервное копирование",
        "Restoring" => "восстанавливается из копии",
        "StoppedByAdmin" => "остановлен администратором",
        "StoppedByService" => "остановлен провайдером",
        "StoppedByQuota" => "остановлен по квоте",
        "ENABLED" => "включён",
        "DISABLED_BY_SERVICE" => "отключён провайдером",
        "DISABLED_BY_ADMIN" => "отключён администратором",
        "DISABLED_BY_QUOTA" => "отключён по квоте",
        "AWAITING" => "ожидает",
        "ORDERED" => "действует",
        "SUSPENDED" => "приостановлен",
        "COMPLETED" => "завершён",
        "REJECTED" => "отклонён",
        other => other,
    };
    if language == Language::En { name.to_owned() } else { russian.to_owned() }
}

/// The subject of an incident: `VM web-1`.
pub(crate) fn name(subject: &Subject, key: &Key, language: Language) -> String {
    match subject {
        Subject::Resource { sort, name } => format!("{} {name}", words::sort(*sort, language)),
        Subject::Order { name } => say!(language, "order {name}", "заказ {name}"),
        Subject::Account => {
            let account = &key.account;
            say!(language, "account {account}", "аккаунт {account}")
        }
        Subject::Report => language.pick("balance report", "отчёт о балансе").to_owned(),
        Subject::Credentials => {
            let group = if let Target::Group(group) = key.resource { group.as_str() } else { "API" };
            say!(language, "credentials of the {group} endpoints", "учётные данные API «{group}»")
        }
        Subject::NoDate { .. }
        | Subject::Unread { .. }
        | Subject::Silent
        | Subject::States { .. }
        | Subject::AllGone { .. }
        | Subject::Drop { .. }
        | Subject::Dearer { .. } => itself(subject, Tense::Is, language).unwrap_or_default(),
        Subject::Text(text) => text.clone(),
    }
}

/// A subject that is a whole sentence by itself.
pub(super) fn itself(subject: &Subject, tense: Tense, language: Language) -> Option<String> {
    Some(match subject {
        Subject::NoDate { since, last } => no_date(*since, *last, tense, language),
        Subject::Unread { collectors } => {
            let names: Vec<&str> = collectors.iter().map(|&one| collected(one, language)).collect();
            UNREAD.say(&all_of(&names, language), tense, language)
        }
        Subject::Silent => SILENT.say("", tense, language),
        Subject::States { sort, names } => unknown_states(*sort, names, tense, language),
        Subject::AllGone { sort, .. }
            if matches!(tense, Tense::Again | Tense::NoLonger | Tense::Unwatched) =>
        {
            ALL_GONE.say(collected(sort.seen_by(), language), tense, language)
        }
        Subject::AllGone { sort, count } => {
            ALL_GONE.say(&language.count(*count, words::noun_of(*sort)), tense, language)
        }
        Subject::Drop { missing, currency } => {
            let amount = words::to_pay(*missing, currency, language);
            say!(
                language,
                "balance dropped {amount} more than expected",
                "баланс упал на {amount} сильнее, чем ожидалось"
            )
        }
        Subject::Dearer { name, from, to, currency } => {
            let (from, to) =
                (words::to_pay(*from, currency, language), words::to_pay(*to, currency, language));
            say!(
                language,
                "order {name} now costs {to} a day, was {from}",
                "заказ {name} подорожал: {to} в день, было {from}"
            )
        }
        Subject::Text(text) if tense == Tense::Is => text.clone(),
        Subject::Resource { .. }
        | Subject::Order { .. }
        | Subject::Account
        | Subject::Report
        | Subject::Credentials
        | Subject::Text(_) => return None,
    })
}

/// The forms of a subject that is a whole sentence, in English and Russian; `{}` stands for its values.
struct Whole {
    is: [&'static str; 2],
    still: [&'static str; 2],
    was: [&'static str; 2],
    again: [&'static str; 2],
    unwatched: [&'static str; 2],
}

const NO_DATE: Whole = Whole {
    is: ["cut-off date unknown {}", "дата отключения неизвестна {}"],
    still: ["cut-off date still unknown {}", "дата отключения всё ещё неизвестна {}"],
    was: ["cut-off date was unknown {}", "дата отключения была неизвестна {}"],
    again: ["cut-off date known again", "дата отключения снова известна"],
    unwatched: ["cut-off date no longer watched", "дата отключения больше не отслеживается"],
};

const UNREAD: Whole = Whole {
    is: ["cannot read {}", "{}: нет данных"],
    still: ["still cannot read {}", "{}: всё ещё нет данных"],
    was: ["could not read {}", "{}: данных не было"],
    again: ["can read {} again", "{}: данные снова поступают"],
    unwatched: ["{} no longer watched", "{}: больше не отслеживается"],
};

const SILENT: Whole = Whole {
    is: [
        "provider API does not answer: nothing is watched",
        "API провайдера не отвечает: наблюдение остановлено",
    ],
    still: [
        "provider API still does not answer: nothing is watched",
        "API провайдера всё ещё не отвечает: наблюдение остановлено",
    ],
    was: [
        "provider API did not answer: nothing was watched",
        "API провайдера не отвечал: наблюдения не было",
    ],
    again: ["provider API answers again", "API провайдера снова отвечает"],
    unwatched: ["provider API no longer watched", "API провайдера больше не отслеживается"],
};

const ALL_GONE: Whole = Whole {
    is: ["all {} are gone from the listing", "из списка пропало всё: {}"],
    still: ["all {} are still gone from the listing", "в списке всё ещё ничего нет, было {}"],
    was: ["all {} were gone from the listing", "из списка пропадало всё: {}"],
    again: ["{} are listed again", "{} снова в списке"],
    unwatched: ["{} no longer watched", "{}: больше не отслеживается"],
};

impl Whole {
    fn say(&self, what: &str, tense: Tense, language: Language) -> String {
        let [en, ru] = match tense {
            Tense::Is | Tense::Keeps => self.is,
            Tense::Still => self.still,
            Tense::Was | Tense::NotListed => self.was,
            Tense::Again | Tense::NoLonger => self.again,
            Tense::Unwatched => self.unwatched,
        };
        language.pick(en, ru).replace("{}", what)
    }
}

/// `cut-off date unknown since Mon 23 Nov, last known Tue 24 Nov`.
fn no_date(since: NaiveDate, last: Option<NaiveDate>, tense: Tense, language: Language) -> String {
    if tense == Tense::NoLonger {
        let no_cut_off = "отчёт о балансе не обещает отключения";
        return language.pick("balance report names no cut-off ahead", no_cut_off).to_owned();
    }
    let day = |date| when::kept_day(date, language);
    let since = format!("{} {}", when::since_word(since, language), day(since));
    let last = last.filter(|_| !matches!(tense, Tense::Was | Tense::NotListed)).map(|last| {
        let last = day(last);
        say!(language, ", last known {last}", ", последняя известная — {last}")
    });
    NO_DATE.say(&(since + &last.unwrap_or_default()), tense, language)
}

/// The number of unknown states that a sentence names.
const MOST_STATES: usize = 3;

fn unknown_states(sort: Sort, states: &[String], tense: Tense, language: Language) -> String {
    let (nothing, is_one) = (("", ""), states.len() == 1);
    let (before, after) = match tense {
        Tense::Is => (nothing, nothing),
        Tense::Still => (("still ", "всё ещё "), nothing),
        Tense::Keeps => (nothing, (" again and again", " снова и снова")),
        Tense::Was | Tense::NotListed if is_one => (nothing, (" was seen", " встречалось")),
        Tense::Was | Tense::NotListed => (nothing, (" were seen", " встречались")),
        Tense::Again | Tense::NoLonger if is_one => (nothing, (" no longer seen", " больше не встречается")),
        Tense::Again | Tense::NoLonger => (nothing, (" no longer seen", " больше не встречаются")),
        Tense::Unwatched if is_one => (nothing, (" no longer watched", " больше не отслеживается")),
        Tense::Unwatched => (nothing, (" no longer watched", " больше не отслеживаются")),
    };
    let [before, after] = [before, after].map(|(en, ru)| language.pick(en, ru));
    let (of, noun) = (words::of_sort(sort, language), if is_one { "state" } else { "states" });
    let adjective = if is_one {
        "неизвестное состояние"
    } else {
        "неизвестные состояния"
    };
    let quoted = |state: &String| say!(language, "\"{state}\"", "«{state}»");
    let names = words::few(&states.iter().map(quoted).collect::<Vec<_>>(), MOST_STATES, language);
    say!(language, "{before}unknown {of} {noun} {names}{after}", "{before}{adjective} {of} {names}{after}")
}
