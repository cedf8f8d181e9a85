//! The md5 of several messages at once. Each block of a message needs the one before it, so that one alone can't be faster;
//! but what is done to a word of one can be done to that of sixteen with the same instructions.

/// What is known of a message between two of its blocks.
pub(super) type State = [u32; 4];

pub(super) const START: State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
/// Bytes.
pub(super) const BLOCK: usize = 64;

const LANES: usize = 16;
/// Fewer messages are done sooner one after the other.
const FEW: usize = 3;

/// A message, or a part of it, of whole blocks.
pub(super) struct Job<'a> {
    pub(super) state: State,
    pub(super) data: &'a [u8],
}

/// Takes the data of all jobs into their states.
pub(super) fn run(jobs: &mut [Job<'_>]) {
    let step = widest();
    let mut order: Vec<&mut Job<'_>> = jobs.iter_mut().collect();
    // the longest ones first, so that none is left alone at the end
    order.sort_by_key(|job| job.data.len());
    let mut lanes: Vec<&mut Job<'_>> = Vec::with_capacity(LANES);
    loop {
        lanes.retain(|job| job.data.len() >= BLOCK);
        while lanes.len() < LANES
            && let Some(job) = order.pop()
        {
            lanes.push(job);
        }
        let Some(bytes) = lanes.iter().map(|job| job.data.len() / BLOCK * BLOCK).min() else { return };
        if lanes.len() < FEW {
            lanes.iter_mut().for_each(|job| job.alone());
            continue;
        }
        // lanes that nobody wants go along with the first one, and what they give is left
        let mut states = [START; LANES];
        let mut data = [lanes[0].data; LANES];
        for (lane, job) in lanes.iter_mut().enumerate() {
            let (now, rest) = job.data.split_at(bytes);
            (states[lane], data[lane], job.data) = (job.state, now, rest);
        }
        step(&mut states, data.map(|data| &data[..bytes]));
        lanes.iter_mut().zip(states).for_each(|(job, state)| job.state = state);
    }
}

impl Job<'_> {
    fn alone(&mut self) {
        let (now, rest) = self.data.split_at(self.data.len() / BLOCK * BLOCK);
        let mut state = [self.state];
        compress(&mut state, [now]);
        (self.state, self.data) = (state[0], rest);
    }
}

/// The end of a message of `length` bytes, with what md5 puts behind it; `tail` is what is left of it, less than a block.
pub(super) fn end(tail: &[u8], length: u64) -> ([u8; 2 * BLOCK], usize) {
    let mut blocks = [0; 2 * BLOCK];
    let bytes = if tail.len() + 1 + 8 > BLOCK { 2 * BLOCK } else { BLOCK };
    blocks[..tail.len()].copy_from_slice(tail);
    blocks[tail.len()] = 0x80;
    blocks[bytes - 8..bytes].copy_from_slice(&length.wrapping_mul(8).to_le_bytes());
    (blocks, bytes)
}

pub(super) fn digest(state: State) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.chunks_exact_mut(4).zip(state).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
    digest
}

type Step = fn(&mut [State; LANES], [&[u8]; LANES]);

