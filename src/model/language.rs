//! The language of texts for people, a value that each rendering gets. A sentence is one function with both
//! languages side by side, so that the compiler finds a missing one. Commands, logs, JSON and metrics are
//! English. Pure.

use serde::{Deserialize, Serialize};

/// A language of mails, chat messages and the page.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Default,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Language {
    #[default]
    En,
    Ru,
}

/// The forms of a noun behind a number: in English for one and several, in Russian for 1, 2 and 5.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noun {
    pub en: [&'static str; 2],
    pub ru: [&'static str; 3],
}

/// Writes a sentence in the reader's language. Both languages have the same values.
macro_rules! say {
    ($language:expr, $en:literal, $ru:literal $(, $($value:tt)*)?) => {
        match $language {
            $crate::model::Language::En => format!($en $(, $($value)*)?),
            $crate::model::Language::Ru => format!($ru $(, $($value)*)?),
        }
    };
}
pub(crate) use say;

impl Language {
    /// The language's name in HTML's `lang` and in the configuration.
    pub(crate) fn code(self) -> &'static str {
        self.into()
    }

    /// A fixed text.
    pub(crate) const fn pick(self, en: &'static str, ru: &'static str) -> &'static str {
        match self {
            Self::En => en,
            Self::Ru => ru,
        }
    }

    /// `1 site`, `2 sites`; `1 сайт`, `2 сайта`, `5 сайтов`.
    pub(crate) fn count(self, number: usize, noun: Noun) -> String {
        format!("{number} {}", self.noun(number, noun))
    }

    /// The form of a noun behind a number.
    pub(crate) fn noun(self, number: usize, noun: Noun) -> &'static str {
        match self {
            Self::En => noun.en[usize::from(number != 1)],
            Self::Ru => noun.ru[russian(number)],
        }
    }

    /// Whether a verb or an adjective takes the singular: in Russian it does for 1, 21, 31 too.
    pub(crate) fn is_one(self, number: usize) -> bool {
        match self {
            Self::En => number == 1,
            Self::Ru => russian(number) == 0,
        }
    }
}

/// The index of the form: of 1, 21; of 2, 3, 4, 22; of 5, 11, 12.
fn russian(number: usize) -> usize {
    match (number % 10, number % 100) {
        (_, 11..=14) => 2,
        (1, _) => 0,
        (2..=4, _) => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_follows_its_number() {
        let site = Noun { en: ["site", "sites"], ru: ["сайт", "сайта", "сайтов"] };
        for (number, en, ru) in [
            (0, "0 sites", "0 сайтов"),
            (1, "1 site", "1 сайт"),
            (2, "2 sites", "2 сайта"),
            (5, "5 sites", "5 сайтов"),
            (11, "11 sites", "11 сайтов"),
            (21, "21 sites", "21 сайт"),
            (22, "22 sites", "22 сайта"),
            (112, "112 sites", "112 сайтов"),
            (121, "121 sites", "121 сайт"),
        ] {
            assert_eq!([Language::En, Language::Ru].map(|one| one.count(number, site)), [en, ru]);
        }
    }
}
