//! Whether a call does the same wherever the ebuild runs: whether one run is proof enough to remove it.
//!
//! A run has one set of flags, one prefix, one toolchain. What the text asks of them, or puts of their values into the
//! call, may be otherwise elsewhere. Eclasses are not looked into.

use std::collections::BTreeSet;
use std::ops::Range;

use super::shell::{Decoded, Part};
use crate::edit::inventory::{Assignment, Call, Expansion, Inventory, Word, unquoted};

/// Of the ebuild's name and of the folders that the phases are given.
const CONSTANTS: &[&str] =
    &["P", "PN", "PV", "PR", "PVR", "PF", "CATEGORY", "S", "WORKDIR", "T", "FILESDIR", "DISTDIR", "HOME"];
/// Commands that ask for flags, or for what the machine has.
const ASKING: &[&str] = &[
    "use",
    "usev",
    "usex",
    "use_enable",
    "use_with",
    "use_id",
    "use_if_iuse",
    "in_iuse",
    "has_version",
    "best_version",
    "multilib_is_native_abi",
    "is-flag",
    "is-flagq",
    "test-flag",
    "test-flags",
    "tc-arch",
    "tc-endian",
    "tc-arch-kernel",
];
/// Variables that are otherwise with other flags, profiles or machines.
const ASKED: &[&str] =
    &["USE", "ARCH", "ABI", "DEFAULT_ABI", "CHOST", "CTARGET", "CBUILD", "ELIBC", "KERNEL", "EPYTHON", "LLVM_SLOT"];
/// Commands that put a value into a variable.
const READERS: &[&str] = &["read", "mapfile", "readarray", "printf", "getopts", "unset", "eval", "export"];

/// Why the call may do something in another run, though it does nothing in this one; words at `kept` are not asked.
pub fn doubt(inventory: &Inventory, call: &Call, kept: &[Range<usize>]) -> Option<String> {
    let text = Text { inventory, reachable: inventory.reachable(), function: call.function.as_deref(), kept };
    let unsteady = call.words.iter().find_map(|word| text.unsteady(word, 0));
    let unsteady = unsteady.map(|what| format!("{what} may be something else elsewhere"));
    unsteady.or_else(|| asks(&text, call).map(|what| format!("the ebuild asks `{what}` before")))
}

/// What the phases up to a call ask of flags and their like.
fn asks(text: &Text, call: &Call) -> Option<String> {
    let inventory = text.inventory;
    let before = |function: &Option<String>, at: usize| match function {
        Some(name) if Some(name) == call.function.as_ref() => at < call.span.end || call.looped,
        Some(name) => text.reachable.contains(name),
        None => true,
    };
    let asking = |word: &&Word| {
        let name = unquoted(&word.text);
        ASKING.contains(&name.as_str()) || name.starts_with("tc-is-") || name.starts_with("tc-ld-")
    };
    let calls = inventory.calls.iter().filter(|c| before(&c.function, c.span.start));
    let mut asked = calls.filter(|c| c.words.iter().take(2).find(asking).is_some());
    if let Some(call) = asked.next() {
        return inventory.text.get(call.span.clone()).map(|text| text.chars().take(60).collect());
    }
    let variable = |name: &str| ASKED.contains(&name) || name.ends_with("_TARGETS") || name.ends_with("_SINGLE_TARGET");
    // one that the ebuild sets itself is its own
    let foreign = |e: &&Expansion| variable(&e.name) && !text.is_settled(&e.name, 0);
    let asked = inventory.expansions.iter().filter(foreign).find(|e| before(&e.function, e.at));
    let sources = inventory.assignments.iter().filter(|a| a.name == "SRC_URI").flat_map(|a| &a.elements);
    asked.map(|e| format!("${{{}}}", e.name)).or_else(|| {
        sources.into_iter().find_map(|word| conditional(&word.text)).map(|flag| format!("{flag}? of SRC_URI"))
    })
}

/// The flag of the first `flag? (` of a text.
fn conditional(text: &str) -> Option<&str> {
    text.split_whitespace().zip(text.split_whitespace().skip(1)).find_map(|(flag, next)| {
        let flag = flag.trim_start_matches(['"', '\'']).strip_suffix('?')?;
        next.starts_with('(').then_some(flag)
    })
}

struct Text<'a> {
    inventory: &'a Inventory,
    reachable: BTreeSet<String>,
    function: Option<&'a str>,
    kept: &'a [Range<usize>],
}

/// Variables of variables; more is no ebuild.
const DEEPEST: usize = 8;

