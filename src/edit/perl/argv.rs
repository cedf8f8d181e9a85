//! The command line of perl, as far as it edits in place.

/// One perl call's words, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// `-i`
    pub in_place: bool,
    /// What names the copies; empty where there are none.
    pub suffix: Vec<u8>,
    /// `-p` prints each line, `-n` only what the script prints.
    pub prints: bool,
    pub reads: bool,
    /// The `-e` in their order.
    pub pieces: Vec<Vec<u8>>,
    /// The options that a replay needs beside `-i` and `-e`, as they stand.
    pub switches: Vec<Vec<u8>>,
    /// The files to edit: the word of argv, and the name.
    pub files: Vec<(usize, Vec<u8>)>,
    /// What the call has that no replay does.
    pub beyond: Option<String>,
}

impl Invocation {
    /// Reads `argv` (word 0 is the program's name).
    pub fn parse(argv: &[Vec<u8>]) -> Invocation {
        let mut call = Invocation::default();
        let mut at = 1;
        while let Some(word) = argv.get(at).filter(|w| w.first() == Some(&b'-') && w.len() > 1) {
            at += 1;
            if word == b"--" {
                break;
            }
            call.cluster(&word[1..], argv, &mut at);
        }
        if call.pieces.is_empty() {
            call.beyond.get_or_insert("its script is a file".to_owned());
            at += 1;
        }
        call.files = argv.iter().cloned().enumerate().skip(at).collect();
        call
    }

    fn cluster(&mut self, mut letters: &[u8], argv: &[Vec<u8>], at: &mut usize) {
        while let Some((&letter, rest)) = letters.split_first() {
            letters = rest;
            match letter {
                b'p' => self.prints = true,
                b'n' => self.reads = true,
                // the rest of the word is the backup's suffix
                b'i' => {
                    self.in_place = true;
                    self.suffix = rest.to_vec();
                    return;
                }
                b'e' | b'E' => {
                    let code = if rest.is_empty() { argv.get(*at).cloned().unwrap_or_default() } else { rest.to_vec() };
                    *at += usize::from(rest.is_empty());
                    self.pieces.push(code);
                    return;
                }
                b'0' | b'l' => {
                    let digits = rest.iter().take_while(|b| b.is_ascii_hexdigit() || matches!(b, b'x' | b'X')).count();
                    // `-le`: a hexadecimal digit, but no digit of an octal number
                    let digits = match (letter, rest.first()) {
                        (b'0', Some(b'x' | b'X')) => digits,
                        _ => rest.iter().take_while(|b| matches!(b, b'0'..=b'7')).count(),
                    };
                    self.switches.push([b"-", &[letter], &rest[..digits]].concat());
                    letters = &rest[digits..];
                }
                b'a' | b'w' | b'W' | b'X' | b'f' | b't' | b'T' => self.switches.push(vec![b'-', letter]),
                b'C' => {
                    let digits = rest.iter().take_while(|b| b.is_ascii_digit() || b"IOEioADSLa".contains(b)).count();
                    self.switches.push([b"-C", &rest[..digits]].concat());
                    letters = &rest[digits..];
                }
                // their argument is the rest of the word
                b'I' | b'M' | b'm' | b'x' | b'F' | b'D' | b'V' | b'd' => {
                    self.beyond.get_or_insert(format!("it has the option -{}", char::from(letter)));
                    return;
                }
                _ => {
                    self.beyond.get_or_insert(format!("it has the option -{}", char::from(letter)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Invocation {
        Invocation::parse(&words.iter().map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    fn files(words: &[&str]) -> Option<Vec<usize>> {
        let call = parse(words);
        call.in_place.then(|| call.files.into_iter().map(|(i, _)| i).collect())
    }

    #[test]
    fn knows_the_files_of_perl_in_place() {
        assert_eq!(files(&["perl", "-pi", "-e", "s/a/b/", "x", "y"]), Some(vec![4, 5]));
        assert_eq!(files(&["perl", "-pi.bak", "-e", "s/a/b/", "x"]), Some(vec![4]));
        assert_eq!(files(&["perl", "-i", "-pe", "s/a/b/", "x"]), Some(vec![4]));
        assert_eq!(files(&["perl", "-i", "-pes/a/b/", "--", "-x"]), Some(vec![4]));
        assert_eq!(files(&["perl", "-i", "script.pl", "x"]), Some(vec![3]));
        assert_eq!(files(&["perl", "-ne", "print", "x"]), None);
    }

    #[test]
    fn sorts_options_and_scripts() {
        let call = parse(&["perl", "-0777", "-wpi.orig", "-le", "s/a/b/", "-e", "s/c/d/", "f"]);
        assert!(call.prints && !call.reads && call.beyond.is_none());
        assert_eq!(call.pieces, [b"s/a/b/".to_vec(), b"s/c/d/".to_vec()]);
        assert_eq!(call.switches, [b"-0777".to_vec(), b"-w".to_vec(), b"-l".to_vec()]);
        for beyond in [&["perl", "-MFoo", "-pi", "-e", "1"][..], &["perl", "-i", "x.pl"], &["perl", "-spie", "1"]] {
            assert!(parse(beyond).beyond.is_some(), "{beyond:?}");
        }
    }
}
