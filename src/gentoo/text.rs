//! Reading the line-based configuration files that Portage and profiles share.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::within::Within;

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

/// The bytes of a file, `None` where there is no such file or a directory in its place. What else is no regular file
/// (a pipe, a device) is an error, and so are the files of /proc and one of more than 64 MiB. /dev/null, with which a
/// file is switched off, is empty.
pub fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    Within::anywhere().read_bytes(path)
}

pub(super) fn bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // asked before it is opened, which may do something to a device; and again of what was opened
    if let Some(bytes) = unread(&fs::metadata(path)?)? {
        return Ok(bytes);
    }
    // what can wait does not: some files of the kernel's are regular ones and wait for news
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if let Some(bytes) = unread(&file.metadata()?)? {
        return Ok(bytes);
    }
    if rustix::fs::fstatfs(&file)?.f_type == rustix::fs::PROC_SUPER_MAGIC {
        return Err(refusal("it is a file of /proc, put a copy in its place"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_SIZE {
        true => Err(too_large()),
        false => Ok(Some(bytes)),
    }
}

/// What is said of a file that is not to be read, none for one that is.
fn unread(meta: &fs::Metadata) -> io::Result<Option<Option<Vec<u8>>>> {
    let kind = meta.file_type();
    match kind {
        _ if kind.is_dir() => Ok(Some(None)),
        _ if kind.is_char_device() && meta.rdev() == rustix::fs::makedev(1, 3) => Ok(Some(Some(Vec::new()))),
        _ if !kind.is_file() => Err(refusal("it is no regular file")),
        _ if meta.len() > MAX_SIZE => Err(too_large()),
        _ => Ok(None),
    }
}

fn refusal(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "larger than 64 MiB")
}

pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// [`read_bytes`] as text; what is no UTF-8 becomes U+FFFD, as Portage reads these files.
pub fn read(path: &Path) -> Result<Option<String>, ReadError> {
    Within::anywhere().read(path)
}

/// The first line of a file without blanks around it, `None` where there is no file.
pub fn first_line(path: &Path) -> Result<Option<String>, ReadError> {
    Within::anywhere().first_line(path)
}

/// The lines of a file, or of all files below a directory in the order of their names, without
/// remarks (`#` to the end of the line at its start or after a blank) and empty lines, as Portage's grabfile.
pub fn lines(path: &Path) -> Result<Vec<Line>, ReadError> {
    Within::anywhere().lines(path)
}

/// [`lines`] of the files that can be read; the errors are handed to `complain`.
pub fn lines_sound(path: &Path, complain: &mut dyn FnMut(ReadError)) -> Vec<Line> {
    gather(path, &Within::anywhere(), complain)
}

pub(super) fn gather(path: &Path, within: &Within, complain: &mut dyn FnMut(ReadError)) -> Vec<Line> {
    let mut out = Vec::new();
    for file in within.files(path).map_err(&mut *complain).unwrap_or_default() {
        let text = within.read(&file).unwrap_or_else(|error| {
            complain(error);
            None
        });
        let Some(text) = text else { continue };
        for (index, line) in text.lines().enumerate() {
            let said = strip_remark(line);
            if !said.is_empty() {
                out.push(Line { path: file.clone(), number: index + 1, text: said });
            }
        }
    }
    out
}

/// The words of a line up to the first that begins with `#`, one blank between them.
fn strip_remark(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
    words.join(" ")
}

/// A file itself, or what is no directory below a directory, sorted, without hidden ones, backups (`~`) and version control.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    Within::anywhere().files(path)
}

/// The names in a directory, sorted by their bytes; none where there is no directory.
pub fn sorted_names(dir: &Path) -> Result<Vec<std::ffi::OsString>, ReadError> {
    Within::anywhere().sorted_names(dir)
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
        for path in [&*pipe, Path::new("/dev/zero")] {
            let error = lines(path).unwrap_err();
            assert_eq!(error.reason(), "it is no regular file");
            assert_eq!(error.to_string(), format!("{}: can't be read: it is no regular file", path.display()));
        }
        assert!(read_bytes(dir.path()).unwrap().is_none());
        for path in ["/proc/kmsg", "/proc/self/maps", "/proc/self/status"] {
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(path, &link).unwrap();
            let reason = read_bytes(&link).unwrap_err().reason();
            // kmsg is not everybody's
            assert!(reason.starts_with("it is a file of /proc") || path == "/proc/kmsg", "{path}: {reason}");
            fs::remove_file(&link).unwrap();
        }
        assert_eq!(read_bytes(Path::new("/dev/null")).unwrap(), Some(Vec::new()));
        let big = dir.path().join("big");
        fs::File::create(&big).unwrap().set_len(MAX_SIZE + 1).unwrap();
        assert!(read_bytes(&big).unwrap_err().to_string().ends_with("big: can't be read: larger than 64 MiB"));
    }

    #[test]
    fn one_bad_file_does_not_take_the_others_away() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("1"), "one\n").unwrap();
        std::os::unix::fs::symlink("2", dir.path().join("2")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("3")).unwrap();
        fs::write(dir.path().join("4"), "four\n").unwrap();
        let mut errors = Vec::new();
        let read = lines_sound(dir.path(), &mut |error| errors.push(error.path));
        assert_eq!(read.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["one", "four"]);
        assert_eq!(errors, [dir.path().join("2")]);
        assert_eq!(lines(dir.path()).unwrap_err().path, dir.path().join("2"));
    }

    #[test]
    fn what_is_not_there_has_no_lines() {
        assert!(lines(Path::new("/nonexistent/x")).unwrap().is_empty());
        assert!(read(Path::new("/nonexistent/x")).unwrap().is_none());
    }
}
