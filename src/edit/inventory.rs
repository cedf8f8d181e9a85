//! The static inventory: which commands a piece of bash has, on which lines, in which function, under which condition.
//!
//! It says where a traced call stands in the text, and which edits no variant ran.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use tree_sitter::Node;

use super::scope::Scope;
use super::syntax;
use crate::report::model::EditKind;

/// A word of a command as the text has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub span: Range<usize>,
    /// From 1.
    pub line: u32,
    pub end_line: u32,
}

/// A simple command.
#[derive(Clone, Debug)]
pub struct Call {
    pub words: Vec<Word>,
    /// The text of a here-document that it reads.
    pub heredoc: Option<Word>,
    /// The command with its redirections, here-document left out.
    pub span: Range<usize>,
    pub line: u32,
    pub end_line: u32,
    /// The function in whose body it stands; none in global scope.
    pub function: Option<String>,
    /// The nearest condition under which it runs, as a reader would say it.
    pub condition: Option<String>,
    /// Whether its exit status decides what runs next.
    pub asked: bool,
    /// Whether it is the last that its function runs, whose status it gives.
    pub ends_function: bool,
    /// Whether it stands in a loop.
    pub looped: bool,
    /// The tool that it runs, itself or by way of find, xargs and their kin.
    pub tool: Option<EditKind>,
    /// The word that names the tool.
    pub tool_word: usize,
}

impl Call {
    /// Whether the words ask the tool to edit in place.
    pub fn in_place(&self) -> bool {
        asks_in_place(self.words[self.tool_word..].iter().skip(1).map(|w| w.text.as_str()))
    }
}

/// Whether one of a tool's words, as the text has them, is `-i`, alone or in a cluster, or `--in-place`.
pub fn asks_in_place<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    words.any(|word| {
        let word = word.trim_start_matches(['"', '\'']);
        word.starts_with("--in-place")
            || (word.starts_with('-') && !word.starts_with("--") && {
                let letters = word[1..].chars().take_while(|c| c.is_ascii_alphabetic());
                letters.take_while(|c| !matches!(c, 'e' | 'f' | 'l')).any(|c| c == 'i')
            })
    })
}

/// An array or plain variable that is assigned in the text, with its elements.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub name: String,
    pub elements: Vec<Word>,
    pub line: u32,
    pub end_line: u32,
    pub function: Option<String>,
    /// Whether it is made whenever its function runs.
    pub sure: bool,
}

/// A `for` with the list that it goes through.
#[derive(Clone, Debug)]
pub struct Loop {
    pub name: String,
    pub words: Vec<Word>,
}

/// A variable whose value is asked for.
#[derive(Clone, Debug)]
pub struct Expansion {
    pub name: String,
    pub at: usize,
    pub function: Option<String>,
}

/// What a text of bash holds.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    pub text: String,
    pub calls: Vec<Call>,
    pub assignments: Vec<Assignment>,
    pub loops: Vec<Loop>,
    pub expansions: Vec<Expansion>,
    /// Names of the functions that the text defines, with the words that occur in each body.
    pub functions: Vec<(String, BTreeSet<String>)>,
}

/// Commands that run the command given as their arguments.
const PASSERS: &[&str] = &[
    "find", "xargs", "env", "command", "exec", "nonfatal", "edo", "nice", "ionice", "timeout", "time", "stdbuf",
    "setsid", "builtin",
];

/// Nodes within nodes; what a node costs grows with it. The deepest of 12,800 real ebuilds and eclasses has 23.
const DEEPEST: usize = 400;
/// Calls between a command and the text of its here-document, as in `a <<E | b | c`.
const HEREDOC_AWAY: usize = 1000;
/// Bytes of a function's name, which each of its commands is kept with.
const LONGEST: usize = 255;

impl Inventory {
    /// Reads `text`; what tree-sitter can't read is left out, the rest is there.
    pub fn read(text: &str) -> Inventory {
        let mut inventory = Inventory { text: text.to_owned(), ..Inventory::default() };
        let Some(tree) = syntax::tree(text) else { return inventory };
        // an explicit stack: nesting in a hostile text must not be ours
        let mut todo = vec![(tree.root_node(), Scope::default(), 0)];
        while let Some((node, scope, depth)) = todo.pop() {
            let inner = inventory.visit(node, &scope);
            if depth == DEEPEST {
                continue;
            }
            let mut cursor = node.walk();
            let children: Vec<Node> = node.children(&mut cursor).collect();
            let scopes = inner.of_children(text, node, &children);
            todo.extend(children.into_iter().zip(scopes).rev().map(|(child, scope)| (child, scope, depth + 1)));
        }
        inventory.calls.sort_by_key(|c| (c.span.start, c.span.end));
        inventory
    }

