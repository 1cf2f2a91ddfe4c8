//! A page of metrics that is kept compressed. Chunks are compressed once a change. They are served one after
//! the other as one gzip stream, or inflated again while they are streamed.
//!
//! A chunk ends in a full flush, so it consists of whole bytes and refers to nothing before it. Chunks can
//! therefore be joined in any order, and a final empty block with the combined CRC-32 makes them a gzip member.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, OnceLock};

use bytes::buf::Reader;
use bytes::{Buf as _, Bytes};
use crc32fast::Hasher;
use flate2::bufread::DeflateDecoder;
use flate2::write::DeflateEncoder;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

/// A compressed piece of text.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    deflated: Bytes,
    crc: u32,
    length: u64,
}

impl Chunk {
    /// The length of its text.
    pub(super) fn len(&self) -> usize {
        self.length as usize
    }
}

/// Makes chunks and reads them back. It keeps its tables, since they are large.
#[derive(Debug)]
pub(super) struct Compressor {
    compress: Compress,
    decompress: Decompress,
    out: Vec<u8>,
}

impl Compressor {
    pub(super) fn new() -> Self {
        Self {
            compress: Compress::new(Compression::fast(), false),
            decompress: Decompress::new(false),
            out: Vec::new(),
        }
    }

    pub(super) fn compress(&mut self, text: &[u8]) -> Chunk {
        self.out.clear();
        let mut rest = text;
        loop {
            self.out.reserve(rest.len() / 8 + 64);
            let before = self.compress.total_in();
            self.compress
                .compress_vec(rest, &mut self.out, FlushCompress::Full)
                .expect("deflate into memory has no way to fail");
            let taken = usize::try_from(self.compress.total_in() - before).unwrap_or(usize::MAX);
            rest = rest.get(taken..).unwrap_or_default();
            // The flush is done once the compressor leaves room unused.
            if rest.is_empty() && self.out.len() < self.out.capacity() {
                break;
            }
        }
        Chunk {
            deflated: Bytes::copy_from_slice(&self.out),
            crc: crc32fast::hash(text),
            length: text.len() as u64,
        }
    }

    /// The text of a chunk.
    pub(super) fn text(&mut self, chunk: &Chunk) -> Vec<u8> {
        self.decompress.reset(false);
        let mut text = Vec::with_capacity(chunk.len());
        self.decompress
            .decompress_vec(&chunk.deflated, &mut text, FlushDecompress::None)
            .expect("a chunk that was made here is whole");
        text
    }
}

/// All chunks at one moment, from which scrapes are served. Immutable. It shares the chunks with the encoder
/// and joins them at the first scrape, since thousands of accounts make many changes between two scrapes.
#[derive(Debug, Default)]
pub(crate) struct Page {
    lists: Vec<Arc<Vec<Chunk>>>,
    joined: OnceLock<Joined>,
}

/// All chunks as one piece, and the checksum and length of their text.
#[derive(Debug)]
struct Joined {
    deflated: Bytes,
    crc: Hasher,
    length: u64,
}

/// The header of a gzip member: deflate, no name, no time, fastest, system unknown.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];

impl Page {
    /// A page of these lists of chunks, one after the other.
    pub(super) fn of(lists: Vec<Arc<Vec<Chunk>>>) -> Self {
        Self { lists, ..Self::default() }
    }

    /// Joins the chunks at the first call, since each write of a small piece would wake the reader.
    fn joined(&self) -> &Joined {
        self.joined.get_or_init(|| {
            let chunks = || self.lists.iter().flat_map(|list| list.iter());
            let size = chunks().map(|chunk| chunk.deflated.len()).sum();
            let (mut deflated, mut crc, mut length) = (Vec::with_capacity(size), Hasher::new(), 0);
            for chunk in chunks() {
                deflated.extend_from_slice(&chunk.deflated);
                crc.combine(&Hasher::new_with_initial_len(chunk.crc, chunk.length));
                length += chunk.length;
            }
            Joined { deflated: deflated.into(), crc, length }
        })
    }

    /// The page and `tail` after it as one gzip stream, in pieces that are sent one after the other. The bytes
    /// of the page are shared, not copied.
    pub(crate) fn gzip(&self, tail: &[u8]) -> [Bytes; 3] {
        let mut encoder = DeflateEncoder::new(Vec::with_capacity(tail.len() / 4 + 64), Compression::fast());
        encoder.write_all(tail).expect("a Vec takes every write");
        let mut end = encoder.finish().expect("a Vec takes every write");
        let mut of_tail = Hasher::new();
        of_tail.update(tail);
        let joined = self.joined();
        let mut crc = joined.crc.clone();
        crc.combine(&of_tail);
        end.extend_from_slice(&crc.finalize().to_le_bytes());
        let length = joined.length + tail.len() as u64;
        // The format stores the length modulo 2^32.
        end.extend_from_slice(&(length as u32).to_le_bytes());
        [Bytes::from_static(&GZIP_HEADER), joined.deflated.clone(), end.into()]
    }

    /// The page and `tail` after it as text, inflated piece by piece.
    pub(crate) fn identity(&self, tail: impl Into<Bytes>) -> Identity {
        let joined = self.joined();
        Identity {
            text: DeflateDecoder::new(joined.deflated.clone().reader()),
            left: joined.length,
            tail: tail.into(),
        }
    }
}

/// A page as text, in pieces of at most 64 KiB. Only one piece is in memory at a time.
#[derive(Debug)]
pub(crate) struct Identity {
    text: DeflateDecoder<Reader<Bytes>>,
    left: u64,
    tail: Bytes,
}

impl Identity {
    const PIECE: u64 = 64 * 1024;

    /// The number of bytes that are still to come.
    pub(crate) fn left(&self) -> u64 {
        self.left + self.tail.len() as u64
    }
}

impl Iterator for Identity {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let length = self.left.min(Self::PIECE);
        if length == 0 {
            return Some(std::mem::take(&mut self.tail)).filter(|tail| !tail.is_empty());
        }
        let mut piece = vec![0; length as usize];
        // A chunk is never incomplete. Otherwise the page would end here, and the scraper sees from the length that it
        // is truncated.
        self.text.read_exact(&mut piece).ok()?;
        self.left -= length;
        Some(piece.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gunzip(pieces: &[Bytes]) -> Vec<u8> {
        let whole: Vec<u8> = pieces.iter().flatten().copied().collect();
        let mut out = Vec::new();
        // Checks length and CRC at the end.
        flate2::read::GzDecoder::new(whole.as_slice()).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn a_page_without_chunks_is_its_tail() {
        let page = Page::default();
        assert_eq!(gunzip(&page.gzip(b"x 1\n")), b"x 1\n");
        assert_eq!(page.identity("x 1\n").collect::<Vec<_>>(), ["x 1\n"]);
        assert_eq!(page.identity("").count(), 0);
    }
}
