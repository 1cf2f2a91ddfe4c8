//! Name patterns for resources, in alert rules and silences.

/// `*` matches any run of characters and `?` one; other characters match themselves, in the same case.
pub(crate) fn matches_pattern(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // The pattern behind the last `*`, and the rest of the name behind the characters that it has taken so far.
    let mut star = None;
    loop {
        let (mut pattern_left, mut name_left) = (pattern.clone(), name.clone());
        match (pattern_left.next(), name_left.next()) {
            (Some('*'), _) => {
                star = Some((pattern_left.clone(), name.clone()));
                pattern = pattern_left;
            }
            (None, None) => return true,
            (Some(want), Some(is)) if want == '?' || want == is => {
                (pattern, name) = (pattern_left, name_left);
            }
            _ => {
                let Some((after_star, taken)) = &mut star else { return false };
                if taken.next().is_none() {
                    return false;
                }
                (pattern, name) = (after_star.clone(), taken.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let table = [
            ("*", "", true),
            ("web-*", "web-1", true),
            ("web-*", "db-1", false),
            ("*.example.com", "a.example.com", true),
            ("*.example.com", "example.com", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("", "x", false),
        ];
        for (pattern, name, want) in table {
            assert_eq!(matches_pattern(pattern, name), want, "{pattern} {name}");
        }
    }
}
