//! The eclasses that a text names, without running it.

use std::collections::BTreeSet;

use super::masters::RepositorySet;
use super::names;

/// The words of `inherit` commands that are plain names, whatever stands around the commands: some may never run.
pub fn literal(text: &str) -> BTreeSet<String> {
    let joined = text.replace("\\\n", " ");
    let mut found = BTreeSet::new();
    for line in joined.lines() {
        let commands = line.split([';', '&', '|', '{', '}', '(', ')']);
        for command in commands {
            let words = command.split(['#']).next().unwrap_or_default();
            let mut words = words.split_whitespace().skip_while(|word| matches!(*word, "then" | "else" | "do" | "!"));
            if words.next() == Some("inherit") {
                found.extend(words.filter(|word| names::is_eclass(word)).map(str::to_owned));
            }
        }
    }
    found
}

/// What an eclass of the audited repository itself names; none where there is no such eclass.
pub fn of_eclass(set: &RepositorySet, name: &str) -> Option<BTreeSet<String>> {
    let path = set.repository.location.join("eclass").join(format!("{name}.eclass"));
    Some(literal(&set.repository.within.read(&path).ok()??))
}

/// The eclasses that an ebuild names, and those that these name, of those that `of_eclass` knows. What its shell says that it
/// inherited can be forged by one of them; what its text says can't.
pub fn named(text: &str, mut of_eclass: impl FnMut(&str) -> Option<BTreeSet<String>>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<String> = literal(text).into_iter().collect();
    while let Some(name) = todo.pop() {
        if found.contains(&name) {
            continue;
        }
        if let Some(more) = of_eclass(&name) {
            todo.extend(more);
            found.insert(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_wherever_they_stand() {
        let text = "inherit a b-c \\\n\td # e\n[[ ${PV} == 9999 ]] && inherit git-r3\nif x; then inherit f ${g} \"h\"; fi\n# inherit i\necho inherit j\n";
        assert_eq!(literal(text).into_iter().collect::<Vec<_>>(), ["a", "b-c", "d", "f", "git-r3"]);
    }

    #[test]
    fn eclasses_that_eclasses_name() {
        let of = |name: &str| {
            let more: &[&str] = match name {
                "a" => &["b", "elsewhere"],
                "b" => &["a"],
                _ => return None,
            };
            Some(more.iter().map(|name| (*name).to_owned()).collect())
        };
        assert_eq!(named("inherit a\n", of).into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}