    fn visit(&mut self, node: Node, scope: &Scope) -> Scope {
        let mut inner = scope.clone();
        match node.kind() {
            "function_definition" => {
                if let Some(name) = node.child_by_field_name("name").filter(|name| name.byte_range().len() <= LONGEST) {
                    let name = self.slice(name).to_owned();
                    self.functions.push((name.clone(), BTreeSet::new()));
                    let body = Some(self.functions.len() - 1);
                    inner = Scope { function: Some(name), body, last: true, ..Scope::default() };
                }
            }
            "command" => {
                if let Some(call) = self.call(node, scope) {
                    if let Some((_, words)) = scope.body.and_then(|body| self.functions.get_mut(body)) {
                        words.extend(call.words.iter().map(|w| unquoted(&w.text)));
                    }
                    self.calls.push(call);
                }
            }
            "variable_assignment" => self.assignment(node, scope),
            "for_statement" => {
                if let Some(name) = node.child_by_field_name("variable") {
                    let mut cursor = node.walk();
                    let words = node.children_by_field_name("value", &mut cursor).map(|n| self.word(n)).collect();
                    self.loops.push(Loop { name: self.slice(name).to_owned(), words });
                }
            }
            "heredoc_body" => self.heredoc(node),
            "variable_name" if node.parent().is_some_and(|p| p.kind().ends_with("expansion")) => {
                let name = self.slice(node).to_owned();
                self.expansions.push(Expansion { name, at: node.start_byte(), function: scope.function.clone() });
            }
            _ => {}
        }
        inner
    }

    /// Gives a here-document to the command that reads it.
    fn heredoc(&mut self, node: Node) {
        let statement = node.parent().and_then(|redirect| redirect.parent());
        let Some(body) = statement.and_then(|s| s.child_by_field_name("body")) else { return };
        let word = self.word(node);
        // the last of those in the body; they come nearly in their order
        let near = self.calls.iter_mut().rev().take(HEREDOC_AWAY);
        if let Some(call) = near.into_iter().find(|c| body.byte_range().contains(&c.span.start)) {
            call.heredoc.get_or_insert(word);
        }
    }

    fn slice(&self, node: Node) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn word(&self, node: Node) -> Word {
        Word {
            text: self.slice(node).to_owned(),
            span: node.byte_range(),
            line: node.start_position().row as u32 + 1,
            end_line: node.end_position().row as u32 + 1,
        }
    }

    fn call(&self, node: Node, scope: &Scope) -> Option<Call> {
        let mut cursor = node.walk();
        let words: Vec<Word> = node
            .children(&mut cursor)
            .filter(|n| n.is_named() && !n.kind().ends_with("redirect") && n.kind() != "variable_assignment")
            .map(|n| self.word(n))
            .collect();
        let first = words.first()?.clone();
        let last = words.last()?.clone();
        let (tool, tool_word) = tool(&words);
        Some(Call {
            span: first.span.start..last.span.end,
            line: node.start_position().row as u32 + 1,
            end_line: last.end_line,
            words,
            heredoc: None,
            function: scope.function.clone(),
            condition: scope.condition.clone(),
            asked: scope.asked,
            ends_function: scope.last,
            looped: scope.looped,
            tool,
            tool_word,
        })
    }

