//! Takes an account's credentials out of texts that the provider sent: one that quotes what it was asked with
//! must not carry them into the log, the page or a mail.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use secrecy::{ExposeSecret as _, SecretString};

use super::error::ErrorKind;
use super::settings::ProviderSettings;
use crate::model::Group;

/// A shorter one would redact ordinary words; it is none.
const LEAST: usize = 4;

/// Credentials in every form in which they go over the wire.
#[derive(Debug, Default)]
pub(super) struct Redactor(Vec<SecretString>);

impl Redactor {
    pub(super) fn new(settings: &ProviderSettings) -> Self {
        let mut secrets = Vec::new();
        for group in [Group::Billing, Group::Hosting, Group::Vm] {
            let Some((name, secret)) = settings.access(group).1 else { continue };
            if group == Group::Billing {
                secrets.push(BASE64.encode(format!("{name}:{secret}")));
            }
            secrets.push(secret.to_owned());
        }
        secrets.retain(|secret| secret.len() >= LEAST);
        Self(secrets.into_iter().map(SecretString::from).collect())
    }

    /// The text with `[hidden]` for each credential in it.
    pub(super) fn hide(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| match text.contains(secret.expose_secret()) {
            true => text.replace(secret.expose_secret(), "[hidden]"),
            false => text,
        })
    }

    /// The same for what an error quotes.
    pub(super) fn hide_in(&self, kind: ErrorKind) -> ErrorKind {
        match kind {
            ErrorKind::Redirect { status, to } => ErrorKind::Redirect { status, to: self.hide(to) },
            ErrorKind::ForeignNext { next, expected } => {
                ErrorKind::ForeignNext { next: self.hide(next), expected }
            }
            ErrorKind::NotJson(text) => ErrorKind::NotJson(self.hide(text)),
            ErrorKind::WrongShape(text) => ErrorKind::WrongShape(self.hide(text)),
            ErrorKind::Connect(text) => ErrorKind::Connect(self.hide(text)),
            ErrorKind::Closed(text) => ErrorKind::Closed(self.hide(text)),
            ErrorKind::Off
            | ErrorKind::Setup(_)
            | ErrorKind::Held { .. }
            | ErrorKind::Paused { .. }
            | ErrorKind::GivenUp
            | ErrorKind::Status(_)
            | ErrorKind::AskedToWait(_)
            | ErrorKind::Timeout(_)
            | ErrorKind::TooLarge { .. }
            | ErrorKind::NextLoop(_)
            | ErrorKind::TooManyPages(_) => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::tests::settings;

    #[test]
    fn every_form_of_every_credential_is_hidden() {
        let mut settings = settings();
        settings.hosting.as_mut().unwrap().token = "the-token".into();
        settings.vm_api_key = Some("the-key".into());
        let billing = settings.billing.as_mut().unwrap();
        billing.username = "user".to_owned();
        billing.password = "the-password".into();
        let redactor = Redactor::new(&settings);
        let basic = BASE64.encode("user:the-password");
        let text = format!("Bearer the-token, Token the-key, Basic {basic}, user:the-password; the rest");
        assert_eq!(
            redactor.hide(text),
            "Bearer [hidden], Token [hidden], Basic [hidden], user:[hidden]; the rest"
        );
        settings.vm_api_key = Some("a".into());
        assert_eq!(Redactor::new(&settings).hide("a word".to_owned()), "a word");
    }
}
