use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::source::testing::spoil;
use crate::source::unpack::lanes::Lanes;

/// What came, the error behind it, and the remarks.
type Told = (Vec<u8>, Option<(io::ErrorKind, String)>, Vec<String>);

fn told(mut source: impl Read, remarks: &Remarks) -> Told {
    let mut out = Vec::new();
    let end = source.read_to_end(&mut out);
    (out, end.err().map(|e| (e.kind(), e.to_string())), remarks.take())
}

fn file(packed: &[u8]) -> Tapped {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(packed).unwrap();
    file.rewind().unwrap();
    file.into()
}

fn plain(packed: &[u8]) -> Told {
    let remarks = Remarks::default();
    told(Members::new(BufReader::new(file(packed)), Bzip2Member, remarks.clone()), &remarks)
}

fn side_by_side(packed: &[u8]) -> Told {
    let remarks = Remarks::default();
    told(Lanes::new(Bzip2Blocks::new(file(packed), remarks.clone()), None, remarks.clone()), &remarks)
}

fn pack(data: &[u8], level: u32) -> Vec<u8> {
    let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

/// The pieces before what is not one.
fn pieces(packed: &[u8]) -> usize {
    let mut blocks = Bzip2Blocks::new(file(packed), Remarks::default());
    std::iter::from_fn(|| matches!(blocks.next(), Item::Piece { .. }).then_some(())).count()
}

/// Text of some sort, so that blocks end at any bit.
fn text(seed: u32, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let mut out = Vec::with_capacity(length + 300);
    while out.len() < length {
        match next() % 100 {
            0 => out.extend(std::iter::repeat_n(next() as u8, next() as usize % 300)),
            _ => out.extend_from_slice(&next().to_be_bytes()[..next() as usize % 4 + 1]),
        }
    }
    out
}

#[test]
fn every_block_is_found() {
    for (level, blocks) in [(1, 5), (3, 2)] {
        let data = text(level, 700_000);
        let packed = pack(&data, level);
        assert!(pieces(&packed) >= blocks, "{}", pieces(&packed));
        assert!(side_by_side(&packed) == (data, None, Vec::new()));
    }
    let (one, two) = (text(5, 300_000), text(6, 150_000));
    let all = [pack(&one, 1), pack(b"", 9), pack(&two, 2), pack(b"", 1)].concat();
    assert!(side_by_side(&all) == ([one, two].concat(), None, Vec::new()));
    assert!(side_by_side(&pack(b"", 5)) == (Vec::new(), None, Vec::new()));
}

#[test]
fn what_is_told_of_what_follows() {
    let packed = pack(&text(7, 250_000), 1);
    for tail in [
        &b"rubbish"[..],
        b"\0\0\0",
        b"B",
        b"BZ",
        b"BZh",
        b"BZh9",
        b"BZh0",
        b"BZh91AY&SY",
        b"Bzzzzzzzzzz",
        b"BZh5rubbish",
    ] {
        let whole = [&packed, tail].concat();
        assert!(side_by_side(&whole) == plain(&whole), "{tail:?}");
        assert!(side_by_side(tail) == plain(tail), "{tail:?} alone");
    }
}

/// Bytes whose first appearances are what the bits say: so a block says itself which bytes it has.
fn alphabet(words: [u16; 3]) -> Vec<u8> {
    let mut all = Vec::new();
    for group in 0..16u8 {
        let word = words.get(usize::from(group)).copied().unwrap_or(1);
        all.extend((0..16).filter(|bit| word >> (15 - bit) & 1 == 1).map(|bit| group * 16 + bit));
    }
    all
}

#[test]
fn a_magic_number_within_a_block_is_none() {
    for magic in [[0x3141, 0x5926, 0x5359], [0x1772, 0x4538, 0x5090]] {
        let letters = alphabet(magic);
        let mut data: Vec<u8> = text(9, 250_000).iter().map(|b| letters[usize::from(*b) % letters.len()]).collect();
        // the length of a run would be a letter, too
        data.dedup();
        let packed = pack(&data, 1);
        let window = &packed[..100];
        let first = find(window, 8 * 4 + MAGIC).unwrap();
        assert!(first < 8 * 30, "the block's own table looks like one");
        assert!(side_by_side(&packed) == (data.clone(), None, Vec::new()));
        // after blocks that are none of that sort
        let whole = [pack(&text(10, 250_000), 1), packed, pack(b"more", 1)].concat();
        assert!(side_by_side(&whole) == plain(&whole));
    }
}

#[test]
fn a_block_that_only_looks_right_with_its_end_is_none() {
    // the end's magic number ends with three bits that it begins with, too
    let job = |last: u64| {
        let mut bytes = vec![0xaa; 40];
        put(&mut bytes, 320, last, 45);
        Block { bytes, begin: 0, end: 320 + 45, level: b'9', sum: 1 }
    };
    assert!(job(END >> 3).stream().is_none());
    assert!(job(END >> 4).stream().is_some());
}

#[test]
fn many_magic_numbers_cost_no_more_than_one() {
    let mut bits = b"BZh9".to_vec();
    for n in 0..200_000 {
        put(&mut bits, 32 + n * 81, BLOCK, MAGIC);
        let end = bits.len() as u64 * 8;
        put(&mut bits, end, n & 0x7f, 7);
    }
    assert!(side_by_side(&bits) == plain(&bits));
}

#[test]
fn long_runs_are_one_threads() {
    let data = vec![b'x'; 120 << 20];
    let packed = pack(&data, 9);
    let (out, error, _) = side_by_side(&packed);
    assert!(out == data && error.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn as_the_plain_decoder(
        parts in prop::collection::vec((any::<u32>(), 0..260_000usize, 1..=9u32), 1..4),
        damage in prop::option::of((any::<prop::sample::Index>(), 0..8u8)),
        cut in prop::option::of(any::<prop::sample::Index>()),
        tail in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let mut packed: Vec<u8> = parts.iter().flat_map(|(seed, n, level)| pack(&text(*seed, *n), *level)).collect();
        spoil(&mut packed, damage, cut, &tail);
        prop_assert!(side_by_side(&packed) == plain(&packed));
    }

    #[test]
    fn found_at_every_bit(begin in 0..64u64, before in any::<[u8; 20]>(), end in any::<bool>()) {
        let mut bytes = before.to_vec();
        let magic = if end { END } else { BLOCK };
        bytes.truncate(10);
        put(&mut bytes, begin, magic, MAGIC);
        bytes.extend([0xff; 9]);
        let bits_there = |at| matches!(bits(&bytes, at, MAGIC), Some(BLOCK | END));
        prop_assert!(bits_there(begin));
        prop_assert_eq!(find(&bytes, 0), (0..=begin).find(|at| bits_there(*at)));
        prop_assert_eq!(find(&bytes, begin + 1), None);
    }
}
