//! Texts as zstd frames, and back. Each frame stands alone and needs no more memory than a client must provide.

use std::fmt;

use ::zstd::bulk::{Compressor, Decompressor};
use ::zstd::zstd_safe::CParameter;

/// Makes frames.
pub(super) struct Zstd(Compressor<'static>, Decompressor<'static>);

/// The fastest level: higher ones gain less than they cost (docs/performance.md).
const LEVEL: i32 = 1;
/// The distance that a frame may refer back, as a power of two: 1 MiB. Clients must accept up to 8 (RFC 9659).
const WINDOW: u32 = 20;

impl Zstd {
    pub(super) fn new() -> Self {
        let mut compressor = Compressor::new(LEVEL).expect("level 1 is one of zstd's");
        compressor.set_parameter(CParameter::WindowLog(WINDOW)).expect("the window is within zstd's limits");
        Self(compressor, Decompressor::new().expect("there is memory for a decompressor"))
    }

    pub(super) fn frame(&mut self, text: &[u8]) -> Vec<u8> {
        self.0.compress(text).expect("zstd into memory has no way to fail")
    }

    /// The text of a frame that was made here, with this length.
    pub(super) fn text(&mut self, frame: &[u8], length: usize) -> Vec<u8> {
        self.1.decompress(frame, length).expect("our own frame is whole")
    }
}

impl fmt::Debug for Zstd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Zstd")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_frame_needs_a_window_above_8_mib() {
        let long: Vec<u8> =
            (0..24_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 27) as u8).collect();
        let frame = Zstd::new().frame(&long);
        // Magic number and descriptor. Without the flag for a single segment the window follows.
        assert_eq!(frame[..4], [0x28, 0xb5, 0x2f, 0xfd]);
        assert_eq!(frame[4] & 0b0010_0000, 0, "a single segment is a window as large as the text");
        let (exponent, mantissa) = (u64::from(frame[5] >> 3), u64::from(frame[5] & 7));
        let base = 1_u64 << (10 + exponent);
        assert!(base + base / 8 * mantissa <= 8 << 20);
        assert!(::zstd::decode_all(frame.as_slice()).unwrap() == long);
        assert!(Zstd::new().text(&frame, long.len()) == long);
    }
}
