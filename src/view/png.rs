//! A small picture of few colours, and its bytes as PNG. It only draws upright rectangles, since a step chart
//! has nothing else, so no crate for fonts or curves is needed. Pure.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Red, green, blue and opacity.
pub(super) type Rgba = [u8; 4];

/// Pixels by index into a palette.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    palette: Vec<Rgba>,
    pixels: Vec<u8>,
}

impl Canvas {
    /// A canvas filled with the first colour of the palette, which has at most 256.
    pub(super) fn new(width: usize, height: usize, palette: &[Rgba]) -> Self {
        Self { width, height, palette: palette.to_vec(), pixels: vec![0; width * height] }
    }

    /// Fills a rectangle; parts outside of the canvas are cut off.
    pub(super) fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: u8) {
        let right = x.saturating_add(width).min(self.width);
        let bottom = y.saturating_add(height).min(self.height);
        for row in y.min(bottom)..bottom {
            let start = row * self.width;
            self.pixels[start + x.min(right)..start + right].fill(colour);
        }
    }

    /// The picture as PNG: 8 bits of palette a pixel, no filter.
    pub(super) fn png(&self) -> Vec<u8> {
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = Vec::with_capacity(13);
        header.extend_from_slice(&(self.width as u32).to_be_bytes());
        header.extend_from_slice(&(self.height as u32).to_be_bytes());
        header.extend_from_slice(&[8, 3, 0, 0, 0]);
        chunk(&mut out, b"IHDR", &header);
        let (solid, covers): (Vec<[u8; 3]>, Vec<u8>) =
            self.palette.iter().map(|&[red, green, blue, covers]| ([red, green, blue], covers)).unzip();
        chunk(&mut out, b"PLTE", &solid.concat());
        chunk(&mut out, b"tRNS", &covers);
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        for row in self.pixels.chunks(self.width) {
            packed.write_all(&[0]).and_then(|()| packed.write_all(row)).expect("memory takes any write");
        }
        chunk(&mut out, b"IDAT", &packed.finish().expect("memory takes any write"));
        chunk(&mut out, b"IEND", &[]);
        out
    }
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let mut crc = crc32fast::Hasher::new();
    crc.update(kind);
    crc.update(data);
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    out.extend_from_slice(kind);
    out.extend_from_slice(data);
    out.extend_from_slice(&crc.finalize().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn rectangles_are_cut_at_the_edge_and_the_picture_unpacks_to_its_pixels() {
        let mut canvas = Canvas::new(4, 2, &[[255, 255, 255, 0], [1, 2, 3, 255]]);
        canvas.fill(2, 1, 9, 9, 1);
        canvas.fill(9, 9, 1, 1, 1);
        canvas.fill(usize::MAX, 0, usize::MAX, 1, 1);
        let png = canvas.png();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        // The checksum of an empty IEND, as in the standard.
        assert_eq!(&png[png.len() - 12..], b"\0\0\0\0IEND\xae\x42\x60\x82");
        let at = png.windows(4).position(|part| part == b"IDAT").unwrap();
        let length = u32::from_be_bytes(png[at - 4..at].try_into().unwrap()) as usize;
        let mut pixels = Vec::new();
        let packed = &png[at + 4..at + 4 + length];
        flate2::read::ZlibDecoder::new(packed).read_to_end(&mut pixels).unwrap();
        assert_eq!(pixels, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert!(png.windows(6).any(|part| part == b"tRNS\x00\xff"), "the paper shows through");
    }
}
