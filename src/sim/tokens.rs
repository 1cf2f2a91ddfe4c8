//! Tokens of the hosting endpoints that end. They are bought with a key at `/token/`, and are JSON web tokens
//! whose `exp` is their end. The interface's documents do not describe this; published code of other customers
//! of such services does it.

use super::answer::{Answer, Outcome, Refusal};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chrono::{DateTime, TimeDelta, Utc};
use std::collections::BTreeMap;

/// The path at which tokens are bought.
pub const PATH: &str = "/token/";

/// The tokens that were bought and have not ended.
#[derive(Debug, Default)]
pub struct Tokens {
    bought: u64,
    ends: BTreeMap<String, DateTime<Utc>>,
}

impl Tokens {
    /// Answers `POST /token/`, whose body is a form with `api_key`.
    pub fn sell(
        &mut self,
        method: &str,
        body: &[u8],
        key: &str,
        lifetime: TimeDelta,
        now: DateTime<Utc>,
    ) -> Outcome {
        if method != "POST" {
            return Err(Refusal::new(405, "method", format!("{method} is not allowed here")));
        }
        if !form_urlencoded::parse(body).any(|(name, value)| name == "api_key" && value == key) {
            return Err(Refusal::new(403, "api_key", "missing or wrong"));
        }
        self.bought += 1;
        let end = now + lifetime;
        let token = web_token(self.bought, now, end);
        self.ends.retain(|_, end| *end > now);
        self.ends.insert(token.clone(), end);
        Ok(Answer::json(200, &BTreeMap::from([("token", token)])))
    }

    /// Whether this token was bought and has not ended.
    pub fn holds(&self, token: &str, now: DateTime<Utc>) -> bool {
        self.ends.get(token).is_some_and(|end| *end > now)
    }

    /// Ends all tokens, even before their `exp`.
    pub fn end_all(&mut self) {
        self.ends.clear();
    }
}

/// A JSON web token (RFC 7519). Nobody checks its signature.
fn web_token(number: u64, from: DateTime<Utc>, end: DateTime<Utc>) -> String {
    let claims = serde_json::json!({"jti": number, "iat": from.timestamp(), "exp": end.timestamp()});
    let parts = [
        serde_json::json!({"alg": "HS256", "typ": "JWT"}).to_string(),
        claims.to_string(),
        format!("simulated signature {number}"),
    ];
    parts.map(|part| BASE64.encode(part)).join(".")
}
