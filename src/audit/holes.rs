//! What the phases called and this machine could not do: which files it may have written, and which verdicts that leaves open.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::edits::{Judged, Scene};
use crate::edit::outcome::{self, union};
use crate::phase::lacking;
use crate::phase::notes::Note;
use crate::phase::trace::{Bytes, Ended, Record, State, Stream};
use crate::report::model::{Cause, EditKind, Verdict};

/// Something that was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    name: String,
    /// By the trace's clock; none where that is not known, and all edits may have come after it.
    moment: Option<u64>,
    cwd: PathBuf,
    reach: Reach,
    /// A function that stands for tools, and knows that they are not here.
    stub: bool,
}

/// Which files it may have written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reach {
    /// Those of these names, below its folder.
    Names(Family),
    /// Any that is not there, and of the others these and what is below them.
    Paths(Vec<PathBuf>),
    /// These and what is below them.
    Only(Vec<PathBuf>),
    /// Any that is not there.
    New,
}

/// All of a job's holes, in order of time. `tail`: the end of what the phases printed.
pub fn holes(notes: &[Note], tail: &[u8]) -> Vec<Hole> {
    let mut found: Vec<Hole> = Vec::new();
    for note in notes {
        let hole = match note.kind.as_str() {
            "stubbed" => stubbed(note),
            "missing" => missing(note),
            _ => None,
        };
        found.extend(hole.filter(|h| !found.contains(h)));
    }
    for name in lacking::named(tail) {
        if !found.iter().any(|h| h.name == name) {
            let reach = if is_autotool(&name) { Reach::Names(Family::Autotools) } else { Reach::New };
            found.push(Hole { name, moment: None, cwd: PathBuf::from("/"), reach, stub: false });
        }
    }
    found
}

fn stubbed(note: &Note) -> Option<Hole> {
    let name = String::from_utf8_lossy(&note.text).into_owned();
    let reach = match name.as_str() {
        "elibtoolize" | "_elibtoolize" => Reach::Names(Family::Libtool),
        "gnuconfig_update" | "gnuconfig_do_update" => Reach::Names(Family::Gnuconfig),
        // they answer with a value
        _ if name.starts_with("cuda_") => Reach::Only(Vec::new()),
        _ => Reach::Names(Family::Autotools),
    };
    Some(Hole { name, moment: note.moment, cwd: note.cwd.clone(), reach, stub: true })
}

fn missing(note: &Note) -> Option<Hole> {
    let mut words = note.text.split(|b| *b == 0x1f);
    let (read, name) = (words.next()? == b"read", String::from_utf8_lossy(words.next()?).into_owned());
    let words: Vec<&[u8]> = words.filter(|w| !w.is_empty()).collect();
    let asks = |w: &&[u8]| matches!(*w, b"--version" | b"--help" | b"-V" | b"-h" | b"-v");
    // a value that is empty names nothing
    let named = words.iter().filter(|w| !w.ends_with(b"=") && (!w.starts_with(b"-") || w.contains(&b'=')));
    let path = |w: &&[u8]| {
        let path = w.rsplit(|b| *b == b'=').next().unwrap_or_default();
        note.cwd.join(OsStr::from_bytes(path.strip_prefix(b"./").unwrap_or(path)))
    };
    let mut paths: Vec<PathBuf> = named.map(path).collect();
    let reach = if is_autotool(&name) {
        Reach::Names(Family::Autotools)
    } else if read || words.iter().any(asks) {
        Reach::Only(paths)
    } else {
        if paths.is_empty() {
            paths.push(note.cwd.clone());
        }
        Reach::Paths(paths)
    };
    Some(Hole { name, moment: note.moment, cwd: note.cwd.clone(), reach, stub: false })
}

fn is_autotool(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "aclocal",
        "autoconf",
        "autogen.sh",
        "autoheader",
        "autom4te",
        "automake",
        "autopoint",
        "autoreconf",
        "gettextize",
        "glib-gettextize",
        "glibtoolize",
        "gnome-autogen.sh",
        "gtkdocize",
        "intltoolize",
        "libtoolize",
    ];
    NAMES.contains(&name)
}

/// Files that go by their names alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Autotools,
    Libtool,
    Gnuconfig,
}

impl Family {
    fn has(self, name: &str) -> bool {
        match self {
            Family::Gnuconfig => matches!(name, "config.guess" | "config.sub"),
            Family::Libtool => matches!(name, "ltmain.sh" | "ltconfig" | "configure" | "aclocal.m4" | "install-sh"),
            Family::Autotools => {
                OF_AUTOTOOLS.contains(&name)
                    || Family::Libtool.has(name)
                    || Family::Gnuconfig.has(name)
                    || name.ends_with("h.in")
                    || name.ends_with(".hin")
                    || name.starts_with("lt") && name.ends_with(".m4")
                    || name.starts_with("intltool-") && name.ends_with(".in")
            }
        }
    }
}