    fn assignment(&mut self, node: Node, scope: &Scope) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let elements = match node.child_by_field_name("value") {
            Some(value) if value.kind() == "array" => {
                let mut cursor = value.walk();
                value.named_children(&mut cursor).filter(|n| n.kind() != "comment").map(|n| self.word(n)).collect()
            }
            Some(value) => vec![self.word(value)],
            None => Vec::new(),
        };
        let name = self.slice(name);
        let assignment = Assignment {
            name: name.split('[').next().unwrap_or(name).to_owned(),
            elements,
            line: node.start_position().row as u32 + 1,
            end_line: node.end_position().row as u32 + 1,
            function: scope.function.clone(),
            sure: !scope.branch,
        };
        self.assignments.push(assignment);
    }

    /// Names of the text's functions that the phases up to src_prepare may reach.
    pub fn reachable(&self) -> BTreeSet<String> {
        let root = |name: &str| {
            matches!(name, "pkg_setup" | "src_unpack" | "src_prepare")
                || name.contains("_prepare")
                || name.contains("_unpack")
        };
        let mut by_name: HashMap<&str, Vec<&BTreeSet<String>>> = HashMap::new();
        for (name, words) in &self.functions {
            by_name.entry(name).or_default().push(words);
        }
        let mut todo: Vec<&str> = by_name.keys().copied().filter(|name| root(name)).collect();
        let mut found = BTreeSet::new();
        while let Some(name) = todo.pop() {
            let Some(bodies) = by_name.remove(name) else { continue };
            found.insert(name.to_owned());
            todo.extend(bodies.into_iter().flatten().map(String::as_str).filter(|word| by_name.contains_key(word)));
        }
        found
    }
}

/// The tool that a command runs, and the word that names it.
fn tool(words: &[Word]) -> (Option<EditKind>, usize) {
    let named = |word: &Word| {
        let name = unquoted(&word.text);
        match name.rsplit('/').next().unwrap_or_default() {
            "sed" | "gsed" => Some(EditKind::Sed),
            "perl" => Some(EditKind::Perl),
            "eapply" | "patch" | "epatch" => Some(EditKind::Patch),
            _ => None,
        }
    };
    let Some(first) = words.first() else { return (None, 0) };
    if let Some(kind) = named(first) {
        return (Some(kind), 0);
    }
    if PASSERS.contains(&unquoted(&first.text).rsplit('/').next().unwrap_or_default()) {
        for (i, word) in words.iter().enumerate().skip(1) {
            if let Some(kind) = named(word) {
                return (Some(kind), i);
            }
        }
    }
    // a function that is handed a command, `sed` as a word of its own
    for (i, word) in words.iter().enumerate().skip(1) {
        if word.text == "sed" && words.get(i + 1).is_some_and(|w| w.text.starts_with('-') || w.text.starts_with('"')) {
            return (Some(EditKind::Sed), i);
        }
    }
    (None, 0)
}

