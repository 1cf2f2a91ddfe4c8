//! The forms of sentences about incidents: is, was, still, again, over; of one and of several. Each way of
//! being wrong is a row, in both languages. All forms are for the inside of a sentence; `words::capital` begins
//! one. Pure.

use super::subjects::itself;
pub(crate) use super::subjects::{Tense, name, state};
use super::words;
use crate::alert::{Event, Incident, Key, Kind, Subject, Title, Wrong};
use crate::model::{AccountState, Health, Language, Sort, say};

/// The predicate of a sentence about one incident.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Clause {
    pub wrong: Wrong,
    pub tense: Tense,
    /// The present state, if it is neither the wrong one nor right.
    pub now: Option<String>,
    /// A whole sentence (`is active again`), and no heading.
    pub is_full: bool,
}

/// The forms of one way of being wrong. English follows `is` and `was`; Russian has one and several.
struct Forms {
    en: &'static str,
    ru: [&'static str; 2],
    /// `None`: those of a participle, `был заблокирован` and `больше не заблокирован`.
    was: Option<[&'static str; 2]>,
    /// It is no longer wrong.
    over: Option<[&'static str; 2]>,
    /// It is right again.
    again: (&'static str, [&'static str; 2]),
}

const ACTIVE: (&str, [&str; 2]) = ("active again", ["снова работает", "снова работают"]);

const fn participle(en: &'static str, ru: [&'static str; 2]) -> Forms {
    Forms { en, ru, was: None, over: None, again: ACTIVE }
}

const fn forms(
    en: &'static str,
    ru: [&'static str; 2],
    was: [&'static str; 2],
    over: [&'static str; 2],
) -> Forms {
    Forms { en, ru, was: Some(was), over: Some(over), again: ACTIVE }
}

/// The forms, one row each.
const fn row(wrong: Wrong) -> Forms {
    match wrong {
        Wrong::InError => forms("in error", ["ошибка"; 2], ["была ошибка"; 2], ["ошибки больше нет"; 2]),
        Wrong::Blocked => participle("blocked", ["заблокирован", "заблокированы"]),
        Wrong::Stopped => participle("stopped", ["остановлен", "остановлены"]),
        Wrong::StoppedForNonPayment => {
            participle("stopped for non-payment", ["остановлен за неуплату", "остановлены за неуплату"])
        }
        Wrong::Stuck => forms(
            "stuck",
            ["завис", "зависли"],
            ["зависал", "зависали"],
            ["больше не висит", "больше не висят"],
        ),
        Wrong::Disabled => Forms {
            again: ("enabled again", ["снова включён", "снова включены"]),
            ..participle("disabled", ["отключён", "отключены"])
        },
        Wrong::Gone => Forms {
            en: "gone",
            ru: ["пропал из списка", "пропали из списка"],
            was: Some(["пропадал из списка", "пропадали из списка"]),
            over: Some(["снова в списке"; 2]),
            again: ("listed again", ["снова в списке"; 2]),
        },
        Wrong::Suspended => participle("suspended", ["приостановлен", "приостановлены"]),
        Wrong::NotAvailable => Forms {
            over: Some(["снова доступен", "снова доступны"]),
            again: ("available again", ["снова доступен", "снова доступны"]),
            ..participle("not available", ["недоступен", "недоступны"])
        },
        Wrong::Rejected => Forms {
            en: "rejected",
            ru: ["отклонены"; 2],
            was: Some(["были отклонены"; 2]),
            over: Some(["снова приняты"; 2]),
            again: ("accepted again", ["снова приняты"; 2]),
        },
        Wrong::CutOff => Forms {
            over: Some(["больше не отключён", "больше не отключены"]),
            ..participle("cut off for non-payment", ["отключён за неуплату", "отключены за неуплату"])
        },
        Wrong::CutOffAhead => forms(
            "to be cut off for non-payment",
            ["будет отключён за неуплату", "будут отключены за неуплату"],
            ["должен был быть отключён", "должны были быть отключены"],
            ["отключения не будет"; 2],
        ),
        // A sentence from an older store.
        Wrong::Itself => Forms {
            en: "",
            ru: [""; 2],
            was: Some([""; 2]),
            over: Some([""; 2]),
            again: ("over", ["позади"; 2]),
        },
    }
}

impl Default for Clause {
    fn default() -> Self {
        Self::new(Wrong::Itself, Tense::Is)
    }
}

impl Clause {
    pub(crate) fn new(wrong: Wrong, tense: Tense) -> Self {
        Self { wrong, tense, now: None, is_full: false }
    }

    /// The clause about an open incident: its present state, and whether it comes and goes.
    pub(crate) fn open(incident: &Incident) -> Self {
        let tense = if incident.is_flapping() { Tense::Keeps } else { Tense::Is };
        let now = incident.moved_on().filter(|_| tense == Tense::Is).map(str::to_owned);
        Self { now, ..Self::new(incident.wrong(), tense) }
    }

    /// Whether both clauses say the same of one resource, except for the tense.
    fn says(&self, other: &Self) -> bool {
        self.wrong == other.wrong && self.now == other.now
    }

    /// Whether this resource went on to be wrong in the way of the other clause.
    fn turned_into(&self, other: &Self) -> bool {
        self.now.is_some() && other.now.is_none() && matches!(other.tense, Tense::Is | Tense::Still)
    }

    /// The predicate behind its subject: ` in error`, `: ошибка`.
    fn tail(&self, several: bool, is_first: bool, language: Language) -> String {
        let forms = row(self.wrong);
        match language {
            Language::En => self.english(&forms, several, is_first),
            Language::Ru => self.russian(&forms, usize::from(several), is_first),
        }
    }

    fn english(&self, forms: &Forms, several: bool, is_first: bool) -> String {
        let is_plural = several || self.wrong == Wrong::Rejected;
        let verb = match (self.is_full, is_plural) {
            (false, _) => "",
            (true, false) => "is ",
            (true, true) => "are ",
        };
        let is = forms.en;
        let was = if is_plural { "were" } else { "was" };
        let keep = if is_plural { "keep" } else { "keeps" };
        let is = match &self.now {
            Some(now) => format!("not OK (now {now}, {was} {is})"),
            None => is.to_owned(),
        };
        match self.tense {
            Tense::Is if self.wrong == Wrong::CutOff => format!("is {is}"),
            Tense::Is if self.wrong == Wrong::CutOffAhead => "will be cut off for non-payment".to_owned(),
            Tense::Is => is,
            Tense::Still if is_first => format!("still {is}").trim_end().to_owned(),
            Tense::Still => is,
            Tense::Keeps if forms.en.is_empty() => "again and again".to_owned(),
            Tense::Keeps => format!("{keep} failing"),
            Tense::Was if is.is_empty() => format!("{was} seen"),
            Tense::Was => format!("{was} {is}"),
            Tense::Again => format!("{verb}{}", forms.again.0),
            Tense::NoLonger => format!("{verb}no longer {is}"),
            Tense::NotListed if self.is_full => format!("{verb}no longer listed by the provider, {was} {is}"),
            Tense::NotListed => format!("no longer listed, {was} {is}"),
            Tense::Unwatched => "no longer watched".to_owned(),
        }
    }

    fn russian(&self, forms: &Forms, form: usize, is_first: bool) -> String {
        let known = |known: Option<[&str; 2]>, before: [&str; 2]| match known {
            Some(known) => known[form].to_owned(),
            None => format!("{} {}", before[form], forms.ru[form]),
        };
        let was = known(forms.was, ["был", "были"]);
        let is = match &self.now {
            Some(now) => format!("не в порядке (сейчас {}, {was})", state(now, Language::Ru)),
            None => forms.ru[form].to_owned(),
        };
        match self.tense {
            Tense::Is => is,
            Tense::Still if is_first => format!("всё ещё {is}").trim_end().to_owned(),
            Tense::Still => is,
            Tense::Keeps if forms.en.is_empty() => "снова и снова".to_owned(),
            Tense::Keeps => ["работает с перебоями", "работают с перебоями"][form].to_owned(),
            Tense::Was => was,
            Tense::Again => forms.again.1[form].to_owned(),
            Tense::NoLonger => known(forms.over, ["больше не"; 2]),
            Tense::NotListed => format!("больше нет в списке, {was}"),
            Tense::Unwatched => "больше не отслеживается".to_owned(),
        }
    }

    /// The punctuation between the subject and the predicate.
    fn joint(&self, language: Language) -> &'static str {
        let is_verb = matches!(self.tense, Tense::Again | Tense::NoLonger | Tense::Unwatched | Tense::Keeps)
            || matches!(self.wrong, Wrong::CutOff | Wrong::CutOffAhead);
        match language {
            Language::Ru if !is_verb => ": ",
            Language::En | Language::Ru => " ",
        }
    }
}

/// `VM web-1 in error and stuck`: all problems of one subject.
pub(crate) fn one(subject: &Subject, key: &Key, clauses: &[Clause], language: Language) -> String {
    let Some(first) = clauses.first() else { return name(subject, key, language) };
    itself(subject, first.tense, language).unwrap_or_else(|| {
        let name = name(subject, key, language);
        format!("{name}{}{}", first.joint(language), tails(clauses, false, language))
    })
}

/// `26 sites in error in agency`: several of a kind. Kinds without a plural name the first and the number of
/// the others.
pub(crate) fn several(
    count: usize,
    (subject, key): (&Subject, &Key),
    clauses: &[Clause],
    place: Option<&str>,
    language: Language,
) -> String {
    let noun = match key.kind.sort() {
        Some(sort) => words::noun_of(sort),
        None if key.kind == Kind::OrderSuspended => words::ORDERS,
        None if matches!(subject, Subject::Resource { .. }) => words::RESOURCES,
        None => return words::with_more(&one(subject, key, clauses, language), count - 1, language),
    };
    let things = language.count(count, noun);
    let place = place.map_or_else(String::new, |name| say!(language, " in {name}", " в {name}"));
    let joint = clauses.first().map_or("", |first| first.joint(language));
    let tails = tails(clauses, !language.is_one(count), language);
    say!(language, "{things}{joint}{tails}{place}", "{things}{place}{joint}{tails}")
}

/// Joins several ways of being wrong, each once; the last one if one turned into the other.
pub(crate) fn and(clauses: &mut Vec<Clause>, others: &[Clause]) {
    for other in others {
        if clauses.iter().any(|known| known.says(other)) {
            continue;
        }
        if let Some(known) = clauses.iter_mut().find(|known| known.turned_into(other)) {
            *known = other.clone();
        } else if !clauses.iter().any(|known| other.turned_into(known)) {
            clauses.push(other.clone());
        }
    }
}

/// The predicates without the name.
pub(crate) fn tails(clauses: &[Clause], several: bool, language: Language) -> String {
    let tail = |(index, clause): (usize, &Clause)| {
        let stays = index > 0 && clauses[0].tense == clause.tense;
        clause.tail(several, !stays, language)
    };
    let mut tails: Vec<String> = clauses.iter().enumerate().map(tail).collect();
    // Two problems may have one end: `active again`.
    tails.dedup();
    tails.join(language.pick(" and ", " и "))
}

/// The title of an episode in the history.
pub(crate) fn title(title: &Title, key: &Key, language: Language) -> String {
    words::capital(&one(&title.subject, key, &[Clause::new(title.wrong, Tense::Is)], language))
}

/// The name of an incident in lists: `VM web-1 in error`.
pub(crate) fn listed(incident: &Incident, event: &Event, language: Language) -> String {
    let clause =
        if event.is_end() { Clause::new(incident.wrong(), Tense::Is) } else { Clause::open(incident) };
    one(&incident.subject, &incident.key, &[clause], language)
}

/// Whether a resource is right again, so that it can be called so.
pub(crate) fn is_right(incident: &Incident, state: &AccountState) -> bool {
    let sort = incident.key.kind.sort();
    // Stopped sites are no evidence about the container's own state.
    let is_its_own = sort != Some(Sort::Container) || incident.wrong() == Wrong::Disabled;
    let seen = sort.zip(incident.key.id()).and_then(|(sort, id)| state.resource(sort, id));
    is_its_own && seen.is_some_and(|seen| seen.health == Health::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Collector;

    const BOTH: [Language; 2] = [Language::En, Language::Ru];

    fn key(kind: Kind) -> Key {
        Key::new(&"main".parse().unwrap(), kind, 17)
    }

    fn vm() -> Subject {
        Subject::Resource { sort: Sort::Vm, name: "web-1".to_owned() }
    }

    #[test]
    fn each_form_is_said_in_both_languages() {
        let key = key(Kind::VmError);
        for (wrong, tense, en, ru) in [
            (Wrong::InError, Tense::Is, "VM web-1 in error", "сервер web-1: ошибка"),
            (Wrong::InError, Tense::Still, "VM web-1 still in error", "сервер web-1: всё ещё ошибка"),
            (Wrong::InError, Tense::Was, "VM web-1 was in error", "сервер web-1: была ошибка"),
            (Wrong::InError, Tense::Again, "VM web-1 active again", "сервер web-1 снова работает"),
            (
                Wrong::Blocked,
                Tense::NoLonger,
                "VM web-1 no longer blocked",
                "сервер web-1 больше не заблокирован",
            ),
            (Wrong::Stuck, Tense::Keeps, "VM web-1 keeps failing", "сервер web-1 работает с перебоями"),
        ] {
            let said = BOTH.map(|language| one(&vm(), &key, &[Clause::new(wrong, tense)], language));
            assert_eq!(said, [en, ru]);
        }
    }

    #[test]
    fn several_follow_their_number() {
        let key = key(Kind::SiteBlocked);
        let site = Subject::Resource { sort: Sort::Site, name: "a".to_owned() };
        let of = |count, tense| {
            let clauses = [Clause::new(Wrong::Stopped, tense)];
            BOTH.map(|language| several(count, (&site, &key), &clauses, Some("agency"), language))
        };
        assert_eq!(of(26, Tense::Is), ["26 sites stopped in agency", "26 сайтов в agency: остановлены"]);
        assert_eq!(
            of(21, Tense::Was),
            ["21 sites were stopped in agency", "21 сайт в agency: был остановлен"]
        );
        assert_eq!(of(3, Tense::Again)[1], "3 сайта в agency снова работают");
    }

    #[test]
    fn one_state_that_became_another_is_said_once() {
        let key = key(Kind::VmBlocked);
        let moved = Clause { now: Some("blocked".to_owned()), ..Clause::new(Wrong::InError, Tense::Still) };
        let blocked = Clause::new(Wrong::Blocked, Tense::Still);
        for (first, second) in [(&moved, &blocked), (&blocked, &moved)] {
            let mut both = vec![first.clone()];
            and(&mut both, std::slice::from_ref(second));
            let said = BOTH.map(|language| one(&vm(), &key, &both, language));
            assert_eq!(said, ["VM web-1 still blocked", "сервер web-1: всё ещё заблокирован"]);
        }
        let mut both = vec![Clause::new(Wrong::InError, Tense::Still)];
        and(&mut both, &[Clause::new(Wrong::Stuck, Tense::Still), Clause::new(Wrong::InError, Tense::Still)]);
        let said = BOTH.map(|language| one(&vm(), &key, &both, language));
        assert_eq!(said, ["VM web-1 still in error and stuck", "сервер web-1: всё ещё ошибка и завис"]);
        let both = [Wrong::InError, Wrong::Stuck].map(|wrong| Clause::new(wrong, Tense::Again));
        let said = BOTH.map(|language| one(&vm(), &key, &both, language));
        assert_eq!(said, ["VM web-1 active again", "сервер web-1 снова работает"]);
    }

    #[test]
    fn unreadable_collectors_are_named_together() {
        let key = Key::account_wide(&"main".parse().unwrap(), Kind::CollectorFailing);
        let unread = Subject::Unread { collectors: vec![Collector::Vms, Collector::ExpectedBalance] };
        let of = |subject: &Subject, tense| {
            BOTH.map(|language| one(subject, &key, &[Clause::new(Wrong::Itself, tense)], language))
        };
        assert_eq!(
            of(&unread, Tense::Is),
            ["cannot read VMs and the balance", "серверы и баланс: нет данных"]
        );
        assert_eq!(of(&unread, Tense::Again)[0], "can read VMs and the balance again");
        assert_eq!(of(&Subject::Silent, Tense::Again)[1], "API провайдера снова отвечает");
    }
}
