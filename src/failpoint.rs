//! Named points between an observation and "sent", for tests that kill the daemon at each of them. They are in
//! the binary only with the feature `failpoints`, which only tests switch on.

#[cfg(feature = "failpoints")]
pub(crate) use armed::{haste, reach, time_out_haste};

/// Marks a step. If the file in `HOSTWATCH_FAILPOINT_FILE` holds this point's name, the thread writes `reached
/// NAME` into it and stops until the file has another text.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn reach(_point: &str) {}

/// The divisor of pauses: those of the outbox, between attempts of a request, and of a group that is not asked.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn haste() -> u32 {
    1
}

/// A pause between attempts at a mail, shortened in tests.
pub(crate) fn hasten(pause: chrono::Duration) -> chrono::Duration {
    pause / i32::try_from(haste()).unwrap_or(i32::MAX)
}

/// The divisor of the time-outs of requests to the provider and of replies of the mail server.
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

    /// As without the feature, but it does stop. With `panic ` before the name the thread panics instead.
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

    /// As without the feature, with the value of `HOSTWATCH_HASTE`.
    pub(crate) fn haste() -> u32 {
        static HASTE: OnceLock<u32> = OnceLock::new();
        *HASTE.get_or_init(|| told("HOSTWATCH_HASTE"))
    }

    /// As without the feature, with the value of `HOSTWATCH_TIME_OUT_HASTE`.
    pub(crate) fn time_out_haste() -> u32 {
        static HASTE: OnceLock<u32> = OnceLock::new();
        *HASTE.get_or_init(|| told("HOSTWATCH_TIME_OUT_HASTE"))
    }

    fn told(name: &str) -> u32 {
        let told = std::env::var(name).ok().and_then(|text| text.parse().ok());
        told.unwrap_or(1).max(1)
    }
}