impl Text<'_> {
    /// The first expansion in a word whose value other runs may see otherwise.
    fn unsteady(&self, word: &Word, depth: usize) -> Option<String> {
        if self.kept.contains(&word.span) {
            return None;
        }
        self.first(&word.text, depth)
    }

    fn first(&self, text: &str, depth: usize) -> Option<String> {
        let word = Decoded::read(text, 0);
        let holes = word.parts.iter().filter_map(|part| match part {
            Part::Hole { span, .. } => text.get(span.clone()),
            Part::Byte { .. } => None,
        });
        let shown = |hole: &str| hole.chars().take(60).collect::<String>();
        holes.into_iter().find(|hole| depth > DEEPEST || !self.is_steady(hole, depth)).map(shown)
    }

    fn is_steady(&self, hole: &str, depth: usize) -> bool {
        if let Some(inner) = hole.strip_prefix("$(").and_then(|h| h.strip_suffix(')')) {
            return lists(inner);
        }
        let Some(rest) = hole.strip_prefix('$') else { return false };
        let rest = rest.strip_prefix('{').map_or(rest, |r| r.strip_suffix('}').unwrap_or(r));
        let name = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len();
        let (name, operator) = rest.split_at(name);
        let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        named && self.is_settled(name, depth + 1) && self.first(operator, depth + 1).is_none()
    }

    /// Whether a variable has but one value, or those of a list.
    fn is_settled(&self, name: &str, depth: usize) -> bool {
        let visible = |a: &&Assignment| a.function.is_none() || a.function.as_deref() == self.function;
        // what later phases put into it has no part in it
        let counts = |a: &&Assignment| visible(a) || a.function.as_ref().is_some_and(|f| self.reachable.contains(f));
        let own = self.inventory.assignments.iter().filter(|a| a.name == name);
        let all: Vec<&Assignment> = own.filter(counts).collect();
        let loops: Vec<_> = self.inventory.loops.iter().filter(|l| l.name == name).collect();
        let readers: Vec<&Call> = self.inventory.calls.iter().filter(|c| puts_into(c, name)).collect();
        match (&all[..], &loops[..], &readers[..]) {
            ([], [], []) => CONSTANTS.contains(&name),
            ([one], [], []) => {
                let steady = one.elements.iter().all(|word| self.unsteady(word, depth).is_none());
                one.sure && !one.elements.is_empty() && visible(one) && steady
            }
            ([], loops, []) => loops.iter().flat_map(|l| &l.words).all(|word| self.unsteady(word, depth).is_none()),
            // the names that a loop reads
            ([], [], [one]) => one.looped && unquoted(&one.words[0].text) == "read",
            _ => false,
        }
    }
}

fn puts_into(call: &Call, name: &str) -> bool {
    let first = call.words.first().map(|w| unquoted(&w.text)).unwrap_or_default();
    READERS.contains(&first.as_str()) && call.words.iter().skip(1).any(|w| unquoted(&w.text) == name)
}

/// Whether a command only lists what the source has, or takes the version apart.
fn lists(command: &str) -> bool {
    let listing = ["find", "grep", "egrep", "fgrep", "ls", "echo", "printf", "sort", "ver_cut", "ver_rs"];
    let first = |part: &str| part.split_whitespace().next().is_some_and(|w| listing.contains(&w));
    !command.contains(['$', '`', ';', '&', '>', '<', '\n']) && command.split('|').all(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is doubtful about the last sed of a src_prepare with these lines.
    fn of(lines: &str) -> Option<String> {
        let text = format!(
            "IUSE=\"foo\"\nMY_P=${{P/-/_}}\nsrc_prepare() {{\n{lines}\n}}\nsrc_test() {{\n\tuse foo\n\tx=b\n}}\n"
        );
        let inventory = Inventory::read(&text);
        let call = inventory.calls.iter().rfind(|c| c.tool.is_some()).unwrap();
        doubt(&inventory, call, &[])
    }

    #[test]
    fn what_is_the_same_everywhere_is_steady() {
        for lines in [
            "sed -i s/a/b/ f",
            "sed -i \"s/${PV}/b/\" \"${S}\"/f ${WORKDIR}/${MY_P}/f",
            "local x=a y=\"${x%b}\"; sed -i \"s/$x/${y}/\" f",
            "local e=( -e s/a/b/ -e s/c/d/ ); sed -i \"${e[@]}\" f",
            "local f; for f in a b* $(find . -name x); do sed -i s/a/b/ \"${f}\"; done",
            "while read -r f; do sed -i s/a/b/ \"${f}\"; done < <(find .)",
            "sed -i \"s/x/$(ver_cut 1-2)/\" f",
            "sed -i s/a/b/ f; use foo && rm f",
            "local LLVM_SLOT=20; echo ${LLVM_SLOT} > f; sed -i s/a/b/ f",
        ] {
            assert_eq!(of(lines), None, "{lines}");
        }
    }

    #[test]
    fn what_hangs_on_flags_or_the_machine_is_not() {
        for lines in [
            "local e=( -e s/a/b/ ); use foo && e+=( -e s/c/d/ ); sed -i \"${e[@]}\" f",
            "local x=a; [[ -e y ]] && x=b; sed -i \"s/${x}/y/\" f",
            "[[ -e y ]] && x=b; sed -i \"s/${x}/y/\" f",
            "if [[ -e y ]]; then x=b; fi; sed -i \"s/${x}/y/\" f",
            "sed -i -e \"$(usex foo s/a/b/ s/c/d/)\" f",
            "sed -i $(usex foo '-e s/a/b/' '') f",
            "sed -i \"s:/usr:${EPREFIX}/usr:\" f",
            "sed -i \"s/a/$(get_libdir)/\" f",
            "sed -i \"s/a/$1/\" f",
            "sed -i \"s/a/${!x}/\" f",
            "sed -i \"s/a/${P/b/${CHOST}}/\" f",
            "use foo && sed -i s/a/b/ f",
            "if ! use foo; then echo b >> f; fi; sed -i s/b/x/ f",
            "for f in a b; do sed -i s/a/b/ f; has_version x/y && touch b; done",
            "[[ ${ARCH} == amd64 ]] && touch x; sed -i s/a/b/ f",
            "echo ${LLVM_SLOT} > f; sed -i s/a/b/ f",
            "[[ $USE == *foo* ]] && touch x; sed -i s/a/b/ f",
        ] {
            assert!(of(lines).is_some(), "{lines}");
        }
        let text = "SRC_URI=\"https://x/a foo? ( https://x/b )\"\nsrc_prepare() {\n\tsed -i s/a/b/ f\n}\n";
        let inventory = Inventory::read(text);
        let call = inventory.calls.iter().find(|c| c.tool.is_some()).unwrap();
        assert_eq!(doubt(&inventory, call, &[]).unwrap(), "the ebuild asks `foo? of SRC_URI` before");
    }
}
