//! The machine's profile: which directory it is, and the directories it is made of (PMS 5.2, portage(5)).

use std::path::{Path, PathBuf};

use super::super::text::{self, Line};
use super::error::SystemError;
use super::node::NodeKind;
use super::repositories::{self, Formats, Repositories};

/// How many directories a profile may be made of; ::gentoo's deepest have fewer than a hundred.
const MAX_DIRECTORIES: usize = 4096;

/// A directory of the profile, and what holds for its files.
#[derive(Debug)]
pub(super) struct Directory {
    pub dir: PathBuf,
    pub kind: NodeKind,
}

/// The directories of the profile, parents first. One that several others have as a parent comes up again each time.
pub(super) fn directories(root: &Path, repositories: &Repositories) -> Result<Vec<Directory>, SystemError> {
    let names = ["etc/portage/make.profile", "etc/make.profile"].map(|name| root.join(name));
    let first = names.iter().find_map(|path| chosen(root, path, repositories));
    let first = first.and_then(|path| path.canonicalize().ok());
    let first = first.ok_or_else(|| SystemError::NoProfile(names[0].clone()))?;
    let mut out = Vec::new();
    let mut stack = vec![open(first)?];
    let mut opened = 1;
    while let Some(top) = stack.last_mut() {
        let Some(line) = top.parents.next() else {
            let dir = std::mem::take(&mut top.dir);
            stack.pop();
            out.push(Directory { kind: kind(&dir, repositories), dir });
            continue;
        };
        let parent = parent(root, &top.dir, &line, repositories)?;
        if stack.iter().any(|open| open.dir == parent) {
            return Err(wrong(&line, "is a parent of itself; take the line out"));
        }
        opened += 1;
        if opened > MAX_DIRECTORIES {
            return Err(wrong(&line, &format!("is the parent that makes more than {MAX_DIRECTORIES} directories")));
        }
        stack.push(open(parent)?);
    }
    Ok(out)
}

/// Where a make.profile leads. The link may be that of another machine: then its path is looked for below `root`, and
/// what follows `profiles/` in it in the repositories.
fn chosen(root: &Path, path: &Path, repositories: &Repositories) -> Option<PathBuf> {
    let Ok(target) = path.read_link() else {
        return path.is_dir().then(|| path.to_owned());
    };
    let here = match target.is_absolute() {
        true => repositories::place(root, &target),
        false => path.parent()?.join(&target),
    };
    if here.is_dir() {
        return Some(here);
    }
    let names: Vec<_> = target.components().collect();
    let at = names.iter().position(|part| part.as_os_str() == "profiles")?;
    let tail: PathBuf = names[at + 1..].iter().collect();
    let home = at.checked_sub(1).map(|before| names[before].as_os_str());
    // the repository of that name first, then the main one, then any
    let named = |repo: &super::repositories::Repo| home.is_some_and(|home| home == repo.repository.name.as_str());
    let main = repositories.main.map(|index| &repositories.all[index]);
    let order = repositories.all.iter().filter(|repo| named(repo)).chain(main).chain(&repositories.all);
    order.map(|repo| repo.repository.location.join("profiles").join(&tail)).find(|dir| dir.is_dir())
}

struct Open {
    dir: PathBuf,
    parents: std::vec::IntoIter<Line>,
}

fn open(dir: PathBuf) -> Result<Open, SystemError> {
    let file = dir.join("parent");
    let parents = text::lines(&file).map_err(|error| SystemError::Profile(error.to_string()))?;
    if parents.is_empty() && file.exists() {
        let file = file.display();
        return Err(SystemError::Profile(format!("{file}: names no parent; remove the file or write one into it")));
    }
    Ok(Open { dir, parents: parents.into_iter() })
}

fn kind(dir: &Path, repositories: &Repositories) -> NodeKind {
    match repositories.around(dir) {
        Some(home) => NodeKind { default_eapi: home.profile_eapi.clone(), formats: home.formats.clone(), user: false },
        None => NodeKind { default_eapi: "0".to_owned(), formats: Formats::of_no_repository(), user: false },
    }
}

/// The directory that a line of `parent` means: a path, or `repository:path` and `:path` below a repository's
/// `profiles` (the profile format portage-2; taken in any, since nothing else can be meant).
fn parent(root: &Path, dir: &Path, line: &Line, repositories: &Repositories) -> Result<PathBuf, SystemError> {
    let path = match line.text.split_once(':') {
        Some((name, rest)) if !line.text.starts_with('/') => {
            let home = match name {
                "" => repositories.around(dir),
                _ => repositories.index(name).map(|index| &repositories.all[index]),
            };
            let home = home.ok_or_else(|| wrong(line, "names a repository that is not there; add it to repos.conf"))?;
            home.repository.location.join("profiles").join(rest)
        }
        _ if line.text.starts_with('/') => repositories::place(root, Path::new(&line.text)),
        _ => dir.join(&line.text),
    };
    let found = path.canonicalize().ok().filter(|path| path.is_dir());
    found.ok_or_else(|| wrong(line, "is a parent that is not there; mend or remove the line"))
}

fn wrong(line: &Line, what: &str) -> SystemError {
    SystemError::Profile(format!("{}:{}: `{}` {what}", line.path.display(), line.number, line.text))
}
