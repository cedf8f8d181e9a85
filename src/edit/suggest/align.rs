//! Which word of the text became which argument.

use super::shell::{Bound, Decoded};

/// For each argument the word that became it, by its index, and how.
pub type Laid = Vec<Option<(usize, Bound)>>;

/// For each argument the word of `words` that became it (its index) and how, as far as that is certain.
///
/// From the front up to the first word that may split, and from the back likewise. `appended`: others (xargs, find)
/// put arguments behind the last word.
pub fn align(words: &[Decoded], argv: &[Vec<u8>], appended: bool) -> Laid {
    let mut found: Laid = vec![None; argv.len()];
    let mut front = 0;
    while let (Some(word), Some(argument)) = (words.get(front), argv.get(front)) {
        // the program's own name may be another
        let bound = if word.splits { None } else { word.bind(argument) };
        match bound {
            Some(bound) => found[front] = Some((front, bound)),
            None if front == 0 => {}
            None => break,
        }
        front += 1;
    }
    if appended {
        return found;
    }
    let (mut word, mut argument) = (words.len(), argv.len());
    while word > front && argument > front {
        (word, argument) = (word - 1, argument - 1);
        let Some(bound) = Some(&words[word]).filter(|w| !w.splits).and_then(|w| w.bind(&argv[argument])) else { break };
        found[argument] = Some((word, bound));
    }
    // where as many words are left as arguments, and that is one, it did not split
    let left: Vec<usize> = (0..argv.len()).filter(|at| found[*at].is_none()).collect();
    if let [only] = left[..]
        && words.len() == argv.len()
    {
        found[only] = words[only].bind(&argv[only]).map(|bound| (only, bound));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_split_are_passed_by_from_both_ends() {
        let words: Vec<Decoded> =
            ["sed", "-i", "$opts", "-e", "'s/a/b/'", "f"].iter().map(|w| Decoded::read(w, 0)).collect();
        let argv: Vec<Vec<u8>> =
            ["sed", "-i", "-E", "-n", "-e", "s/a/b/", "f"].iter().map(|w| w.as_bytes().to_vec()).collect();
        let found: Vec<Option<usize>> = align(&words, &argv, false).into_iter().map(|f| f.map(|f| f.0)).collect();
        assert_eq!(found, [Some(0), Some(1), None, None, Some(3), Some(4), Some(5)]);
        let one: Vec<Vec<u8>> =
            ["sed", "-i", "-E", "-e", "s/a/b/", "f"].iter().map(|w| w.as_bytes().to_vec()).collect();
        assert!(align(&words, &one, false).iter().all(Option::is_some), "it did not split");
    }
}
