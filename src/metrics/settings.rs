//! `[metrics]`: the choice of series; `stale_after` is in each account's profile. No I/O.

/// The states of a resource that get a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum StateSeries {
    /// 1 for the current state and 0 for every other known one.
    #[default]
    All,
    /// Only the current state.
    Current,
}
