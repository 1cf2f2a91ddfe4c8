//! The limit of series per collector: how many series each resource would have, and from which id on
//! resources are left out. Whole resources are left out, the highest ids first, so that the same series are
//! written from poll to poll. Writes no text.

use std::collections::HashMap;

/// How many series a part would write.
#[derive(Clone, Debug, Default)]
pub(super) struct SeriesCount {
    by_resource: HashMap<u64, u64>,
    /// Of no resource: counts by state, balances. Few, and never left out.
    others: u64,
}

impl SeriesCount {
    /// One series, of the resource with this id or of none.
    pub(super) fn add(&mut self, resource: Option<u64>) {
        match resource {
            Some(id) => *self.by_resource.entry(id).or_default() += 1,
            None => self.others += 1,
        }
    }
}

/// Which resources of a collector are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Limit {
    /// Resources from this id on are left out.
    pub(super) below: Option<u64>,
    /// Series that they would have had.
    pub(super) dropped: u64,
}

impl Limit {
    /// The resources that fit under `cap`, of all parts of a collector.
    pub(super) fn of<'a>(counts: impl Iterator<Item = &'a SeriesCount>, cap: u64) -> Self {
        let mut rows: Vec<(u64, u64)> = Vec::new();
        let mut room = cap;
        for count in counts {
            rows.extend(count.by_resource.iter().map(|(&id, &series)| (id, series)));
            room = room.saturating_sub(count.others);
        }
        rows.sort_unstable();
        let mut limit = Self::default();
        for (id, series) in rows {
            match room.checked_sub(series).filter(|_| limit.below.is_none()) {
                Some(left) => room = left,
                None => {
                    limit.below.get_or_insert(id);
                    limit.dropped += series;
                }
            }
        }
        limit
    }

    /// Is a resource written?
    pub(super) fn lets(self, id: u64) -> bool {
        self.below.is_none_or(|below| id < below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_resources_are_left_out_the_newest_first() {
        let mut counts = [SeriesCount::default(), SeriesCount::default()];
        // Five series of 1, two of 2, one of 3, in two parts, beside two of no resource.
        for (part, id, series) in [(0, 1, 5), (1, 2, 2), (0, 3, 1)] {
            for _ in 0..series {
                counts[part].add(Some(id));
            }
        }
        counts[0].add(None);
        counts[1].add(None);
        let table = [
            (100, None, 0),
            (10, None, 0),
            (9, Some(3), 1),
            // One would fit, but only a tail is left out: 3 must not come and go with 2.
            (8, Some(2), 3),
            (7, Some(2), 3),
            (6, Some(1), 8),
            (1, Some(1), 8),
        ];
        for (cap, below, dropped) in table {
            assert_eq!(Limit::of(counts.iter(), cap), Limit { below, dropped }, "{cap}");
        }
        let limit = Limit { below: Some(3), dropped: 1 };
        assert!(limit.lets(2) && !limit.lets(3) && Limit::default().lets(u64::MAX));
    }
}
