use super::*;

/// Pieces of a made-up file: what one thread decodes, and what the guess at it gives.
#[derive(Clone, Default)]
struct Guesses {
    /// By stream and piece; a guess that is none is found to be wrong.
    pieces: VecDeque<(u64, Option<Vec<u8>>)>,
    /// Whether something stands behind them that can't be told.
    odd: bool,
    truth: Vec<(u64, Vec<u8>)>,
    fault: bool,
}

struct Guess(Option<Vec<u8>>);

impl Job for Guess {
    fn run(self, out: &mut Out) -> Option<()> {
        let bytes = self.0?;
        bytes.chunks(1000).try_for_each(|chunk| out.push(chunk.to_vec()))
    }
}

struct Fails;

impl Read for Fails {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("broken"))
    }
}

impl Split for Guesses {
    type Job = Guess;

    fn next(&mut self) -> Item<Guess> {
        match self.pieces.pop_front() {
            Some((stream, guess)) => Item::Piece { stream, job: Guess(guess) },
            None if self.odd => Item::Odd { stream: self.truth.last().unwrap().0 },
            None => Item::End { remark: Some("the end") },
        }
    }

    fn alone(self, stream: u64) -> io::Result<Box<dyn Read + Send>> {
        let rest = self.truth.into_iter().filter(|(at, _)| *at >= stream);
        let plain = io::Cursor::new(rest.flat_map(|(_, bytes)| bytes).collect::<Vec<u8>>());
        Ok(if self.fault { Box::new(plain.chain(Fails)) } else { Box::new(plain) })
    }
}

fn piece(n: usize) -> Vec<u8> {
    (0..n * 3000).map(|i| (i * (n + 1)) as u8).collect()
}

/// Two streams of pieces, all guessed right.
fn right() -> Guesses {
    let all: Vec<(u64, Vec<u8>)> = (0..20).map(|n| (if n < 13 { 0 } else { 100 }, piece(n))).collect();
    Guesses { pieces: all.iter().map(|(at, p)| (*at, Some(p.clone()))).collect(), truth: all, ..Guesses::default() }
}

fn read(guesses: Guesses) -> (Vec<u8>, Option<String>, Vec<String>) {
    let (mut out, remarks) = (Vec::new(), Remarks::default());
    let end = Lanes::new(guesses, None, remarks.clone()).read_to_end(&mut out);
    (out, end.err().map(|e| e.to_string()), remarks.take())
}

#[test]
fn in_their_order() {
    let whole: Vec<u8> = (0..20).flat_map(piece).collect();
    assert!(read(right()) == (whole, None, vec!["the end".to_owned()]));
}

#[test]
fn whatever_is_guessed_the_truth_is_read() {
    let whole: Vec<u8> = (0..20).flat_map(piece).collect();
    for wrong in 0..20 {
        let mut guesses = right();
        guesses.pieces[wrong].1 = None;
        assert!(read(guesses.clone()) == (whole.clone(), None, Vec::new()), "{wrong}");
        guesses.fault = true;
        assert!(read(guesses) == (whole.clone(), Some("broken".to_owned()), Vec::new()), "{wrong}");
    }
    let odd = Guesses { odd: true, ..right() };
    assert!(read(odd) == (whole, None, Vec::new()));
    // a piece that gives more than one may keep is one thread's
    let large = vec![7; MOST + 1];
    let mut guesses = right();
    guesses.pieces[3].1 = Some(large.clone());
    guesses.truth[3].1 = large.clone();
    let expected: Vec<u8> = (0..20).flat_map(|n| if n == 3 { large.clone() } else { piece(n) }).collect();
    assert!(read(guesses) == (expected, None, Vec::new()));
}

#[test]
fn pieces_wait_for_their_turn_and_may_be_left_early() {
    // each is more than may be kept ahead, not more than may be kept
    let large = vec![7; AHEAD / 2];
    let all: Vec<(u64, Vec<u8>)> = (0..6).map(|n| (n, large.clone())).collect();
    let pieces = all.iter().map(|(at, p)| (*at, Some(p.clone()))).collect();
    let guesses = Guesses { pieces, truth: all, ..Guesses::default() };
    let mut lanes = Lanes::new(guesses, None, Remarks::default());
    let mut some = vec![0; AHEAD];
    lanes.read_exact(&mut some).unwrap();
    assert!(some.iter().all(|b| *b == 7));
}

#[test]
fn one_at_a_time() {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let turn = Turn::of(&TAKEN);
    assert_eq!(turn.is_some(), cores() > 1);
    assert!(Turn::of(&TAKEN).is_none());
    drop(turn);
    assert_eq!(Turn::of(&TAKEN).is_some(), cores() > 1);
}
