//! Removes an account's credentials from texts of the provider. If the provider quotes a request, the
//! credentials must not reach the log, the page or a mail.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};

use super::error::ErrorKind;
use super::settings::ProviderSettings;
use crate::model::Group;
use crate::model::hide::hidden;
use crate::model::sanitize::one_line;

/// The shortest credential that is redacted. A shorter one would redact ordinary words, and no real credential
/// is so short.
const LEAST: usize = 4;

/// The most characters of an answer's words, with the colon before them, and of any other quotation.
const MOST_SAID: usize = 202;
const MOST_CHARACTERS: usize = 300;

/// The last tokens that were bought.
pub(super) type BoughtTokens = Arc<Mutex<Vec<SecretString>>>;

/// Credentials in all forms in which they are sent.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    given: Vec<SecretString>,
    bought: BoughtTokens,
}

impl Redactor {
    pub(super) fn new(settings: &ProviderSettings, bought: BoughtTokens) -> Self {
        let mut secrets = Vec::new();
        for group in [Group::Billing, Group::Hosting, Group::Vm] {
            let Some((name, secret)) = settings.access(group).1 else { continue };
            if group == Group::Billing {
                secrets.push(BASE64.encode(format!("{name}:{secret}")));
            }
            secrets.push(secret.to_owned());
        }
        Self { given: secrets.into_iter().map(SecretString::from).collect(), bought }
    }

    /// The text with `[hidden]` in place of each credential.
    pub(super) fn hide(&self, text: &str) -> String {
        let bought = self.bought.lock();
        let secrets = self.given.iter().chain(bought.iter());
        hidden(text, secrets.map(ExposeSecret::expose_secret), LEAST)
    }

    /// The error with its quotation redacted, and then cut.
    pub(super) fn hide_in(&self, mut kind: ErrorKind) -> ErrorKind {
        let is_said = matches!(kind.reason(), ErrorKind::Status(..) | ErrorKind::Rejected(..));
        let most = if is_said { MOST_SAID } else { MOST_CHARACTERS };
        if let Some(text) = kind.quotation().filter(|text| !text.is_empty()) {
            *text = one_line(&self.hide(text), most);
        }
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::HostingToken;
    use crate::provider::tests::settings;

    #[test]
    fn the_words_of_an_answer_are_one_short_line_without_credentials() {
        let mut settings = settings();
        settings.vm_api_key = Some("the-key".into());
        let redactor = Redactor::new(&settings, BoughtTokens::default());
        let long = "x".repeat(300);
        let cut = format!(": {}…", "x".repeat(200));
        for (said, want) in [("a\nthe-key", ": a [hidden]"), (&long, &cut), (&format!("{long}the-key"), &cut)]
        {
            let shown = redactor.hide_in(ErrorKind::Status(403, format!(": {said}")));
            assert_eq!(shown, ErrorKind::Status(403, want.to_owned()));
        }
    }

    #[test]
    fn every_form_of_every_credential_is_hidden() {
        let mut settings = settings();
        settings.hosting.as_mut().unwrap().token = HostingToken::Given("the-token".into());
        settings.vm_api_key = Some("the-key".into());
        let billing = settings.billing.as_mut().unwrap();
        billing.username = "user".to_owned();
        billing.password = "the-password".into();
        let redactor = Redactor::new(&settings, BoughtTokens::default());
        let basic = BASE64.encode("user:the-password");
        let text = format!("Bearer the-token, Token the-key, Basic {basic}, user:the-password; the rest");
        assert_eq!(
            redactor.hide(&text),
            "Bearer [hidden], Token [hidden], Basic [hidden], user:[hidden]; the rest"
        );
        settings.vm_api_key = Some("a".into());
        assert_eq!(Redactor::new(&settings, BoughtTokens::default()).hide("a word"), "a word");
    }
}
