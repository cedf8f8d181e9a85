use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::source::testing::spoil;
use crate::source::unpack::decode::Remarks;
use crate::source::unpack::lanes::Lanes;

/// What came, and the error behind it.
type Told = (Vec<u8>, Option<(io::ErrorKind, String)>);

fn told(mut source: impl Read) -> Told {
    let mut out = Vec::new();
    let mut part = [0; 9999];
    loop {
        match source.read(&mut part) {
            Ok(0) => return (out, None),
            Ok(n) => out.extend_from_slice(&part[..n]),
            Err(e) => return (out, Some((e.kind(), e.to_string()))),
        }
    }
}

fn file(packed: &[u8]) -> Tapped {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(packed).unwrap();
    file.rewind().unwrap();
    file.into()
}

fn plain(packed: &[u8]) -> Told {
    told(Decoder::with_buffer(BufReader::with_capacity(BUFFER, file(packed))).unwrap())
}

fn side_by_side(packed: &[u8]) -> Told {
    told(Lanes::new(ZstdFrames::new(file(packed)), None, Remarks::default()))
}

fn pieces(packed: &[u8]) -> usize {
    let mut frames = ZstdFrames::new(file(packed));
    std::iter::from_fn(|| matches!(frames.next(), Item::Piece { .. }).then_some(())).count()
}

/// Bytes that pack to about as many.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut out = Vec::with_capacity(length + 8);
    while out.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.extend_from_slice(&state.to_be_bytes()[..4]);
    }
    out.truncate(length);
    out
}

fn pack(data: &[u8], level: i32, checked: bool) -> Vec<u8> {
    let mut out = zstd::stream::write::Encoder::new(Vec::new(), level).unwrap();
    out.include_checksum(checked).unwrap();
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

/// What pzstd writes between frames, and seekable files at their end.
fn skippable(length: u32) -> Vec<u8> {
    [&0x184d_2a5e_u32.to_le_bytes()[..], &length.to_le_bytes(), &vec![7; length as usize]].concat()
}

#[test]
fn every_frame_is_found() {
    let data: Vec<Vec<u8>> = (0..5).map(|n| noise(n, 1_500_000)).collect();
    let packed: Vec<u8> = data.iter().flat_map(|d| [skippable(4), pack(d, 1, true)].concat()).collect();
    assert_eq!(pieces(&packed), 5);
    assert!(side_by_side(&packed) == (data.concat(), None));
    let many: Vec<u8> = (0..30_000).flat_map(|n| pack(&[n as u8; 10], 1, false)).collect();
    assert!(side_by_side(&many) == plain(&many));
    assert!(pieces(&many) <= 1);
}

#[test]
fn what_is_one_threads() {
    // one frame; frames that are too large, or reach back too far, or unpack to too much
    assert_eq!(pieces(&pack(&noise(1, 2 << 20), 1, true)), 0);
    let small = pack(&noise(2, 2 << 20), 1, true);
    let large = [small.clone(), pack(&noise(3, LONGEST + 1), 1, true)].concat();
    assert_eq!(pieces(&large), 1);
    assert!(side_by_side(&large) == plain(&large));
    let mut wide = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(27).unwrap();
    wide.write_all(&vec![1; 60 << 20]).unwrap();
    let wide = [small.clone(), wide.finish().unwrap(), small].concat();
    assert!(side_by_side(&wide) == plain(&wide));
}

#[test]
fn what_is_told_of_what_follows() {
    let whole = [pack(&noise(4, 2 << 20), 1, true), pack(b"text", 1, true), skippable(3)].concat();
    for tail in
        [&b"r"[..], b"rub", b"rubbish, more than a head", b"\0\0\0\0", b"\x28\xb5\x2f\xfd", b"\x5e\x2a\x4d\x18\xff"]
    {
        let all = [&whole, tail].concat();
        assert!(side_by_side(&all) == plain(&all), "{tail:?}: {:?} {:?}", side_by_side(&all).1, plain(&all).1);
        assert!(side_by_side(tail) == plain(tail), "{tail:?} alone");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn as_the_plain_decoder(
        parts in prop::collection::vec((any::<u64>(), 0..900_000usize, any::<bool>(), 1..4i32), 1..7),
        damage in prop::option::of((any::<prop::sample::Index>(), 0..8u8)),
        cut in prop::option::of(any::<prop::sample::Index>()),
        tail in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let one = |(seed, n, checked, level): &(u64, usize, bool, i32)| match seed % 5 {
            0 => skippable(*n as u32 / 9),
            1 => pack(&vec![*seed as u8; *n * 9], *level, *checked),
            _ => pack(&noise(*seed, *n), *level, *checked),
        };
        let mut packed: Vec<u8> = parts.iter().flat_map(one).collect();
        spoil(&mut packed, damage, cut, &tail);
        prop_assert!(side_by_side(&packed) == plain(&packed));
    }
}
