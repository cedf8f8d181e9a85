//! Reading the line-based configuration files that Portage and profiles share.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file that is there and can't be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: can't be read: {source}", path.display())]
pub struct ReadError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

impl ReadError {
    /// Why, without the system's number for it.
    pub fn reason(&self) -> String {
        let text = self.source.to_string();
        match text.rsplit_once(" (os error ") {
            Some((reason, _)) => reason.to_owned(),
            None => text,
        }
    }
}

/// One line that says something, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub path: PathBuf,
    /// Counted from 1.
    pub number: usize,
    pub text: String,
}

/// The largest file that is read, in bytes; real ones stay below a twentieth of it.
const MAX_SIZE: u64 = 64 << 20;

/// The bytes of a file, `None` where there is no such file or something else in its place (a directory, a
/// pipe, a device). A file of more than 64 MiB is an error.
pub fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    let wrap = |source| ReadError { path: path.to_owned(), source };
    // asked before it is opened: opening a pipe waits for a writer
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Ok(None),
        Ok(meta) if meta.len() > MAX_SIZE => {
            let source = io::Error::new(io::ErrorKind::FileTooLarge, "larger than 64 MiB");
            return Err(wrap(source));
        }
        _ => {}
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(wrap(error)),
    }
}

/// [`read_bytes`] as text; what is no UTF-8 becomes U+FFFD, as Portage reads these files.
pub fn read(path: &Path) -> Result<Option<String>, ReadError> {
    Ok(read_bytes(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The first line of a file without blanks around it, `None` where there is no file.
pub fn first_line(path: &Path) -> Result<Option<String>, ReadError> {
    Ok(read(path)?.map(|text| text.lines().next().unwrap_or("").trim().to_owned()))
}

/// The lines of a file, or of all files below a directory in the order of their names, without
/// remarks (`#` to the end of the line at its start or after a blank) and empty lines, as Portage's grabfile.
pub fn lines(path: &Path) -> Result<Vec<Line>, ReadError> {
    let mut out = Vec::new();
    for file in files(path)? {
        let Some(text) = read(&file)? else { continue };
        for (index, line) in text.lines().enumerate() {
            let said = strip_remark(line);
            if !said.is_empty() {
                out.push(Line { path: file.clone(), number: index + 1, text: said });
            }
        }
    }
    Ok(out)
}

/// The words of a line up to the first that begins with `#`, one blank between them.
fn strip_remark(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
    words.join(" ")
}

/// The directories of version control that Portage passes over (those with a dot are hidden anyway).
const VERSION_CONTROL: [&str; 3] = ["CVS", "RCS", "SCCS"];

/// A file itself, or the files below a directory, sorted, without hidden ones, backups (`~`) and version control.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let mut out = Vec::new();
    let mut stack = vec![(path.to_owned(), 0)];
    while let Some((at, depth)) = stack.pop() {
        // a link that leads back up must not keep us here for ever
        if depth > 32 {
            continue;
        }
        match fs::metadata(&at) {
            Ok(meta) if meta.is_dir() => {
                for name in sorted_names(&at)?.into_iter().rev() {
                    let shown = name.to_string_lossy();
                    if shown.starts_with('.') || shown.ends_with('~') {
                        continue;
                    }
                    if VERSION_CONTROL.contains(&&*shown) && at.join(&name).is_dir() {
                        continue;
                    }
                    stack.push((at.join(&name), depth + 1));
                }
            }
            Ok(meta) if meta.is_file() => out.push(at),
            _ => {}
        }
    }
    Ok(out)
}

/// The names in a directory, sorted by their bytes; none where there is no directory.
pub fn sorted_names(dir: &Path) -> Result<Vec<std::ffi::OsString>, ReadError> {
    let wrap = |source| ReadError { path: dir.to_owned(), source };
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(wrap(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(wrap)?.file_name());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_reads_as_its_files_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("package.use");
        fs::create_dir_all(at.join("20")).unwrap();
        fs::write(at.join("10-b"), "one # remark\n\n# nothing\n").unwrap();
        fs::write(at.join("20/x"), b"two \xff#kept\n").unwrap();
        fs::write(at.join(".hidden"), "no\n").unwrap();
        fs::write(at.join("old~"), "no\n").unwrap();
        let read: Vec<_> = lines(&at).unwrap();
        let texts: Vec<_> = read.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["one", "two \u{fffd}#kept"]);
        assert_eq!(read[0].number, 1);
    }

    #[test]
    fn nothing_but_files_of_a_sane_size_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(read_bytes(&pipe).unwrap().is_none() && lines(&pipe).unwrap().is_empty());
        assert!(read_bytes(dir.path()).unwrap().is_none());
        let big = dir.path().join("big");
        fs::File::create(&big).unwrap().set_len(MAX_SIZE + 1).unwrap();
        assert!(read_bytes(&big).unwrap_err().to_string().ends_with("big: can't be read: larger than 64 MiB"));
    }

    #[test]
    fn what_is_not_there_has_no_lines() {
        assert!(lines(Path::new("/nonexistent/x")).unwrap().is_empty());
        assert!(read(Path::new("/nonexistent/x")).unwrap().is_none());
    }
}