const OF_AUTOTOOLS: &[&str] = &[
    "Makefile.in",
    "Makefile.in.in",
    "Makevars.template",
    "ar-lib",
    "compile",
    "config.rpath",
    "depcomp",
    "gtk-doc.make",
    "libtool.m4",
    "mdate-sh",
    "missing",
    "mkinstalldirs",
    "py-compile",
    "test-driver",
    "texinfo.tex",
    "ylwrap",
];

impl Hole {
    pub fn remark(&self) -> String {
        match self.stub {
            true => format!("{} was not run: its tools are not here", self.name),
            false => format!("{} was called and is not here", self.name),
        }
    }

    /// What may be said of a phase that died later, the last line of whose output is `last`.
    pub fn of_death(&self, last: &str) -> Option<String> {
        let not_found = ["No such file", "cannot stat", "not found", "cannot access"].iter().any(|t| last.contains(t));
        let by_name = |family: Family| {
            last.split(|c: char| c.is_whitespace() || "'‘’\":/".contains(c)).any(|word| family.has(word))
        };
        let fits = match &self.reach {
            Reach::Names(family) => by_name(*family) || last.contains(&self.name),
            Reach::Paths(_) | Reach::New => true,
            Reach::Only(_) => last.contains(&self.name),
        };
        (not_found && fits).then(|| self.remark())
    }

    fn came_before(&self, record: &Record) -> bool {
        self.moment.is_none_or(|moment| moment <= record.start)
    }

    /// Whether it may have written a file that was in this state when it was to be edited.
    fn may_write(&self, path: &Path, state: &State) -> bool {
        let below = |paths: &[PathBuf]| paths.iter().any(|p| path.starts_with(p));
        let is_new = matches!(state, State::Missing | State::File { size: 0, .. });
        match &self.reach {
            Reach::Names(family) => {
                path.starts_with(&self.cwd) && path.file_name().is_some_and(|n| family.has(&n.to_string_lossy()))
            }
            Reach::Paths(paths) => is_new || below(paths),
            Reach::Only(paths) => below(paths),
            Reach::New => is_new,
        }
    }

    /// Whether it may be for its want that a call of these words was given no file.
    fn may_name(&self, words: &[String]) -> bool {
        match &self.reach {
            Reach::Names(family) => {
                let mut names = words.iter().flat_map(|w| w.split(|c: char| c.is_whitespace() || "'\"/".contains(c)));
                names.any(|name| family.has(name))
            }
            Reach::Paths(_) | Reach::New => true,
            Reach::Only(_) => false,
        }
    }
}

/// Why a removal that this run has shown to be right may be wrong elsewhere.
pub fn doubt(holes: &[Hole]) -> Option<String> {
    holes.iter().find(|h| !h.stub).map(Hole::remark)
}

/// Takes back what was said of edits that may have found their text, or their file, had all been done before them.
pub fn mark(edits: &mut [Judged], holes: &[Hole], scene: &Scene, lines: &[&str]) {
    let judged = edits.iter_mut().filter(|j| j.edit.kind != EditKind::Patch && j.place.is_some());
    for judged in judged.filter(|_| !holes.is_empty()) {
        let open = open(judged, holes, scene, lines);
        leave_open(judged, &open);
    }
}

/// The files of an edit that something may have written which was not done, each with that; under no name what it was to
/// be given.
fn open<'a>(judged: &Judged, holes: &'a [Hole], scene: &Scene, lines: &[&str]) -> BTreeMap<String, &'a Hole> {
    let mut open = BTreeMap::new();
    let Some(place) = &judged.place else { return open };
    for (record, call) in place.records.iter().zip(&judged.calls).filter(|(r, _)| r.ended == Ended::Itself) {
        let hole = |path: &Bytes, state: &State| {
            let path = scene.names.normal(outcome::path(path));
            holes.iter().find(|h| h.came_before(record) && h.may_write(&path, state))
        };
        let named = record.targets.iter().map(|t| (&t.path, &t.before));
        let read = match &record.stdin {
            Stream::File { path, contents } => Some((path, contents)),
            _ => None,
        };
        for (path, state) in named.chain(read) {
            let Some(hole) = hole(path, state) else { continue };
            open.insert(scene.names.show(outcome::path(path)), hole);
            // of `sed in > out` the edit names the output
            let outputs = call.files.iter().filter(|f| f.target.is_none());
            open.extend(outputs.map(|f| (scene.names.show(outcome::path(&f.path)), hole)));
        }
    }
    if judged.edit.targets.is_empty() && judged.edit.verdict == Verdict::Dead {
        let origin = &judged.edit.origin;
        let own = (origin.line.saturating_sub(1) as usize..origin.end_line as usize).filter_map(|n| lines.get(n));
        let words: Vec<String> = own.map(|l| (*l).to_owned()).collect();
        let first = &place.records[0];
        let hole = holes.iter().find(|h| h.came_before(first) && h.may_name(&words));
        open.extend(hole.map(|h| (String::new(), h)));
    }
    open
}

