//! Hides secrets in foreign texts. An answer may quote a request as it was sent, with other percent-encoding, with
//! JSON's escapes, or cut. Pure.

/// The shortest beginning of a secret that is hidden where the rest is missing.
const SHORTEST_CUT: usize = 8;

/// The most octets of a text that are looked at; nobody is shown more of it.
const LONGEST: usize = 64 << 10;

/// The beginning of the text with `[hidden]` in place of each secret of at least `least` octets. A secret may be
/// percent-encoded, escaped as in JSON, decoded or cut.
pub(crate) fn hidden<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>, least: usize) -> String {
    let secrets: Vec<&str> = secrets.into_iter().collect();
    // A percent sign right before a secret would swallow its first digits, so the text as written comes first.
    let shown = text[..text.floor_char_boundary(LONGEST)].to_owned();
    [written, decoded].into_iter().fold(shown, |text, octets_of| {
        let secrets = secrets.iter().map(|secret| octets_of(secret));
        let secrets: Vec<Octets> = secrets.filter(|secret| secret.len() >= least.max(1)).collect();
        without(&text, &octets_of(&text), &secrets)
    })
}

/// The octets of a text, each with the place where it begins.
type Octets = Vec<(u8, usize)>;

fn written(text: &str) -> Octets {
    // A form of a web page has a plus sign for a space.
    text.bytes().map(|octet| if octet == b'+' { b' ' } else { octet }).zip(0..).collect()
}

/// The octets after percent-decoding and without the escapes of JSON, repeated as long as there are any.
fn decoded(text: &str) -> Octets {
    let mut octets = Octets::new();
    for octet in written(text) {
        octets.push(octet);
        while let Some((length, one)) = escaped(&octets) {
            let start = octets[octets.len() - length].1;
            octets.truncate(octets.len() - length);
            octets.push((if one == b'+' { b' ' } else { one }, start));
        }
    }
    octets
}

/// The length of the escape at the end of a text, and the octet that it stands for.
fn escaped(octets: &[(u8, usize)]) -> Option<(usize, u8)> {
    let digit = |octet: u8| char::from(octet).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let of_digits = |high, low| Some(digit(high)? << 4 | digit(low)?);
    match *octets {
        [.., (b'\\', _), (b'u', _), (b'0', _), (b'0', _), (high, _), (low, _)] => {
            Some((6, of_digits(high, low)?))
        }
        [.., (b'%', _), (high, _), (low, _)] => Some((3, of_digits(high, low)?)),
        [.., (b'\\', _), (mark @ (b'/' | b'"' | b'\\'), _)] => Some((2, mark)),
        _ => None,
    }
}

fn without(text: &str, octets: &Octets, secrets: &[Octets]) -> String {
    let (mut shown, mut from, mut at) = (String::new(), 0, 0);
    while let Some(&(_, start)) = octets.get(at) {
        let quoted = secrets.iter().map(|secret| quoted(&octets[at..], secret)).max().unwrap_or(0);
        if quoted > 0 {
            shown.push_str(&text[from..text.floor_char_boundary(start)]);
            shown.push_str("[hidden]");
            let end = octets.get(at + quoted).map_or(text.len(), |&(_, end)| end);
            from = text.ceil_char_boundary(end);
        }
        at += quoted.max(1);
    }
    shown + &text[from..]
}

