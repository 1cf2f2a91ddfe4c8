//! Name patterns for resources, in alert rules and silences.

/// `*` matches any run of characters and `?` one; other characters match themselves, in the same case.
pub(crate) fn matches_pattern(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // At each number of characters: whether the pattern so far matches that many of the name.
    let mut matches = vec![false; name.len() + 1];
    matches[0] = true;
    for want in pattern.chars() {
        if want == '*' {
            let shortest = matches.iter().position(|&is_match| is_match).unwrap_or(matches.len());
            matches[shortest..].fill(true);
        } else {
            for (at, &is) in name.iter().enumerate().rev() {
                matches[at + 1] = matches[at] && (want == '?' || want == is);
            }
            matches[0] = false;
        }
    }
    matches[name.len()]
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
