//! Converts text 0.0.4, as `own` and the prometheus crate write it, to OpenMetrics 1.0.0. It is for pages whose
//! help texts need no escaping and whose counters all end in `_total`; a test of the table checks that.

use std::collections::HashSet;

/// The same samples as OpenMetrics: HELP and TYPE name counters without `_total`, and the page ends in `# EOF`.
pub(super) fn from_text(text: &str) -> Vec<u8> {
    // TYPE comes after HELP, and HELP has to be changed too.
    let counters: HashSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let mut out = Vec::with_capacity(text.len() + 8);
    for line in text.split_inclusive('\n') {
        let comment = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# TYPE "));
        let family = comment.and_then(|rest| rest.split(' ').next());
        match family.filter(|name| counters.contains(name)).and_then(|name| name.strip_suffix("_total")) {
            Some(short) => {
                let (head, rest) = (&line[..7], &line[7 + short.len() + "_total".len()..]);
                for piece in [head, short, rest] {
                    out.extend_from_slice(piece.as_bytes());
                }
            }
            None => out.extend_from_slice(line.as_bytes()),
        }
    }
    out.extend_from_slice(b"# EOF\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_lose_their_suffix_in_comments_only() {
        let text = "# HELP a_total Some a_total.\n# TYPE a_total counter\na_total{b=\"# HELP a_total\"} 1\n\
                    # HELP c_total_bytes Gauge.\n# TYPE c_total_bytes gauge\nc_total_bytes 2\n";
        assert_eq!(
            String::from_utf8(from_text(text)).unwrap(),
            "# HELP a Some a_total.\n# TYPE a counter\na_total{b=\"# HELP a_total\"} 1\n\
             # HELP c_total_bytes Gauge.\n# TYPE c_total_bytes gauge\nc_total_bytes 2\n# EOF\n"
        );
    }
}
