//! The texts of one family, one for each part of an account, in order. Small texts compress badly one by one,
//! and thousands of accounts have hundreds of thousands of them, so they are packed together in bundles.

use std::sync::Arc;

use super::page::{Chunk, Compressor};
use super::parts::PagePart;
use crate::model::AccountName;

/// The size of a bundle's text in bytes; only a single part may be larger. Larger bundles compress better, but
/// cost more at a change.
const MOST: usize = 16 * 1024;

/// The texts of a family.
#[derive(Debug)]
pub(super) struct Bundles {
    /// The header, and one chunk for each bundle.
    chunks: Arc<Vec<Chunk>>,
    /// The entries of each bundle, by account and part; no bundle is empty.
    bundles: Vec<Vec<Entry>>,
}

/// The text of one part, which follows the texts before it in its bundle.
#[derive(Debug)]
struct Entry {
    account: AccountName,
    length: usize,
    crc: u32,
    part: PagePart,
}

impl Entry {
    fn key(&self) -> (&AccountName, PagePart) {
        (&self.account, self.part)
    }
}

impl Bundles {
    /// An empty list behind this header.
    pub(super) fn new(header: Chunk) -> Self {
        Self { chunks: Arc::new(vec![header]), bundles: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bundles.is_empty()
    }

    /// The header and all texts.
    pub(super) fn chunks(&self) -> Arc<Vec<Chunk>> {
        Arc::clone(&self.chunks)
    }

    /// Replaces a part's text, or removes it if the new one is empty. Returns whether anything changed, by
    /// length and checksum.
    pub(super) fn put(
        &mut self,
        (account, part): (&AccountName, PagePart),
        text: &[u8],
        compressor: &mut Compressor,
    ) -> bool {
        let key = (account, part);
        let new = Entry { account: account.clone(), length: text.len(), crc: crc32fast::hash(text), part };
        // The last bundle that does not begin later.
        let at =
            self.bundles.partition_point(|bundle| bundle.first().is_some_and(|first| first.key() <= key));
        let at = at.saturating_sub(1);
        let Some(bundle) = self.bundles.get_mut(at) else {
            if !text.is_empty() {
                self.begin(0, new, compressor.compress(text));
            }
            return !text.is_empty();
        };
        let chunk = &self.chunks[at + 1];
        let before =
            |place: usize, bundle: &[Entry]| bundle[..place].iter().map(|one| one.length).sum::<usize>();
        let found = bundle.binary_search_by(|one| one.key().cmp(&key));
        match found {
            Ok(place) if (bundle[place].length, bundle[place].crc) == (new.length, new.crc) => return false,
            Err(_) if text.is_empty() => return false,
            Ok(_) if bundle.len() == 1 && !text.is_empty() => {
                bundle[0] = new;
                self.repack(at, text, compressor);
            }
            // A text at the edge of a full bundle begins a new one.
            Err(0) if chunk.len() + text.len() > MOST => self.begin(at, new, compressor.compress(text)),
            Err(place) if place == bundle.len() && chunk.len() + text.len() > MOST => {
                self.begin(at + 1, new, compressor.compress(text));
            }
            Ok(place) | Err(place) => {
                let end = place + usize::from(found.is_ok());
                let range = before(place, bundle)..before(end, bundle);
                let mut whole = compressor.text(chunk);
                whole.splice(range, text.iter().copied());
                bundle.splice(place..end, (!text.is_empty()).then_some(new));
                self.repack(at, &whole, compressor);
            }
        }
        true
    }

    /// Removes all texts of an account.
    pub(super) fn remove(&mut self, account: &AccountName, compressor: &mut Compressor) {
        let of_it = self.bundles.iter().flatten().filter(|one| one.account == *account);
        let parts: Vec<PagePart> = of_it.map(|one| one.part).collect();
        for part in parts {
            self.put((account, part), b"", compressor);
        }
    }

    fn begin(&mut self, at: usize, entry: Entry, chunk: Chunk) {
        self.bundles.insert(at, vec![entry]);
        Arc::make_mut(&mut self.chunks).insert(at + 1, chunk);
    }

    /// Compresses a changed bundle. It is cut if it is too large, and removed if it is empty.
    fn repack(&mut self, at: usize, text: &[u8], compressor: &mut Compressor) {
        let mut bundles = Vec::new();
        cut(std::mem::take(&mut self.bundles[at]), text, &mut bundles);
        let chunks: Vec<Chunk> = bundles.iter().map(|(_, text)| compressor.compress(text)).collect();
        self.bundles.splice(at..=at, bundles.into_iter().map(|(bundle, _)| bundle));
        Arc::make_mut(&mut self.chunks).splice(at + 1..=at + 1, chunks);
    }
}

/// Cuts a bundle into halves until none is too large.
fn cut<'a>(mut bundle: Vec<Entry>, text: &'a [u8], into: &mut Vec<(Vec<Entry>, &'a [u8])>) {
    if bundle.len() < 2 || text.len() <= MOST {
        if !bundle.is_empty() {
            bundle.shrink_to_fit();
            into.push((bundle, text));
        }
        return;
    }
    // Each half has at least one entry.
    let (mut count, mut end) = (1, bundle[0].length);
    while count + 1 < bundle.len() && end + bundle[count].length <= text.len() / 2 {
        end += bundle[count].length;
        count += 1;
    }
    let rest = bundle.split_off(count);
    cut(bundle, &text[..end], into);
    cut(rest, &text[end..], into);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::family::FactSet;
    use super::super::page::Page;
    use super::*;
    use crate::model::Collector;

    fn text(bundles: &Bundles) -> String {
        let page: Vec<u8> = Page::of(vec![bundles.chunks()]).identity("").flatten().collect();
        String::from_utf8(page).unwrap()
    }

    fn new(compressor: &mut Compressor) -> Bundles {
        Bundles::new(compressor.compress(b"# header\n"))
    }

    fn name(number: u8) -> AccountName {
        format!("customer-{number:03}").parse().unwrap()
    }

    fn part(shard: u8) -> PagePart {
        PagePart { section: FactSet::Of(Collector::Sites), shard }
    }

    #[test]
    fn small_texts_stand_together_and_large_ones_alone() {
        let mut compressor = Compressor::new();
        let mut bundles = new(&mut compressor);
        for number in 0..200 {
            assert!(bundles.put((&name(number), part(0)), &[b'a'; 1000], &mut compressor));
        }
        assert_eq!(bundles.bundles.len(), 200_usize.div_ceil(MOST / 1000), "as many as fit into each");
        assert!(bundles.put((&name(100), part(0)), &[b'b'; 3 * MOST], &mut compressor));
        let sizes: Vec<usize> =
            bundles.chunks.iter().map(Chunk::len).filter(|&length| length > MOST).collect();
        assert_eq!(sizes, [3 * MOST]);
        let whole = [&b"# header\n"[..], &[b'a'; 100_000], &[b'b'; 3 * MOST], &[b'a'; 99_000]].concat();
        assert!(text(&bundles).as_bytes() == whole);
        let packed: usize = Page::of(vec![bundles.chunks()]).gzip(b"").iter().map(|piece| piece.len()).sum();
        assert!(packed < whole.len() / 50, "{packed}");
    }

    proptest! {
        #[test]
        fn texts_stay_in_order_after_every_change(
            changes in proptest::collection::vec(
                (0..30_u8, 0..3_u8, prop_oneof![2 => Just(0), 8 => 1..3_000_usize, 1 => 1..50_000_usize], any::<u8>()), 1..200,
            ),
            gone in 0..30_u8,
        ) {
            let mut compressor = Compressor::new();
            let mut bundles = new(&mut compressor);
            let mut want: BTreeMap<(AccountName, PagePart), String> = BTreeMap::new();
            for (number, shard, length, letter) in changes {
                let key = (name(number), part(shard));
                let new = char::from(b'a' + letter % 26).to_string().repeat(length);
                let before = want.get(&key).cloned().unwrap_or_default();
                let changed = bundles.put((&key.0, key.1), new.as_bytes(), &mut compressor);
                prop_assert_eq!(changed, before != new);
                if length == 0 { want.remove(&key); } else { want.insert(key, new); }
                let fits = bundles.bundles.iter().zip(&bundles.chunks[1..]).all(|(bundle, chunk)| {
                    bundle.iter().map(|one| one.length).sum::<usize>() == chunk.len()
                        && (chunk.len() <= MOST || bundle.len() == 1)
                });
                prop_assert!(fits);
            }
            let all = |want: &BTreeMap<_, String>| format!("# header\n{}", want.values().cloned().collect::<String>());
            prop_assert!(text(&bundles) == all(&want));
            bundles.remove(&name(gone), &mut compressor);
            want.retain(|(account, _), _| *account != name(gone));
            prop_assert!(text(&bundles) == all(&want));
            prop_assert_eq!(bundles.is_empty(), want.is_empty());
        }
    }
}
