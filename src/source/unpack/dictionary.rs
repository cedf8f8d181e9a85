//! How far back a compressed stream refers, which is the memory that decoding it takes.

use super::fields::Fields;

/// Bytes that are assumed where the head does not tell: the dictionary of `xz -9`.
pub(super) const USUAL: u64 = 64 << 20;

/// Of the .xz stream that begins with `head`, by its first block (The .xz File Format, 2.1 and 3.1). None where there is no
/// block, or not all of its header.
pub(super) fn of_xz(head: &[u8]) -> Option<u64> {
    const LZMA2: u64 = 0x21;
    let block = head.get(12..)?;
    let length = (usize::from(*block.first()?) + 1) * 4;
    let mut rest = Fields(block.get(1..length)?);
    let flags = rest.byte()?;
    for size in [0x40, 0x80] {
        if flags & size != 0 {
            number(&mut rest)?;
        }
    }
    for _ in 0..=flags & 3 {
        let (filter, length) = (number(&mut rest)?, number(&mut rest)?);
        let properties = rest.bytes(length)?;
        if filter == LZMA2 {
            return of_lzma2(properties);
        }
    }
    None
}

/// By the properties of the filter (The .xz File Format, 5.3.1).
fn of_lzma2(properties: &[u8]) -> Option<u64> {
    let bits = properties.first()? & 0x3f;
    Some(u64::from(2 | bits & 1) << (bits / 2 + 11))
}

/// Of a coder of a .7z, by its method and its properties. No others that are read look back farther than 900 kB.
pub(super) fn of_7z(method: &[u8], properties: &[u8]) -> Option<u64> {
    match method {
        [0x21] => of_lzma2(properties),
        [3, 1, 1] => of_lzma(properties),
        _ => Some(0),
    }
}

/// Of an .lzma, by its header.
pub(super) fn of_lzma(head: &[u8]) -> Option<u64> {
    let size = head.get(1..5)?.try_into().ok()?;
    Some(u32::from_le_bytes(size).into())
}

/// Of a .zst frame (RFC 8878, 3.1.1.1): its window, or its contents where these are less.
pub(super) fn of_zstd(head: &[u8]) -> Option<u64> {
    let mut rest = Fields(head.strip_prefix(&[0x28, 0xb5, 0x2f, 0xfd])?);
    let flags = rest.byte()?;
    let single = flags & 0x20 != 0;
    let window = match single {
        true => u64::MAX,
        false => {
            let byte = rest.byte()?;
            let base = 1u64 << (10 + (byte >> 3));
            base + base / 8 * u64::from(byte & 7)
        }
    };
    rest.bytes([0, 1, 2, 4][usize::from(flags & 3)])?;
    let length = match flags >> 6 {
        0 => u64::from(single),
        size => 1 << size,
    };
    let contents = rest.bytes(length)?.iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte));
    // two bytes count from 256
    let contents = if length == 2 { contents + 256 } else { contents };
    Some(if length == 0 { window } else { window.min(contents) })
}

/// Seven bits a byte, the lowest first.
fn number(rest: &mut Fields) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let byte = rest.byte()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
    use proptest::prelude::*;

    use super::*;

    fn xz(filters: &Filters) -> Vec<u8> {
        let stream = Stream::new_stream_encoder(filters, Check::Crc32).unwrap();
        let mut out = Vec::new();
        liblzma::bufread::XzEncoder::new_stream(&b"text"[..], stream).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn of_what_xz_writes() {
        for (preset, size) in [(0, 256 << 10), (6, 8 << 20), (9, 64 << 20)] {
            let options = LzmaOptions::new_preset(preset).unwrap();
            assert_eq!(of_xz(&xz(Filters::new().lzma2(&options))), Some(size));
            assert_eq!(of_xz(&xz(Filters::new().x86().lzma2(&options))), Some(size));
        }
        let mut odd = LzmaOptions::new_preset(0).unwrap();
        odd.dict_size(3 << 20);
        assert_eq!(of_xz(&xz(Filters::new().lzma2(&odd))), Some(3 << 20));
        let mut out = Vec::new();
        let stream = Stream::new_lzma_encoder(&LzmaOptions::new_preset(9).unwrap()).unwrap();
        liblzma::bufread::XzEncoder::new_stream(&b"text"[..], stream).read_to_end(&mut out).unwrap();
        assert_eq!(of_lzma(&out), Some(64 << 20));
    }

    #[test]
    fn of_what_zstd_writes() {
        let long = |told: Option<u64>, length: usize| {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
            encoder.window_log(27).unwrap();
            encoder.set_pledged_src_size(told).unwrap();
            encoder.write_all(&vec![b'x'; length]).unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(of_zstd(&long(None, 4)), Some(128 << 20));
        for length in [4, 255, 256, 300, 65_791, 65_792, 70_000] {
            assert_eq!(of_zstd(&long(Some(length), length as usize)), Some(length), "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_head_breaks_it(head in proptest::collection::vec(any::<u8>(), 0..64), magic in 0..3) {
            let begin: &[u8] = [&b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46"[..], b"\x28\xb5\x2f\xfd", b""][magic as usize];
            let head = [begin, &head].concat();
            let _ = (of_xz(&head), of_zstd(&head), of_lzma(&head));
        }
    }
}
