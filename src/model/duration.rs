//! Durations as people write them, in the configuration and on the command line.

use std::time::Duration;

/// `90s`, `30m`, `6h`, `1d`, also joined: `1d12h`. Zero is not allowed.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    // Only the clear units of humantime: its `M` is a month, and `ms` has no use here.
    let ours = |text: &&str| {
        !text.contains("ms") && text.chars().all(|c| matches!(c, '0'..='9' | 's' | 'm' | 'h' | 'd'))
    };
    let parsed = Some(text.trim()).filter(ours).and_then(|text| humantime::parse_duration(text).ok());
    match parsed {
        None => Err(format!("'{text}' is no duration; such as \"90s\", \"30m\", \"6h\" or \"1d\"")),
        Some(total) if total.is_zero() || total > Duration::from_secs(3660 * 86_400) => {
            Err(format!("'{text}' is out of range; allowed are 1s to 3660d"))
        }
        Some(total) => Ok(total),
    }
}