/// What the processor does fastest.
fn widest() -> Step {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor was asked
        return |states, data| unsafe { with_avx512(states, data) };
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was asked
        return |states, data| unsafe { with_avx2(states, data) };
    }
    by_fours
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512(states: &mut [State; LANES], data: [&[u8]; LANES]) {
    compress(states, data);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(states: &mut [State; LANES], data: [&[u8]; LANES]) {
    compress(states, data);
}

/// With the registers that any processor has more lanes would find no place.
fn by_fours(states: &mut [State; LANES], data: [&[u8]; LANES]) {
    for (states, data) in states.as_chunks_mut::<4>().0.iter_mut().zip(data.as_chunks::<4>().0) {
        compress(states, *data);
    }
}

/// RFC 1321, of data of the same length. Left to the compiler, which makes one instruction of what is done to all lanes.
#[inline(always)]
fn compress<const N: usize>(states: &mut [State; N], data: [&[u8]; N]) {
    let mut sums: [[u32; N]; 4] = std::array::from_fn(|word| each(|lane| states[lane][word]));
    let data = data.map(|data| data.as_chunks::<BLOCK>().0);
    for at in 0..data.iter().map(|blocks| blocks.len()).min().unwrap_or(0) {
        let mut words = [[0; N]; 16];
        for (lane, blocks) in data.iter().enumerate() {
            for (word, bytes) in words.iter_mut().zip(blocks[at].as_chunks::<4>().0) {
                word[lane] = u32::from_le_bytes(*bytes);
            }
        }
        let mut now = sums;
        round(&mut now, &words, 0, |i| i, |b, c, d| d ^ (b & (c ^ d)));
        round(&mut now, &words, 1, |i| 5 * i + 1, |b, c, d| c ^ (d & (b ^ c)));
        round(&mut now, &words, 2, |i| 3 * i + 5, |b, c, d| b ^ c ^ d);
        round(&mut now, &words, 3, |i| 7 * i, |b, c, d| c ^ (b | !d));
        sums = std::array::from_fn(|word| each(|lane| sums[word][lane].wrapping_add(now[word][lane])));
    }
    *states = std::array::from_fn(|lane| sums.map(|word| word[lane]));
}

#[inline(always)]
fn round<const N: usize>(
    now: &mut [[u32; N]; 4],
    words: &[[u32; N]; 16],
    number: usize,
    word: impl Fn(usize) -> usize,
    mix: impl Fn(u32, u32, u32) -> u32,
) {
    let [mut a, mut b, mut c, mut d] = *now;
    for i in 0..16 {
        let (word, sine, shift) = (&words[word(i) % 16], SINES[number * 16 + i], SHIFTS[number][i % 4]);
        let next = each(|lane| {
            let sum = a[lane].wrapping_add(mix(b[lane], c[lane], d[lane]));
            sum.wrapping_add(word[lane]).wrapping_add(sine).rotate_left(shift).wrapping_add(b[lane])
        });
        (a, b, c, d) = (d, next, b, c);
    }
    *now = [a, b, c, d];
}

/// A plain loop, which unlike `array::from_fn` always becomes one instruction.
#[inline(always)]
fn each<const N: usize>(of: impl Fn(usize) -> u32) -> [u32; N] {
    let mut all = [0; N];
    for (lane, one) in all.iter_mut().enumerate() {
        *one = of(lane);
    }
    all
}

const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The whole parts of 2^32 · |sin(i + 1)|.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sums(messages: &[Vec<u8>]) -> Vec<[u8; 16]> {
        let mut jobs: Vec<Job<'_>> = messages.iter().map(|data| Job { state: START, data }).collect();
        run(&mut jobs);
        let ends: Vec<_> = jobs.iter().zip(messages).map(|(job, all)| end(job.data, all.len() as u64)).collect();
        let states = jobs.iter().map(|job| job.state);
        let mut jobs: Vec<_> = states.zip(&ends).map(|(state, (end, n))| Job { state, data: &end[..*n] }).collect();
        run(&mut jobs);
        jobs.iter().map(|job| digest(job.state)).collect()
    }

    #[test]
    fn the_table_is_that_of_sines() {
        for (i, sine) in SINES.iter().enumerate() {
            assert_eq!(*sine, ((i as f64 + 1.0).sin().abs() * 2f64.powi(32)) as u32);
        }
    }

    #[test]
    fn every_way_is_the_same() {
        let data: Vec<Vec<u8>> =
            (0..LANES).map(|n| (0..5 * BLOCK).map(|i| (i * (n + 7) / 3) as u8).collect()).collect();
        let data: [&[u8]; LANES] = std::array::from_fn(|lane| &data[lane][..]);
        let mut one = [START; LANES];
        for (state, data) in one.iter_mut().zip(data) {
            compress(std::array::from_mut(state), [data]);
        }
        let mut ways = vec![by_fours as Step, compress::<LANES>, widest()];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was asked
            ways.push(|states, data| unsafe { with_avx2(states, data) });
        }
        for way in ways {
            let mut states = [START; LANES];
            way(&mut states, data);
            assert_eq!(states, one);
        }
    }

    proptest! {
        #[test]
        fn the_sums_are_those_of_the_plain_md5(
            sizes in prop::collection::vec(prop_oneof![0..200usize, 0..20_000usize], 0..60),
            seed: u32,
        ) {
            let byte = |n: usize, i: usize| ((n as u32 ^ seed).wrapping_mul(i as u32 | 1) >> 11) as u8;
            let messages: Vec<Vec<u8>> =
                sizes.iter().enumerate().map(|(n, size)| (0..*size).map(|i| byte(n, i)).collect()).collect();
            let plain: Vec<[u8; 16]> = messages.iter().map(|data| md5::compute(data).0).collect();
            prop_assert_eq!(sums(&messages), plain);
        }
    }
}
