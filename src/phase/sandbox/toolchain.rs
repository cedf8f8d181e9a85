//! What a phase may read of the machine: the programs that PATH leads to, what they load, and the little of /etc that
//! they need.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::gentoo::repository::is_repository;
use crate::gentoo::shown::VERSION_CONTROL;

/// Trees of the system that hold nothing but what was installed.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Of /etc: what the loader, the C library and languages read. Keys and passwords are not among it.
const ETC: &[&str] = &[
    "alternatives",
    "bash",
    "ca-certificates.conf",
    "default/locale",
    "env.d",
    "fonts",
    "gentoo-release",
    "gitconfig",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java",
    "java-config-2",
    "ld-musl-x86_64.path",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "profile.env",
    "protocols",
    "python-exec",
    "python3",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xml",
];

/// Where people keep what is theirs; of a folder on PATH below one of these only what is needed is shown.
const HOMES: &[&str] = &["/root", "/home", "/var/home"];

/// Files that make a folder one that holds an installation and nothing else.
const INSTALLATIONS: &[&str] = &["pyvenv.cfg", "conda-meta", "versions", "Cellar"];

/// The trees and files that make up the toolchain. `home` is the caller's.
pub fn toolchain(path: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    let mut found: BTreeSet<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    found.extend(ETC.iter().map(|name| Path::new("/etc").join(name)));
    // python3.12 and the like have folders of their own there
    found.extend(beginning_with(Path::new("/etc"), "python3"));
    found.extend(loader_paths(Path::new("/etc/ld.so.conf"), 0));
    for dir in path.iter().filter(|dir| dir.is_absolute()) {
        found.extend(of_path(dir, home));
        if let Ok(real) = fs::canonicalize(dir) {
            found.extend(of_path(&real, home));
        }
    }
    found.retain(|path| path.exists());
    // what lies in a tree that is there already adds nothing
    let all: Vec<PathBuf> = found.iter().cloned().collect();
    found.retain(|path| !all.iter().any(|other| other != path && path.starts_with(other)));
    found.into_iter().collect()
}

/// What a folder on PATH needs: itself, and the installation that it belongs to.
fn of_path(dir: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let private = |path: &Path| {
        HOMES.iter().any(|h| path.starts_with(h)) || home.is_some_and(|h| h != Path::new("/") && path.starts_with(h))
    };
    // itself one, or above one
    let is_home = |path: &Path| {
        let kept_by_person = path.parent().is_some_and(|above| HOMES[1..].iter().any(|h| above == Path::new(h)));
        kept_by_person
            || home.is_some_and(|h| h.starts_with(path))
            || HOMES.iter().any(|h| Path::new(h).starts_with(path))
    };
    let Some(prefix) = dir.parent().filter(|_| !is_home(dir)) else { return Vec::new() };
    let is_bin = dir.file_name().is_some_and(|n| ["bin", "sbin", "shims", "libexec"].iter().any(|b| n == *b));
    if !is_bin {
        // of a checkout the programs alone
        return if is_checkout(dir) { files_in(dir) } else { vec![dir.to_owned()] };
    }
    // pyenv and its like are checkouts themselves
    let of_versions = ["versions", "shims"].iter().all(|name| prefix.join(name).is_dir()) && !is_repository(prefix);
    if is_home(prefix) || (is_checkout(prefix) && !of_versions) {
        return vec![dir.to_owned()];
    }
    let whole = match private(dir) {
        true => INSTALLATIONS.iter().any(|name| prefix.join(name).exists()),
        // not a tree that serves other ends as well, such as /opt, /var/lib or /run
        false => prefix.components().count() > 2 && !["/var", "/run", "/tmp"].iter().any(|t| prefix.starts_with(t)),
    };
    let mut found = vec![dir.to_owned()];
    if whole {
        found.push(prefix.to_owned());
        if let Ok(config) = fs::read_to_string(prefix.join("pyvenv.cfg")) {
            // the interpreter that a virtual environment was made from
            let base = config.lines().find_map(|l| l.strip_prefix("home")?.trim_start().strip_prefix('='));
            found.extend(base.map(|b| PathBuf::from(b.trim())).iter().flat_map(|b| of_path(b, home)));
        }
    } else {
        found.extend(["lib", "lib64", "libexec"].map(|name| prefix.join(name)));
    }
    if prefix.ends_with(".cargo") {
        // cargo and rustc there are stand-ins for those of rustup
        found.extend(prefix.parent().map(|p| p.join(".rustup")));
    }
    found
}

/// Whether a folder is a checkout of anything, or holds one.
fn is_checkout(dir: &Path) -> bool {
    let one = |dir: &Path| is_repository(dir) || VERSION_CONTROL.iter().any(|name| dir.join(name).exists());
    let below = || fs::read_dir(dir).into_iter().flatten().flatten().take(MOST_BELOW).any(|item| one(&item.path()));
    one(dir) || below()
}

/// Entries of a folder among which checkouts are looked for; a folder of so many is none of checkouts.
const MOST_BELOW: usize = 1000;

fn files_in(dir: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(dir).into_iter().flatten().flatten();
    items.map(|item| item.path()).filter(|path| path.is_file()).collect()
}

/// The folders of version control right in these trees.
pub fn histories(trees: &[PathBuf]) -> Vec<PathBuf> {
    let all = trees.iter().flat_map(|tree| VERSION_CONTROL.iter().map(|name| tree.join(name)));
    all.filter(|path| path.exists()).collect()
}

