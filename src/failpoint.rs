//! Named points between an observation and "sent", for tests that kill the daemon at each of them. Without the
//! feature `failpoints`, which only tests switch on, nothing of this is in the binary.

#[cfg(feature = "failpoints")]
pub(crate) use armed::{haste, reach, time_out_haste};

/// Marks a step. While the file that `HOSTWATCH_FAILPOINT_FILE` names holds this point's name, the thread that
/// comes here writes `reached NAME` into it and stops until the file says something else.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn reach(_point: &str) {}

/// What pauses are divided by: the outbox's, those between tries of a request, and how long a group is left alone.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn haste() -> u32 {
    1
}

/// What the time-out of a request to the provider is divided by.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn time_out_haste() -> u32 {
    1
}

#[cfg(feature = "failpoints")]
mod armed {
    use std::path::PathBuf;
    use std::sync::OnceLock;
    use std::time::Duration;

    /// As without the feature, and does it; with `panic ` before the name the thread panics instead.
    pub(crate) fn reach(point: &str) {
        static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
        let file = FILE.get_or_init(|| std::env::var_os("HOSTWATCH_FAILPOINT_FILE").map(PathBuf::from));
        let Some(file) = file else { return };
        let armed = std::fs::read_to_string(file).unwrap_or_default();
        assert!(armed.strip_prefix("panic ") != Some(point), "the failpoint {point}");
        if armed == point {
            let reached = format!("reached {point}");
            // A test that does not find the word fails by itself.
            let _ = std::fs::write(file, &reached);
            while std::fs::read_to_string(file).is_ok_and(|says| says == reached) {
                std::thread::park_timeout(Duration::from_millis(20));
            }
        }
    }

    /// As without the feature, and `HOSTWATCH_HASTE` says by how much.
    pub(crate) fn haste() -> u32 {
        static HASTE: OnceLock<u32> = OnceLock::new();
        *HASTE.get_or_init(|| told("HOSTWATCH_HASTE"))
    }

    /// As without the feature, and `HOSTWATCH_TIME_OUT_HASTE` says by how much.
    pub(crate) fn time_out_haste() -> u32 {
        static HASTE: OnceLock<u32> = OnceLock::new();
        *HASTE.get_or_init(|| told("HOSTWATCH_TIME_OUT_HASTE"))
    }

    fn told(name: &str) -> u32 {
        let told = std::env::var(name).ok().and_then(|text| text.parse().ok());
        told.unwrap_or(1).max(1)
    }
}