fn leave_open(judged: &mut Judged, open: &BTreeMap<String, &Hole>) {
    let edit = &mut judged.edit;
    let was = edit.verdict;
    // what no file could change
    let settled = |cause: Option<Cause>| matches!(cause, Some(Cause::Never | Cause::OptionOrder | Cause::BadScript));
    let mut dead = edit.commands.iter().filter(|c| c.verdict == Verdict::Dead).peekable();
    let all_settled = dead.peek().is_some() && dead.all(|c| settled(c.cause))
        || !judged.explained.is_empty() && judged.explained.iter().all(|e| settled(Some(e.cause)));
    let refused = was == Verdict::Dead && edit.exit.is_some_and(|e| e != 0);
    let Some(reason) = open.values().next().map(|h| format!("{}, and may have written its file", h.remark())) else {
        return;
    };
    for target in edit.targets.iter_mut().filter(|t| open.contains_key(&t.path)) {
        let dead = target.verdict == Verdict::Dead && !all_settled && !refused;
        if dead || target.verdict == Verdict::PathGone {
            target.verdict = Verdict::Unknown;
        }
    }
    let told = |verdict: Verdict| matches!(verdict, Verdict::Dead | Verdict::PathGone);
    for command in edit.commands.iter_mut().filter(|c| !refused && told(c.verdict) && !settled(c.cause)) {
        let files = command.targets.iter_mut().filter(|t| open.contains_key(&t.path));
        let mut dead = files.filter(|t| told(t.verdict)).peekable();
        if dead.peek().is_none() {
            continue;
        }
        dead.for_each(|t| t.verdict = Verdict::Unknown);
        (command.verdict, command.cause, command.reason) = (Verdict::Unknown, None, Some(reason.clone()));
        command.evidence.clear();
    }
    if !matches!(was, Verdict::Dead | Verdict::PathGone) {
        return;
    }
    edit.verdict =
        if edit.targets.is_empty() { Verdict::Unknown } else { union(edit.targets.iter().map(|t| t.verdict)) };
    if edit.verdict == Verdict::Unknown {
        edit.reason = Some(reason);
        judged.explained.clear();
    }
    if !edit.targets.iter().any(|t| t.verdict == Verdict::PathGone) {
        judged.moved = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: &str, text: &str) -> Note {
        Note { kind: kind.into(), text: text.into(), frames: Vec::new(), cwd: "/w/s".into(), moment: Some(7) }
    }

    /// Whether `words`, called in `/w/s`, may have written each of the files, which are there.
    fn writes(words: &str, files: &[&str]) -> Vec<bool> {
        let text = format!("done\x1f{}\x1f", words.replace(' ', "\x1f"));
        let holes = holes(&[note("missing", &text)], b"");
        let there = State::File { md5: String::new(), size: 1 };
        files.iter().map(|f| holes[0].may_write(Path::new(f), &there)).collect()
    }

    #[test]
    fn an_empty_value_names_no_folder() {
        assert_eq!(writes("make CC=gcc PREFIX=", &["/w/s/a.c", "/w/s/gcc"]), [false, true]);
    }

    #[test]
    fn autotools_write_their_own_files_where_they_run() {
        let holes = holes(&[note("stubbed", "eautoreconf"), note("stubbed", "eautoreconf")], b"");
        assert_eq!(holes.len(), 1);
        let wrote = |path: &str| holes[0].may_write(Path::new(path), &State::Missing);
        for file in ["configure", "lib/Makefile.in", "config.h.in", "build-aux/ltmain.sh", "m4/ltoptions.m4"] {
            assert!(wrote(&format!("/w/s/{file}")), "{file}");
        }
        for file in ["/w/s/configure.ac", "/w/s/Makefile.am", "/w/s/Makefile", "/w/s/src/a.c", "/w/configure"] {
            assert!(!wrote(file), "{file}");
        }
        assert_eq!(holes[0].of_death("sed: can't read configure: No such file or directory"), Some(holes[0].remark()));
        assert_eq!(holes[0].of_death("sed: can't read foo.c: No such file or directory"), None);
    }

    #[test]
    fn a_tool_writes_what_it_was_given() {
        let files = ["/w/s/a.c", "/w/s/b.c", "/w/s/src/c.c"];
        assert_eq!(writes("dos2unix a.c", &files), [true, false, false]);
        assert_eq!(writes("conv --in=b.c -w src", &files), [false, true, true]);
        assert_eq!(writes("conv -w", &files), [true; 3]);
        assert_eq!(writes("conv .", &files), [true; 3]);
        assert_eq!(writes("conv --version", &files), [false; 3]);
        assert_eq!(writes("autoreconf -fi", &["/w/s/a.c", "/w/s/configure"]), [false, true]);
    }
}
