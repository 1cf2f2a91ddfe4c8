//! The end of a JSON web token (RFC 7519). The signature is left to the provider.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use chrono::{DateTime, Utc};
use serde::Deserialize;

#[derive(Deserialize)]
struct Claims {
    /// Seconds, which may have a fraction.
    exp: Option<f64>,
}

/// The `exp` of a token. `None` if the token has another form or names no end.
pub(super) fn end(token: &str) -> Option<DateTime<Utc>> {
    let [_, claims, _] = token.split('.').collect::<Vec<_>>().try_into().ok()?;
    let claims = BASE64.decode(claims.trim_end_matches('=')).ok()?;
    let seconds = serde_json::from_slice::<Claims>(&claims).ok()?.exp?;
    DateTime::from_timestamp(seconds as i64, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_token_is_read_if_it_has_one() {
        let of =
            |claims: &str| end(&format!("e30.{}.c2ln", BASE64.encode(claims))).map(|end| end.timestamp());
        assert_eq!(of(r#"{"exp": 1800000000, "iat": 1}"#), Some(1_800_000_000));
        assert_eq!(of(r#"{"exp": 1800000000.9}"#), Some(1_800_000_000));
        for claims in [r#"{"iat": 1}"#, r#"{"exp": "soon"}"#, r#"{"exp": 1e300}"#, "[]", "no JSON"] {
            assert_eq!(of(claims), None, "{claims}");
        }
        for token in ["", "opaque-token", "a.b", "a.b.c.d", "e30.§.c2ln"] {
            assert_eq!(end(token), None, "{token}");
        }
    }
}
