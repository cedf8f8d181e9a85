//! Versions of sed, as the command `v` compares them.

/// Does `v` ask for more than 4.9? Compares as glibc's `strverscmp`: a number with a zero before it is a fraction.
pub fn is_newer(wanted: &[u8]) -> bool {
    const OURS: &[u8] = b"4.9";
    let same = wanted.iter().zip(OURS).take_while(|(a, b)| a == b).count();
    let digits = wanted[..same].iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let run = |text: &[u8]| text[same - digits..].iter().take_while(|b| b.is_ascii_digit()).count();
    let (theirs, ours) = (run(wanted), run(OURS));
    let fraction = digits == 0 && wanted.get(same) == Some(&b'0');
    if theirs > 0 && ours > 0 && theirs != ours && !fraction {
        return theirs > ours;
    }
    wanted.get(same).copied().unwrap_or(0) > OURS.get(same).copied().unwrap_or(0)
}