/// The folders that ld.so.conf names; `include` may nest.
fn loader_paths(file: &Path, depth: u8) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut found = Vec::new();
    for line in text.lines().map(|l| l.split('#').next().unwrap_or_default().trim()) {
        match line.strip_prefix("include") {
            Some(pattern) if depth < 4 => {
                for pattern in pattern.split_whitespace() {
                    let pattern = Path::new("/etc").join(pattern);
                    let (Some(dir), Some(name)) = (pattern.parent(), pattern.file_name()) else { continue };
                    let name = name.to_string_lossy();
                    let (head, tail) = name.split_once('*').unwrap_or((&name, ""));
                    let fits = beginning_with(dir, head).into_iter();
                    let fits = fits.filter(|p| p.to_string_lossy().ends_with(tail));
                    found.extend(fits.flat_map(|file| loader_paths(&file, depth + 1)));
                }
            }
            Some(_) => {}
            None => found.extend(Some(PathBuf::from(line)).filter(|p| p.is_absolute() && p.components().count() > 2)),
        }
    }
    found
}

fn beginning_with(dir: &Path, head: &str) -> Vec<PathBuf> {
    let Ok(items) = fs::read_dir(dir) else { return Vec::new() };
    let items = items.flatten().filter(|i| i.file_name().to_string_lossy().starts_with(head));
    items.map(|i| i.path()).collect()
}

/// `roots` without what is hidden: where a tree holds something hidden, its other entries stand for it. A root that is
/// hidden itself is none; one that lies within something hidden was granted on purpose.
pub fn without(roots: &[PathBuf], hidden: &[PathBuf]) -> Vec<PathBuf> {
    // what a link leads to is what would be opened
    let real = |paths: &[PathBuf]| paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect::<Vec<_>>();
    let (mut todo, hidden) = (real(roots), real(hidden));
    let mut found = Vec::new();
    while let Some(path) = todo.pop() {
        if hidden.contains(&path) {
            continue;
        }
        if !hidden.iter().any(|h| h.starts_with(&path)) {
            found.push(path);
        } else if let Ok(items) = fs::read_dir(&path) {
            let items = items.flatten().filter(|i| !i.file_type().is_ok_and(|t| t.is_symlink()));
            todo.extend(items.map(|item| item.path()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_not_shown_for_a_folder_on_path() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home/me");
        for name in ["home/me/bin", "home/me/.local/bin", "home/me/.local/lib", "home/me/.venv/bin", "opt/tool/bin"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        fs::write(home.join(".venv/pyvenv.cfg"), "version = 3\n").unwrap();
        let path: Vec<PathBuf> =
            [home.join("bin"), home.join(".local/bin"), home.join(".venv/bin"), home.clone(), dir.path().join("home")]
                .into();
        let found = toolchain(&path, Some(&home));
        for (name, shown) in
            [("bin", true), (".local/bin", true), (".local/lib", true), (".venv", true), (".ssh", false)]
        {
            assert_eq!(found.iter().any(|f| home.join(name).starts_with(f)), shown, "{name} {found:?}");
        }
        assert!(!found.iter().any(|f| home.starts_with(f)));
        assert!(found.contains(&PathBuf::from("/usr")));
        assert!(!found.iter().any(|f| Path::new("/etc/shadow").starts_with(f) || f == Path::new("/")));
    }

    #[test]
    fn a_tree_is_opened_around_what_is_hidden() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a/x", "a/.git/hooks", "b"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let mut found = without(&[dir.path().to_owned()], &[dir.path().join("a/.git")]);
        found.sort();
        let root = fs::canonicalize(dir.path()).unwrap();
        assert_eq!(found, [root.join("a/x"), root.join("b")]);
        // one that is hidden, by a link as well; and one that is granted within a hidden one
        std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();
        let roots = ["a", "link", "a/x"].map(|name| dir.path().join(name));
        assert_eq!(without(&roots, &[dir.path().join("a")]), [root.join("a/x")]);
    }

    #[test]
    fn of_a_home_or_a_checkout_the_programs_alone() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["me/bin", "me/versions", "me/Cellar", "me/secret", "me/conda-meta", "me/.pyenv/shims"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["me/.pyenv/versions", "me/.pyenv/.git", "group/project/bin", "group/project/.git", "group/bin"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["overlay/bin", "overlay/lib", "overlay/profiles"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["me/pyvenv.cfg", "overlay/profiles/repo_name", "overlay/tool", "group/project/tool"] {
            fs::write(at(name), "").unwrap();
        }
        let me = at("me");
        let of = |name: &str| of_path(&at(name), Some(&me));
        assert!(!of("me/bin").contains(&me) && of("me/bin").contains(&at("me/bin")), "{:?}", of("me/bin"));
        assert!(of("me/.pyenv/shims").contains(&at("me/.pyenv")));
        assert_eq!(histories(&of("me/.pyenv/shims")), [at("me/.pyenv/.git")]);
        assert_eq!(of("group/project/bin"), [at("group/project/bin")]);
        assert_eq!(of("group/bin"), [at("group/bin")]);
        assert_eq!(of("overlay/bin"), [at("overlay/bin")]);
        assert_eq!(of("overlay"), [at("overlay/tool")]);
        assert_eq!(of("group/project"), [at("group/project/tool")]);
    }
}
