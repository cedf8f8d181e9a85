//! From the shell's stack to a place in the text: which command of which file made a call.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::asked;
use super::inventory::{Call, Inventory, unquoted};
use crate::gentoo::within::Within;
use crate::phase::stack::Frame;
use crate::phase::trace::Bytes;
use crate::report::model::{By, EditKind, Origin};

/// A bash text that the phase runs.
#[derive(Debug)]
pub struct Source {
    /// Relative to its repository.
    pub origin: String,
    pub by: By,
    pub inventory: Inventory,
}

/// The ebuild's text and those of its eclasses, read when they are first needed.
#[derive(Debug)]
pub struct Sources {
    ebuild: (PathBuf, Rc<Source>),
    eclass_dirs: Vec<PathBuf>,
    prelude: PathBuf,
    eclasses: BTreeMap<PathBuf, Rc<Source>>,
}

/// Where an edit stands.
#[derive(Clone, Debug)]
pub struct Site {
    pub source: Rc<Source>,
    pub origin: Origin,
    /// Index into the inventory's calls; none where no command of that tool stands there.
    pub call: Option<usize>,
}

impl Site {
    pub fn call(&self) -> Option<&Call> {
        self.source.inventory.calls.get(self.call?)
    }

    /// What makes two traced calls calls of one place.
    pub fn key(&self) -> (String, u32, u32, Option<usize>) {
        (self.origin.file.clone(), self.origin.line, self.origin.end_line, self.call)
    }
}

impl Sources {
    /// `origin` is the ebuild's path in its repository, `text` its text.
    pub fn new(ebuild: &Path, origin: &str, text: &str, eclass_dirs: Vec<PathBuf>, prelude: PathBuf) -> Sources {
        let inventory = Inventory::read(text);
        let source = Rc::new(Source { origin: origin.to_owned(), by: By::Ebuild, inventory });
        Sources { ebuild: (ebuild.to_owned(), source), eclass_dirs, prelude, eclasses: BTreeMap::new() }
    }

    pub fn ebuild(&self) -> &Rc<Source> {
        &self.ebuild.1
    }

    fn source(&mut self, file: &Path) -> Option<Rc<Source>> {
        if file == self.ebuild.0 {
            return Some(Rc::clone(&self.ebuild.1));
        }
        if let Some(source) = self.eclasses.get(file) {
            return Some(Rc::clone(source));
        }
        let climbs = file.components().any(|c| c == std::path::Component::ParentDir);
        let dir = self.eclass_dirs.iter().find(|d| !climbs && file.starts_with(d))?;
        // what calls itself a frame of an eclass may be a forged record, and the eclass a link
        let text = Within::root(dir).read(file).ok()??;
        let origin = Path::new("eclass").join(file.strip_prefix(dir).ok()?).to_string_lossy().into_owned();
        let source = Rc::new(Source { origin, by: By::Eclass, inventory: Inventory::read(&text) });
        self.eclasses.insert(file.to_owned(), Rc::clone(&source));
        Some(source)
    }

    /// The command at `frame` that runs a function.
    pub fn call_of(&mut self, frame: &Frame, function: &str) -> Option<Call> {
        let source = self.source(&frame.file)?;
        let at = |call: &Call| call.line <= frame.line && frame.line <= call.end_line;
        let index = smallest(&source.inventory, |call| at(call) && asked::runs(call, function))?;
        source.inventory.calls.get(index).cloned()
    }

    /// The lines of the PATCHES entry (of the ebuild) that names this file.
    pub fn patches_entry(&self, path: &str) -> Option<(u32, u32)> {
        let name = path.rsplit('/').next()?;
        let inventory = &self.ebuild.1.inventory;
        let entries = inventory.assignments.iter().filter(|a| a.name == "PATCHES").flat_map(|a| &a.elements);
        let mut found = None;
        for entry in entries {
            let text = unquoted(&entry.text);
            let last = text.rsplit('/').next().unwrap_or_default();
            // an entry may be the folder of the patch
            let folder = path.rsplit('/').nth(1).is_some_and(|f| f == last && f != "files");
            if last == name || folder {
                return Some((entry.line, entry.end_line));
            }
            // `${P}-fix.patch`: what follows the variables must agree
            let tail = last.rsplit('}').next().unwrap_or_default();
            if last.contains('$') && !tail.is_empty() && name.ends_with(tail) {
                found = Some((entry.line, entry.end_line));
            }
        }
        found
    }

    /// The place of the PATCHES entry that `default` applied.
    pub fn patches_site(&mut self, path: &str) -> Option<Site> {
        let (line, end_line) = self.patches_entry(path)?;
        let source = Rc::clone(&self.ebuild.1);
        let origin = Origin { file: source.origin.clone(), line, end_line, function: "default_src_prepare".to_owned() };
        Some(Site { source, origin, call: None })
    }

