//! The hosting token of an account: a fixed one, or one that ends and is bought with a key.

use super::secrets::Secret;
use super::values;
use super::view::View;
use crate::model::AccountName;
use crate::provider::{HostingCredentials, HostingToken, TokenOffer};

const URL_KEY: &str = "hosting_token_url";
const FIELDS_KEY: &str = "hosting_token_fields";

/// An account's credentials for the hosting endpoints.
pub(super) struct Hosting {
    /// The key that sets the token, usable or not.
    pub given_by: Option<&'static str>,
    pub credentials: Option<HostingCredentials>,
}

pub(super) fn read(account: &AccountName, view: &View<'_>) -> Hosting {
    let secret = |key: &str| view.secret(key, &format!("{account}.{key}"));
    let (token, api_key) = (secret("hosting_token"), secret("hosting_api_key"));
    let scheme = view.parsed("hosting_auth_scheme", auth_scheme).unwrap_or_default();
    let given_by = match (token.is_absent(), api_key.is_absent()) {
        (false, _) => Some("hosting_token"),
        (true, false) => Some("hosting_api_key"),
        (true, true) => None,
    };
    let (is_bought, has_key) = (view.is_set(URL_KEY), !api_key.is_absent());
    if is_bought && !token.is_absent() {
        let message = "given beside hosting_token_url, which fetches the token; keep one of them";
        view.error("hosting_token", message);
    } else if is_bought && !has_key {
        let message =
            "missing beside hosting_token_url; set it, hosting_api_key_file, or the systemd credential";
        view.error("hosting_api_key", format!("{message} {account}.hosting_api_key"));
    }
    if has_key && !is_bought {
        let message = "missing beside hosting_api_key; set the address at which the key fetches a token";
        view.error(URL_KEY, message);
    }
    // `allow_http` is for reads.
    let url = view.parsed(URL_KEY, |text| values::endpoint(text, "the key", None));
    let fields = fields(view);
    let token = match (token, api_key, url, fields) {
        (Secret::Given(token), ..) => Some(HostingToken::Given(token)),
        (_, Secret::Given(api_key), Some(url), Some([key_field, token_field])) => {
            Some(HostingToken::Bought(TokenOffer { url, api_key, key_field, token_field }))
        }
        _ => None,
    };
    Hosting { given_by, credentials: token.map(|token| HostingCredentials { scheme, token }) }
}

fn fields(view: &View<'_>) -> Option<[String; 2]> {
    let names: Vec<String> = view.get(FIELDS_KEY)?;
    match <[String; 2]>::try_from(names) {
        Ok(names) if names.iter().all(|name| !name.is_empty()) => Some(names),
        Ok(_) | Err(_) => {
            let message = "needs two names: the form field that carries the key, and the JSON field that answers with \
                           the token, such as [\"api_key\", \"token\"]";
            view.error(FIELDS_KEY, message);
            None
        }
    }
}

fn auth_scheme(text: &str) -> Result<String, String> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if text.chars().all(token) {
        return Ok(text.to_owned());
    }
    Err("is no word of an Authorization header; such as \"Bearer\", or \"\" for none".to_owned())
}