/// The number of octets that a text has of a secret, from the beginning of both; 0 if it quotes none.
fn quoted(text: &[(u8, usize)], secret: &Octets) -> usize {
    let length = text.iter().zip(secret).take_while(|(one, other)| one.0 == other.0).count();
    let Some((next, _)) = secret.get(length) else { return length };
    // `incoming` is no quotation of `incoming-hooks`, nor `configured` one of `configurations`.
    let is_word = text[..length].iter().all(|(octet, _)| octet.is_ascii_lowercase())
        && (!next.is_ascii_alphanumeric()
            || text.get(length).is_some_and(|(octet, _)| octet.is_ascii_lowercase()));
    if length < SHORTEST_CUT || is_word { 0 } else { length }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_in_every_form() {
        let base64 = "AGFubkBleGFtcGxlLm9yZwBodW50ZXIyLXNlY3JldA==";
        let cut = format!("501 Cannot decode '{}...'", &base64[..base64.len() - 3]);
        let path = "s%2FECRET%2B9";
        let token = "AAtoken-SECRET_1";
        let table = [
            (base64, "AUTH PLAIN AGFubkBleGFtcGxlLm9yZwBodW50ZXIyLXNlY3JldA== ", "AUTH PLAIN [hidden] "),
            (base64, cut.as_str(), "501 Cannot decode '[hidden]...'"),
            (base64, "AGFubkB…", "AGFubkB…"),
            (base64, "AGFubkBl…", "[hidden]…"),
            (path, "no /x/s%2FECRET%2B9.", "no /x/[hidden]."),
            (path, "no /x/s/ECRET+9.", "no /x/[hidden]."),
            (path, "no /x/s/ECRET 9.", "no /x/[hidden]."),
            (path, "no /x/s%2fECRET%2b9.", "no /x/[hidden]."),
            (path, "no %2Fx%2Fs%252FECRET%252B9.", "no %2Fx%2F[hidden]."),
            (path, "no %252fx%252fs%25252fECRET%25252b9.", "no %252fx%252f[hidden]."),
            ("s/ECRET+9", "no s%2fECRET%2b9.", "no [hidden]."),
            (token, "/bot123456%3AAAtoken-SECRET_1", "/bot123456%3A[hidden]"),
            (token, "AAtoken%2DSECRET%5f1 is none", "[hidden] is none"),
            ("ab12cd34", "%ab12cd34", "%[hidden]"),
            ("s/ECR\"ET\\9", r#"{"no":"s\/ECR\"ET\\9"}"#, r#"{"no":"[hidden]"}"#),
            ("s/ECRET&<9", r#"{"no":"s\u002fECRET\u0026\u003C9"}"#, r#"{"no":"[hidden]"}"#),
            ("пароль-1", "с %D0%BF%d0%B0роль-1, пароль-1я", "с [hidden], [hidden]я"),
            ("\u{ff}ecret-1", "é%c3%bfecret-1é", "é[hidden]é"),
            // Words, and what is as short as one.
            ("hook", "no hook", "no hook"),
            ("%2F%2Fa", "http://a", "http://a"),
            ("incoming-hooks", "incoming mail", "incoming mail"),
            ("configurations", "not configured", "not configured"),
            ("correcthorsebattery", "'correcthorseb...'", "'[hidden]...'"),
            ("", "a", "a"),
        ];
        for (secret, said, want) in table {
            assert_eq!(hidden(said, ["other-secret", secret], 5), want, "{secret} in {said}");
        }
    }

    #[test]
    fn a_secret_is_hidden_where_the_longest_text_ends() {
        let text = "é".repeat(LONGEST / 2 - 4) + "secret-of-the-house" + &"é".repeat(LONGEST);
        assert_eq!(hidden(&text, ["secret-of-the-house"], 4), "é".repeat(LONGEST / 2 - 4) + "[hidden]");
    }

    #[test]
    fn the_longest_of_several_secrets_is_hidden() {
        assert_eq!(hidden("a secret-of-two, of", ["secret", "secret-of-two"], 1), "a [hidden], of");
    }

    proptest::proptest! {
        #[test]
        fn a_whole_secret_is_shown_in_no_text(text in r".{0,30}|[%0-9A-Fa-f+é\\u/]{0,40}", secret in r"[%0-9a-fé\\u/]{4,12}") {
            let shown = hidden(&format!("{text}{secret}{text}"), [secret.as_str()], 4);
            assert!(!shown.contains(&secret), "{shown}");
        }
    }
}
