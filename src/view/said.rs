//! What a headline says, thing by thing. Pure.

use serde::{Deserialize, Serialize};

use super::sentence::{self, Part};
use crate::alert::Key;
use crate::model::AccountName;

/// What a line speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Topic {
    CutOff,
    Mails,
    Store,
    Reading,
    Resources,
    /// An incident; and what an answer of a later version says that this one does not know.
    #[serde(other)]
    Incident,
}

/// One line below the sentence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub text: String,
    pub topic: Topic,
    /// The incident that it speaks of; of several the worst.
    pub incident: Option<Key>,
}

/// Something that a headline says.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub part: Part,
    /// What there is room for where nothing else is said: why, and what to do.
    pub more: String,
    pub topic: Topic,
    pub incident: Option<Key>,
    /// Whose it is; `None` where it is about the daemon.
    pub account: Option<AccountName>,
}

impl Said {
    pub(super) fn one(text: impl Into<String>, topic: Topic, account: Option<&AccountName>) -> Self {
        let part = Part { text: text.into(), count: 1 };
        Self { part, more: String::new(), topic, incident: None, account: account.cloned() }
    }

    /// The same with `more`.
    pub(super) fn words(&self) -> String {
        format!("{}{}", self.part.text, self.more)
    }

    fn in_full(&self) -> String {
        format!("{}{}", self.words(), sentence::whose(&self.account))
    }

    pub(super) fn line(&self) -> Line {
        Line { text: self.in_full(), topic: self.topic, incident: self.incident.clone() }
    }
}
