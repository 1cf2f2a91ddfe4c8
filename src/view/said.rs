//! The parts of a headline. Pure.

use serde::{Deserialize, Serialize};

use super::sentence::{self, Part};
use super::words::capital;
use crate::alert::{Key, Severity};
use crate::model::{AccountName, Language};

/// The topic of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Topic {
    CutOff,
    Mails,
    Store,
    Reading,
    Resources,
    /// An incident. A client also reads this from a topic of a later version.
    #[serde(other)]
    Incident,
}

/// One line below the sentence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub text: String,
    pub topic: Topic,
    /// The incident in the line; of several the worst.
    pub incident: Option<Key>,
}

/// One part of a headline.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub part: Part,
    /// The reason and the advice, for a headline that has nothing else to say.
    pub more: String,
    pub topic: Topic,
    pub incident: Option<Key>,
    /// The account; `None` if the line is about the daemon.
    pub account: Option<AccountName>,
}

impl Said {
    pub(super) fn one(text: impl Into<String>, topic: Topic, account: Option<&AccountName>) -> Self {
        let is_money = topic == Topic::CutOff;
        let part = Part { text: text.into(), count: 1, severity: Severity::Critical, is_money };
        Self { part, more: String::new(), topic, incident: None, account: account.cloned() }
    }

    /// The words with `more`.
    pub(super) fn words(&self) -> String {
        format!("{}{}", self.part.text, self.more)
    }

    pub(super) fn line(&self, language: Language) -> Line {
        let text = capital(&self.words()) + &sentence::whose(&self.account, language);
        Line { text, topic: self.topic, incident: self.incident.clone() }
    }
}
