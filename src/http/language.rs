//! The language of a page: the browser's, otherwise the account's.

use hyper::HeaderMap;
use hyper::header::ACCEPT_LANGUAGE;

use super::negotiate::items;
use crate::model::{AccountState, Language};

/// The language of a page about these accounts.
pub(super) fn of(headers: &HeaderMap, accounts: &[&AccountState]) -> Language {
    let account = || accounts.first().map(|state| state.profile.language);
    accepted(headers).or_else(account).unwrap_or_default()
}

/// The available language that the browser prefers: `ru-RU, ru;q=0.9, en;q=0.8`.
fn accepted(headers: &HeaderMap) -> Option<Language> {
    let known = items(headers, ACCEPT_LANGUAGE).filter_map(|item| {
        let language = item.name.split('-').next()?.parse().ok()?;
        (item.quality > 0).then_some((item.quality, language))
    });
    // The first item of those with the highest q-value.
    let known: Vec<(u32, Language)> = known.collect();
    known.into_iter().rev().max_by_key(|(quality, _)| *quality).map(|(_, language)| language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browsers_first_supported_language_is_used() {
        for (text, want) in [
            ("ru-RU,ru;q=0.9,en-US;q=0.8,en;q=0.7", Some(Language::Ru)),
            ("en-GB, ru;q=0.5", Some(Language::En)),
            ("de-DE, ru;q=0.3, en;q=0.2", Some(Language::Ru)),
            ("en;q=0, ru", Some(Language::Ru)),
            ("de, fr", None),
            ("*", None),
        ] {
            let headers = [(ACCEPT_LANGUAGE, text.parse().unwrap())].into_iter().collect();
            assert_eq!(accepted(&headers), want, "{text}");
        }
        assert_eq!(of(&HeaderMap::new(), &[]), Language::En);
    }
}
