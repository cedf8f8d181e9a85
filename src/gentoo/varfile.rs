//! The shell-like files of variables: make.conf, make.globals, make.defaults.
//!
//! Portage reads them with its own little parser (portage.util.getconfig), not with a shell; what
//! that one does is done here, its treatment of quotes included.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::text::{self, ReadError};
use super::within::Within;

/// Why a file of variables can't be used.
#[derive(Debug, thiserror::Error)]
pub enum VarFileError {
    #[error("{}:{line}: a quotation mark is never closed", path.display())]
    Unclosed { path: PathBuf, line: usize },
    #[error("{}:{line}: expected `=` after `{key}`, found {found}", path.display())]
    NoEquals { path: PathBuf, line: usize, key: String, found: String },
    #[error("{}:{line}: `{key}` is no variable's name", path.display())]
    BadName { path: PathBuf, line: usize, key: String },
    #[error("{}:{line}: the sourced file {} is not there", path.display(), file.display())]
    NoSource { path: PathBuf, line: usize, file: PathBuf },
    #[error("{}:{line}: files source each other without end", path.display())]
    Endless { path: PathBuf, line: usize },
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl VarFileError {
    /// The file, and the line if it is one that is wrong.
    pub fn place(&self) -> (&Path, Option<usize>) {
        match self {
            VarFileError::Unclosed { path, line }
            | VarFileError::NoEquals { path, line, .. }
            | VarFileError::BadName { path, line, .. }
            | VarFileError::NoSource { path, line, .. }
            | VarFileError::Endless { path, line } => (path, Some(*line)),
            VarFileError::Read(error) => (&error.path, None),
        }
    }
}

/// Variables in the order of their names.
pub type Variables = BTreeMap<String, String>;

/// Reads a file of variables, or all files of a directory one after the other.
///
/// `known` are the values that `${NAME}` stands for; it learns what the file sets. With `sourcing`
/// (make.conf) `source FILE` is followed. `None` where there is no such file.
pub fn read(
    path: &Path,
    known: &mut Variables,
    sourcing: bool,
    within: &Within,
) -> Result<Option<Variables>, VarFileError> {
    let files = within.files(path)?;
    if files.is_empty() {
        return Ok(None);
    }
    let mut set = Variables::new();
    for file in files {
        if let Some(text) = within.read(&file)? {
            parse_into(&text, &file, known, sourcing, 0, &mut set)?;
        }
    }
    Ok(Some(set))
}

/// [`read`] that keeps what stands before an error, file by file; the errors are handed to `complain`.
pub fn read_sound(
    path: &Path,
    known: &mut Variables,
    sourcing: bool,
    complain: &mut dyn FnMut(VarFileError),
) -> Variables {
    let mut set = Variables::new();
    for file in text::files(path).map_err(|error| complain(error.into())).unwrap_or_default() {
        match text::read(&file) {
            Ok(Some(text)) => {
                if let Err(error) = parse_into(&text, &file, known, sourcing, 0, &mut set) {
                    complain(error);
                }
            }
            Ok(None) => {}
            Err(error) => complain(error.into()),
        }
    }
    set
}

/// [`read`] for a text that stands in no file; `path` is only named in errors.
pub fn parse(text: &str, path: &Path, known: &mut Variables) -> Result<Variables, VarFileError> {
    let mut set = Variables::new();
    parse_into(text, path, known, false, 0, &mut set)?;
    Ok(set)
}

const MAX_SOURCES: usize = 32;

fn parse_into(
    text: &str,
    path: &Path,
    known: &mut Variables,
    sourcing: bool,
    depth: usize,
    set: &mut Variables,
) -> Result<(), VarFileError> {
    let owned = || path.to_owned();
    let mut lexer = Lexer { rest: text, line: 1 };
    let unclosed = |line| VarFileError::Unclosed { path: owned(), line };
    loop {
        let Some(mut key) = lexer.token().map_err(unclosed)? else {
            return Ok(());
        };
        if key == "export" {
            match lexer.token().map_err(unclosed)? {
                Some(next) => key = next,
                None => return Ok(()),
            }
        }
        let line = lexer.line;
        if sourcing && key == "source" {
            if depth >= MAX_SOURCES {
                return Err(VarFileError::Endless { path: owned(), line });
            }
            let name = lexer.token().map_err(unclosed)?.unwrap_or_default();
            let name = expand(&name, known);
            let file = path.parent().unwrap_or(Path::new("/")).join(name);
            match text::read(&file)? {
                Some(text) => parse_into(&text, &file, known, true, depth + 1, set)?,
                None => {
                    return Err(VarFileError::NoSource { path: owned(), line, file });
                }
            }
            continue;
        }
        match lexer.token().map_err(unclosed)? {
            Some(equals) if equals == "=" => {}
            other => {
                let found = other.map_or("the end of the file".to_owned(), |word| format!("`{word}`"));
                return Err(VarFileError::NoEquals { path: owned(), line, key, found });
            }
        }
        let value = match lexer.line_ends() {
            // Portage would take the first word of the next line; a shell, and whoever wrote it, means nothing
            true => String::new(),
            false => lexer.token().map_err(unclosed)?.unwrap_or_default(),
        };
        if !is_name(&key) {
            return Err(VarFileError::BadName { path: owned(), line, key });
        }
        let value = expand(&value, known);
        known.insert(key.clone(), value.clone());
        set.insert(key, value);
    }
}

fn is_name(text: &str) -> bool {
    let plain = text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    plain && text.starts_with(|c: char| !c.is_ascii_digit())
}

/// Python's shlex in its POSIX mode with the characters of words that Portage sets.
struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        self.line += usize::from(c == '\n');
        Some(c)
    }

    /// Whether nothing but blanks and a remark is left of this line.
    fn line_ends(&self) -> bool {
        let rest = self.rest.trim_start_matches([' ', '\t', '\r']);
        rest.is_empty() || rest.starts_with(['\n', '#'])
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|c| c != '\n') {}
    }

    /// The next word or single sign, `None` at the end; the line of a quotation mark that is never closed is the error.
    fn token(&mut self) -> Result<Option<String>, usize> {
        let mut token: Option<String> = None;
        while let Some(c) = self.rest.chars().next() {
            match c {
                ' ' | '\t' | '\r' | '\n' => {
                    if token.is_some() {
                        break;
                    }
                    self.next();
                }
                '#' => {
                    self.skip_line();
                    if token.is_some() {
                        break;
                    }
                }
                '\\' => {
                    self.next();
                    // at the very end Portage has added a line break
                    let escaped = self.next().unwrap_or('\n');
                    token.get_or_insert_default().push(escaped);
                }
                '\'' | '"' => self.quoted(token.get_or_insert_default())?,
                c if is_word(c) => {
                    self.next();
                    token.get_or_insert_default().push(c);
                }
                c => {
                    if token.is_none() {
                        self.next();
                        return Ok(Some(c.to_string()));
                    }
                    break;
                }
            }
        }
        Ok(token)
    }

    fn quoted(&mut self, token: &mut String) -> Result<(), usize> {
        let begin = self.line;
        let quote = self.next();
        while let Some(c) = self.next() {
            if Some(c) == quote {
                return Ok(());
            }
            if c == '\\' && quote == Some('"') {
                let Some(escaped) = self.next() else { break };
                if escaped != '\\' && escaped != '"' {
                    token.push('\\');
                }
                token.push(escaped);
            } else {
                token.push(c);
            }
        }
        Err(begin)
    }
}