/// The word without quotes and backslashes, where that is simple.
pub fn unquoted(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By depth or breadth alone no text takes long; a run of the tests that hangs shows it.
    #[test]
    fn large_texts_are_read_in_their_size() {
        let deep = |n: usize| format!("f() {{\n{}sed -i 1 x;\n{}}}\n", "{ ".repeat(n), " };".repeat(n));
        assert_eq!(Inventory::read(&deep(100)).calls.len(), 1);
        let broad = format!("f() {{\nif x; then\n{}fi\n}}\n", ": a\n".repeat(50_000));
        assert_eq!(Inventory::read(&broad).calls.len(), 50_001);
        Inventory::read(&deep(20_000));
        let named = format!("{}() {{\n{}}}\n", "n".repeat(10_000), ": a\n".repeat(20_000));
        assert!(Inventory::read(&named).calls.iter().all(|call| call.function.is_none()));
    }

    const TEXT: &str = r#"EAPI=8
PATCHES=(
	"${FILESDIR}"/a.patch
	# "${FILESDIR}"/no.patch
	"${FILESDIR}"/b.patch
)
helper() {
	sed -i -e "$1" x
}
src_prepare() {
	default
	sed -e 's/a/b/' \
		-e 's/c/d/' \
		-i one two || die
	use test && sed -i s/x/y/ t
	if use doc; then
		find . -name '*.am' -exec sed -i -e s/x/y/ {} + || die
	else
		helper s/p/q/
	fi
	cat > f <<-EOF
		sed -i s/never/run/ conf
	EOF
	x=$(sed -n p f)
	edo sed -i s/1/2/ f
}
src_install() {
	sed -i s/1/2/ g
}
"#;

    #[test]
    fn finds_commands_with_their_lines_functions_and_conditions() {
        let inventory = Inventory::read(TEXT);
        let seds: Vec<_> = inventory
            .calls
            .iter()
            .filter(|c| c.tool == Some(EditKind::Sed))
            .map(|c| (c.line, c.end_line, c.function.as_deref().unwrap_or(""), c.condition.as_deref(), c.in_place()))
            .collect();
        assert_eq!(
            seds,
            [
                (8, 8, "helper", None, true),
                (12, 14, "src_prepare", None, true),
                (15, 15, "src_prepare", Some("use test"), true),
                (17, 17, "src_prepare", Some("use doc"), true),
                (24, 24, "src_prepare", None, false),
                (25, 25, "src_prepare", None, true),
                (28, 28, "src_install", None, true),
            ]
        );
        let patches = inventory.assignments.iter().find(|a| a.name == "PATCHES").unwrap();
        assert_eq!(patches.elements.iter().map(|w| w.line).collect::<Vec<_>>(), [3, 5]);
        assert!(inventory.reachable().contains("helper"));
        assert!(!inventory.reachable().contains("src_install"));
    }

    #[test]
    fn the_body_of_an_elif_has_its_condition() {
        let text = "f() {\n\tif use a; then\n\t\tsed 1\n\telif use b; then\n\t\tsed 2\n\telse\n\t\tsed 3\n\tfi\n}\n";
        let inventory = Inventory::read(text);
        let seds = inventory.calls.iter().filter(|c| c.tool.is_some());
        let conditions: Vec<Option<&str>> = seds.map(|c| c.condition.as_deref()).collect();
        assert_eq!(conditions, [Some("use a"), Some("use b"), Some("! use a")]);
    }

    #[test]
    fn comments_within_a_command_do_not_end_it() {
        let text =
            "f() {\n\tsed -i -e 's/a/A/' `# one` \\\n\t\t-e 's/b/B/' `# it's two` \\\n\t\tx || die\n\tsed p y\n}\n";
        let inventory = Inventory::read(text);
        let seds = inventory.calls.iter().filter(|c| c.tool.is_some());
        let found: Vec<_> = seds.map(|c| (c.line, c.end_line, c.words.len())).collect();
        assert_eq!(found, [(2, 4, 7), (5, 5, 3)]);
    }

    #[test]
    fn a_here_document_is_its_commands() {
        let text = "f() {\n\tsed -i -f - x <<-EOF || die\n\t\ts/a/b/\n\t\ts/c/d/\n\tEOF\n}\n";
        let inventory = Inventory::read(text);
        let call = inventory.calls.iter().find(|c| c.tool.is_some()).unwrap();
        let document = call.heredoc.as_ref().unwrap();
        assert_eq!(document.line, 3);
        assert!(document.text.trim_start().starts_with("s/a/b/"), "{}", document.text);
    }

    #[test]
    fn a_status_that_is_asked_for_is_known() {
        let asked = |text: &str| {
            let inventory = Inventory::read(text);
            inventory.calls.iter().filter(|c| c.tool.is_some()).map(|c| c.asked).collect::<Vec<_>>()
        };
        for text in [
            "if sed p f; then :; fi",
            "if :; then :; elif sed p f > o; then :; fi",
            "while ! sed p f; do :; done",
            "until { sed p f; }; do :; done",
            "sed p f || die",
            "x && sed p f || die",
            "! sed p f",
            "if ( x && sed p f ); then :; fi",
        ] {
            assert_eq!(asked(text), [true], "{text}");
        }
        for text in [
            "sed p f",
            "x || sed p f",
            "if x; then sed p f; fi",
            "while x; do sed p f; done",
            "if [[ $(sed p f) ]]; then :; fi",
            "f() { sed p f; } && x",
        ] {
            assert_eq!(asked(text), [false], "{text}");
        }
    }

    #[test]
    fn the_last_call_of_a_function_gives_its_status() {
        let ends = |text: &str| {
            let inventory = Inventory::read(text);
            inventory.calls.iter().filter(|c| c.tool.is_some()).map(|c| c.ends_function).collect::<Vec<_>>()
        };
        for text in [
            "f() { sed p f; }",
            "f() {\n\tlocal x=1\n\tsed p f # so\n}",
            "f() { x; if y; then sed p f; else z; fi; }",
            "f() ( cd x && sed p f > o )",
            "f() { cat f | sed p; }",
        ] {
            assert_eq!(ends(text), [true], "{text}");
        }
        for text in
            ["sed p f", "f() { sed p f; x; }", "f() { for x in y; do sed p f; done; x; }", "f() { sed p f | x; }"]
        {
            assert_eq!(ends(text), [false], "{text}");
        }
    }

    #[test]
    fn survives_rubbish() {
        for text in ["", "(((((", "sed '", "f() {", &"{ ".repeat(5000), "\u{0}"] {
            Inventory::read(text);
        }
    }
}
