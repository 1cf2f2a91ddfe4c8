//! `[metrics]`: which series are written. No I/O.

/// Which states of a resource get a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StateSeries {
    /// 1 on the current state and 0 on every other known one.
    #[default]
    All,
    /// Only the current state's.
    Current,
}

/// `[metrics]`; `stale_after` is part of each account's profile.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub state_series: StateSeries,
}
