//! LiteralVariable: the edit wrote the name of an ebuild's variable where its value was meant.

use super::command_findings::{of_command, short};
use super::edits::{Judged, Scene};
use super::rules::Rule;
use crate::edit::outcome;
use crate::report::model::{Finding, Verdict};

/// PMS 11.1 and the variables of common eclasses that no build system uses under these names.
const VARIABLES: &[&str] = &[
    "P",
    "PN",
    "PV",
    "PR",
    "PVR",
    "PF",
    "S",
    "T",
    "D",
    "ED",
    "EPREFIX",
    "EROOT",
    "ESYSROOT",
    "BROOT",
    "WORKDIR",
    "FILESDIR",
    "DISTDIR",
    "CATEGORY",
    "SYSROOT",
    "MY_P",
    "MY_PN",
    "MY_PV",
    "BUILD_DIR",
    "CHOST",
];
/// Functions that print a value.
const FUNCTIONS: &[&str] = &[
    "get_libdir",
    "usex",
    "use_enable",
    "use_with",
    "ver_cut",
    "ver_rs",
    "tc-getCC",
    "tc-getCXX",
    "tc-getAR",
    "python_get_sitedir",
    "best_version",
    "get_modname",
    "get_libname",
];

/// A finding for each command that wrote such a name into a file which does not know it itself.
pub fn findings(judged: &Judged, scene: &Scene) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(place) = &judged.place else { return found };
    for command in judged.edit.commands.iter().filter(|c| c.verdict == Verdict::Live) {
        let names = names(&command.text);
        let written = names.iter().find(|name| {
            place.records.iter().flat_map(|r| &r.targets).any(|target| {
                let contents = |state: &crate::phase::trace::State| state.md5().and_then(|m| scene.contents(m));
                match (contents(&target.before), contents(&target.after)) {
                    (Some(old), Some(new)) => count(&new, name) > count(&old, name) && !knows(&old, name),
                    _ => false,
                }
            })
        });
        if let Some(name) = written {
            let file = place.records.iter().flat_map(|r| &r.targets).next().map(|t| outcome::path(&t.path));
            let file = file.map_or_else(String::new, |f| format!(" into {}", scene.names.show(f)));
            let name = shown(&command.text, name);
            let message = format!(
                "`{}` writes the name {name}{file}, not its value: the shell does not expand it in single quotes",
                short(command)
            );
            found.push(of_command(Rule::LiteralVariable, judged, command, scene, message));
        }
    }
    found
}

/// The ebuild's variables and functions that stand unexpanded in the command, as they are written.
fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in VARIABLES {
        for form in [format!("${{{name}}}"), format!("${name}")] {
            let ends =
                |at: usize| !text[at + form.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if text.match_indices(&form).any(|(at, _)| form.ends_with('}') || ends(at)) {
                found.push(form);
            }
        }
    }
    for name in FUNCTIONS {
        let form = format!("$({name}");
        if text.contains(&form) {
            found.push(form);
        }
    }
    found
}

/// A function's call to its end, as far as that is on the same line.
fn shown<'a>(text: &'a str, name: &'a str) -> &'a str {
    let at = text.find(name).filter(|_| name.starts_with("$("));
    let call = at.and_then(|at| text[at..].lines().next());
    call.and_then(|call| call.get(..call.find(')')? + 1)).unwrap_or(name)
}

fn count(data: &[u8], name: &str) -> usize {
    memchr::memmem::find_iter(data, name).count()
}

/// Whether the file sets or uses a variable of that name by itself.
fn knows(data: &[u8], name: &str) -> bool {
    let bare = name.trim_matches(['$', '{', '}', '(']);
    let text = String::from_utf8_lossy(data);
    text.lines().any(|line| {
        let line = line.trim_start().trim_start_matches("export ");
        let assigned = line.strip_prefix(bare).is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.starts_with('=') || rest.starts_with(":=") || rest.starts_with("?=") || rest.starts_with("+=")
        });
        assigned
            || line.to_ascii_lowercase().starts_with(&format!("set({}", bare.to_ascii_lowercase()))
            || line.contains(&format!("${{{bare}}}"))
            || line.contains(&format!("$({bare})"))
            || line.contains(&format!("{bare}()"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_s_own_variables_are_none() {
        assert_eq!(names("s:/usr:${EPREFIX}/usr:"), ["${EPREFIX}"]);
        assert_eq!(names("s/x/$PV/"), ["$PV"]);
        assert_eq!(names("s/x/$(CC) ${CFLAGS} $PVX $S_/"), Vec::<String>::new());
        assert_eq!(names("s/lib/$(get_libdir)/"), ["$(get_libdir"]);
        assert_eq!(shown("s/lib/$(get_libdir)/", "$(get_libdir"), "$(get_libdir)");
        assert_eq!(shown("s/x/${PV}/", "${PV}"), "${PV}");
        assert!(knows(b"PV = 1\n", "${PV}") && knows(b"set(PV 1)\n", "${PV}") && !knows(b"x\n", "${PV}"));
    }
}