    /// The place that called `tool`, with these frames on the stack (innermost first).
    ///
    /// The innermost frame whose line has a command of the tool; a function that only runs its arguments (`edo`,
    /// `nonfatal`, a wrapper of the ebuild) is passed by. Where no frame has one (the command's name came out of a
    /// variable or `eval`), the innermost frame of the ebuild or an eclass.
    pub fn site(&mut self, frames: &[Frame], tool: EditKind, argv: &[Bytes]) -> Option<Site> {
        let (mut own, mut fallback) = (None, None);
        let prelude = self.prelude.clone();
        for frame in frames.iter().filter(|f| !f.file.starts_with(&prelude)) {
            let Some(source) = self.source(&frame.file) else { continue };
            let at = |call: &Call| call.line <= frame.line && frame.line <= call.end_line;
            let here = |call: &Call| call.function.is_none() || call.function.as_deref() == Some(&frame.function);
            let found = alike(&source.inventory, argv, |c| c.tool == Some(tool) && at(c));
            // inside `<( )` and some `$( )` bash counts lines anew: the function is right, the line is not
            let found = found.or_else(|| {
                let any = smallest(&source.inventory, |c| at(c) && here(c)).is_some();
                let within = |c: &Call| c.tool == Some(tool) && c.function.as_deref() == Some(&frame.function);
                let mut candidates = source.inventory.calls.iter().enumerate().filter(|(_, c)| within(c));
                match (any, candidates.next(), candidates.next()) {
                    (false, Some((only, _)), None) => Some(only),
                    _ => None,
                }
            });
            if let Some(index) = found {
                // a function of the tool's own name stands for it: what called that is the edit
                if !named_as_tool(&frame.function, tool) {
                    return Some(site(source, frame, Some(index)));
                }
                own.get_or_insert_with(|| site(source.clone(), frame, Some(index)));
                continue;
            }
            if fallback.is_none() {
                let call = smallest(&source.inventory, |c| at(c) && here(c));
                fallback = Some(site(source, frame, call));
            }
        }
        own.or(fallback)
    }
}

/// Whether a function has the name of the tool, so that its callers read as calls of the tool.
pub fn named_as_tool(function: &str, tool: EditKind) -> bool {
    let name = function.rsplit('/').next().unwrap_or_default();
    match tool {
        EditKind::Sed => matches!(name, "sed" | "gsed"),
        EditKind::Perl => name == "perl",
        _ => false,
    }
}

/// Of several commands on a line the one that shares most words with the traced call.
fn alike(inventory: &Inventory, argv: &[Bytes], fits: impl Fn(&Call) -> bool) -> Option<usize> {
    let shared = |call: &Call| {
        let words: Vec<String> = call.words.iter().map(|w| unquoted(&w.text)).collect();
        let is_there = |word: &&Bytes| words.iter().any(|w| w.as_bytes() == word.0.as_slice());
        argv.iter().skip(1).filter(is_there).count()
    };
    let fitting = inventory.calls.iter().enumerate().filter(|(_, c)| fits(c));
    fitting.min_by_key(|(_, c)| (std::cmp::Reverse(shared(c)), c.span.len())).map(|(i, _)| i)
}

fn smallest(inventory: &Inventory, fits: impl Fn(&Call) -> bool) -> Option<usize> {
    let fitting = inventory.calls.iter().enumerate().filter(|(_, c)| fits(c));
    fitting.min_by_key(|(_, c)| c.span.len()).map(|(i, _)| i)
}

fn site(source: Rc<Source>, frame: &Frame, call: Option<usize>) -> Site {
    let lines = call.and_then(|i| source.inventory.calls.get(i)).map(|c| (c.line, c.end_line));
    let (line, end_line) = lines.unwrap_or((frame.line, frame.line));
    let origin = Origin { file: source.origin.clone(), line, end_line, function: frame.function.clone() };
    Site { source, origin, call }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"quiet() {
	"$@"
}
src_prepare() {
	quiet sed -i -e 's/a/b/' \
		f
	local cmd=sed
	${cmd} -i s/x/y/ f
	while read -r x; do :; done < <(
		find . | xargs sed -n p
	)
}
"#;

    fn frames(lines: &[(u32, &str)]) -> Vec<Frame> {
        let frame = |(line, function): &(u32, &str)| Frame {
            file: "/r/a/b/b-1.ebuild".into(),
            line: *line,
            function: (*function).to_owned(),
        };
        lines.iter().map(frame).collect()
    }

    #[test]
    fn a_function_named_sed_is_passed_by() {
        let text = "sed() { command sed \"$@\"; }\nsrc_prepare() {\n\tsed -i s/a/b/ f\n\t${x} s/a/b/ f\n}\n";
        let path = Path::new("/r/a/b/b-1.ebuild");
        let mut sources = Sources::new(path, "a/b/b-1.ebuild", text, vec![], "/p".into());
        let mut line = |stack: &[(u32, &str)]| sources.site(&frames(stack), EditKind::Sed, &[]).unwrap().origin.line;
        assert_eq!(line(&[(1, "sed"), (3, "src_prepare")]), 3);
        assert_eq!(line(&[(1, "sed"), (4, "src_prepare")]), 1, "nothing there reads as a sed");
    }

    #[test]
    fn finds_the_command_behind_wrappers_variables_and_substitutions() {
        let path = Path::new("/r/a/b/b-1.ebuild");
        let mut sources = Sources::new(path, "a/b/b-1.ebuild", TEXT, vec![], "/p".into());
        let mut lines = |stack: &[(u32, &str)]| {
            let site = sources.site(&frames(stack), EditKind::Sed, &[]).unwrap();
            (site.origin.line, site.origin.end_line)
        };
        assert_eq!(lines(&[(2, "quiet"), (5, "src_prepare")]), (5, 6));
        assert_eq!(lines(&[(8, "src_prepare")]), (8, 8));
        assert_eq!(lines(&[(10, "src_prepare")]), (10, 10));
    }
}