fn is_word(c: char) -> bool {
    // Portage's list is ASCII only; a letter beyond it would there be a token of its own
    c.is_ascii_alphanumeric() || "~!@%*_:;?,./-+{}$".contains(c) || !c.is_ascii()
}

/// Replaces `$NAME` and `${NAME}`; unknown names stand for nothing. What has no closing brace or is no
/// plain name makes the whole value empty (portage.util.varexpand).
pub fn expand(value: &str, known: &Variables) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    // quotation marks that the lexer left are text, but they still switch expansion off
    let (mut single, mut double) = (false, false);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\'' => {
                single ^= !double;
                out.push(c);
            }
            '"' => {
                double ^= !single;
                out.push(c);
            }
            _ if single => out.push(c),
            '\n' => out.push(' '),
            '\\' => match rest.chars().next() {
                None => out.push('\\'),
                Some(escaped) => {
                    rest = &rest[escaped.len_utf8()..];
                    match escaped {
                        '$' => out.push('$'),
                        '\\' => {
                            out.push('\\');
                            if let Some(next @ ('\'' | '"' | '$')) = rest.chars().next() {
                                out.push(next);
                                rest = &rest[1..];
                            }
                        }
                        '\n' => {}
                        other => out.extend(['\\', other]),
                    }
                }
            },
            '$' if rest.is_empty() => out.push('$'),
            '$' => {
                let braced = rest.starts_with('{');
                let inner = if braced { &rest[1..] } else { rest };
                let length = inner.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
                let (name, after) = inner.split_at(length);
                let after = if braced { after.strip_prefix('}') } else { Some(after) };
                match after {
                    Some(after) if length > 0 => {
                        out.push_str(known.get(name).map_or("", String::as_str));
                        rest = after;
                    }
                    _ => return String::new(),
                }
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vars(text: &str) -> Variables {
        parse(text, Path::new("x"), &mut Variables::new()).unwrap()
    }

    #[test]
    fn quotes_and_expansion() {
        let set = vars(
            "# remark\nexport A=\"one\n two\" B='x'\"y\"z # more\nC=\"${A} $B ${NOT}\"\nD=\"\\${A} \\\\$A\"\nE=\nF=\"a\\\nb\"\nG=",
        );
        assert_eq!(set["A"], "one  two");
        assert_eq!(set["B"], "xyz");
        assert_eq!(set["C"], "one  two xyz ");
        assert_eq!(set["D"], "${A} $A");
        assert_eq!(set["F"], "ab");
        assert_eq!(set["G"], "");
    }

    #[test]
    fn an_empty_value_ends_with_its_line() {
        let set = vars("A=\nB=\"\" # x\nC= # y\nD=1");
        assert_eq!((set["A"].as_str(), set["B"].as_str(), set["C"].as_str(), set["D"].as_str()), ("", "", "", "1"));
    }

    #[test]
    fn errors_name_file_and_line() {
        let error = |text: &str| parse(text, Path::new("f"), &mut Variables::new()).unwrap_err().to_string();
        assert_eq!(error("A=1\nB=\"x\n\n"), "f:2: a quotation mark is never closed");
        assert_eq!(error("A=1\nB 2\n"), "f:2: expected `=` after `B`, found `2`");
        assert_eq!(error("1A=1\n"), "f:1: `1A` is no variable's name");
    }

    #[test]
    fn sources() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("make.conf");
        std::fs::write(&main, "HERE=more\nsource \"$HERE.conf\"\nUSE=\"$USE b\"\n").unwrap();
        std::fs::write(dir.path().join("more.conf"), "USE=a\n").unwrap();
        let set = read(&main, &mut Variables::new(), true, &Within::anywhere()).unwrap().unwrap();
        assert_eq!(set["USE"], "a b");
        std::fs::write(dir.path().join("more.conf"), "source make.conf\n").unwrap();
        assert!(matches!(
            read(&main, &mut Variables::new(), true, &Within::anywhere()),
            Err(VarFileError::Endless { .. })
        ));
        std::fs::remove_file(dir.path().join("more.conf")).unwrap();
        assert!(matches!(
            read(&main, &mut Variables::new(), true, &Within::anywhere()),
            Err(VarFileError::NoSource { .. })
        ));
    }

    #[test]
    fn a_sequence_for_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("1"), "A=1\nB=1\n").unwrap();
        std::fs::write(dir.path().join("2"), "A=\"$A 2\"\n").unwrap();
        let set = read(dir.path(), &mut Variables::new(), true, &Within::anywhere()).unwrap().unwrap();
        assert_eq!((set["A"].as_str(), set["B"].as_str()), ("1 2", "1"));
        assert!(read(&dir.path().join("x"), &mut Variables::new(), true, &Within::anywhere()).unwrap().is_none());
    }

    proptest! {
        #[test]
        fn never_panics(text: String) {
            let _ = parse(&text, Path::new("x"), &mut Variables::new());
            let _ = expand(&text, &Variables::new());
        }
    }
}
