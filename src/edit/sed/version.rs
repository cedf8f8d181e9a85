//! Versions of sed, as the command `v` compares them.

/// Does `v` ask for more than 4.9? Compares as glibc's `strverscmp`, leading zeros aside.
pub fn is_newer(wanted: &[u8]) -> bool {
    const OURS: &[u8] = b"4.9";
    let same = wanted.iter().zip(OURS).take_while(|(a, b)| a == b).count();
    let digits = wanted[..same].iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let run = |text: &[u8]| text[same - digits..].iter().take_while(|b| b.is_ascii_digit()).count();
    let (theirs, ours) = (run(wanted), run(OURS));
    if theirs > 0 && ours > 0 && theirs != ours {
        return theirs > ours;
    }
    wanted.get(same).copied().unwrap_or(0) > OURS.get(same).copied().unwrap_or(0)
}
