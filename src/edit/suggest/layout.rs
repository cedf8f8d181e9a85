//! Statements of a text of bash that can go, so that what is left is whole: no empty `if`, no `&&` without its end.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::comment;
use super::range::{self, Change};
use crate::edit::{scope, syntax};

/// A text with its syntax.
#[derive(Debug)]
pub struct Layout {
    pub text: String,
    tree: Tree,
}

/// Where a new statement may stand behind another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    pub at: usize,
    pub indent: String,
    /// ` || die`, as the other has it.
    pub handler: String,
}

/// What takes statements away.
#[derive(Debug, Default)]
pub struct Cut {
    pub changes: Vec<Change>,
    /// Where the comments begin that stood by what goes. They stay.
    pub comments: Vec<usize>,
}

/// A part of `a && b || c`, with the operator before it.
struct Link<'t> {
    operator: String,
    node: Node<'t>,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Only asks.
    Condition,
    /// Only speaks of failure.
    Handler,
    Action,
}

impl Layout {
    pub fn read(text: &str) -> Option<Layout> {
        Some(Layout { text: text.to_owned(), tree: syntax::tree(text)? })
    }

    /// What takes away the calls at these spans, and which of them go: a call that would leave something broken stays.
    /// `drop_prepare`: a src_prepare of which only `default` or nothing is left goes, too.
    pub fn without(&self, calls: &[Range<usize>], drop_prepare: bool) -> (Cut, Vec<bool>) {
        let mut accepted: Vec<Node> = Vec::new();
        let mut cut = Cut::default();
        let mut goes = Vec::new();
        for call in calls {
            let Some(element) = self.element(call) else {
                goes.push(false);
                continue;
            };
            accepted.push(element);
            match self.cut(&accepted, drop_prepare) {
                Some(new) => cut = new,
                None => drop(accepted.pop()),
            }
            goes.push(accepted.last() == Some(&element));
        }
        (cut, goes)
    }

    /// The place behind the statement that the call at this span is. None where the statement is more than the call and
    /// what speaks of its failure, where it is a part of a loop or shares its lines with another.
    pub fn after(&self, call: &Range<usize>) -> Option<After> {
        let element = self.element(call)?;
        let mut top = element;
        while let Some(parent) = top.parent().filter(|p| p.kind() == "list") {
            top = parent;
        }
        body(top.parent()?)?.contains(&top).then_some(())?;
        let links = self.links(top);
        let rest: Vec<&Link> = links.iter().filter(|l| l.node != element).collect();
        let in_loop = std::iter::successors(top.parent(), Node::parent).any(scope::is_loop);
        let plain = rest.iter().all(|l| l.role == Role::Handler) && !in_loop && !self.slice(top).contains("<<");
        // the lines go on in the old statement, in the new one there is but one
        let tail = self.text.get(element.end_byte()..top.end_byte())?;
        let tail = tail.split("\\\n").map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        let handler = if tail.is_empty() { tail } else { format!(" {tail}") };
        let plain = plain && !handler.contains('\n');
        let indent = &self.text[range::line_start(&self.text, top.start_byte())..top.start_byte()];
        let behind = self.text[range::skip_blanks(&self.text, top.end_byte())..].chars().next();
        (plain && range::is_blank(indent) && matches!(behind, None | Some('\n' | '#'))).then(|| After {
            at: range::line_end(&self.text, top.end_byte()),
            indent: indent.to_owned(),
            handler,
        })
    }

    fn slice(&self, node: Node) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// What stands for the call in its chain: the command, or the pipeline that feeds it.
    fn element(&self, call: &Range<usize>) -> Option<Node<'_>> {
        let mut node = self.tree.root_node().descendant_for_byte_range(call.start, call.end)?;
        while node.kind() != "command" {
            node = node.parent()?;
        }
        if !harmless(self.slice(node)) {
            return None;
        }
        self.fed(node)
    }

    /// A command with its redirections and the pipeline that feeds it.
    fn fed<'t>(&self, mut node: Node<'t>) -> Option<Node<'t>> {
        loop {
            let parent = node.parent()?;
            match parent.kind() {
                "redirected_statement" if parent.child_by_field_name("body") == Some(node) => {}
                "pipeline" => {
                    let parts = children(parent, |n| n.is_named());
                    let (last, feeders) = parts.split_last()?;
                    if *last != node || !feeders.iter().all(|f| feeds(self.slice(*f))) {
                        return None;
                    }
                }
                _ => return Some(node),
            }
            node = parent;
        }
    }

    /// The loop around statements that all go, as far as it does nothing else: a `for`, or a `while` that reads the
    /// list that a harmless command makes.
    fn whole_loop<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        if node.kind() == "for_statement" {
            return Some(node);
        }
        let condition = node.child_by_field_name("condition").filter(|_| node.kind() == "while_statement")?;
        let mut words = self.slice(condition).split_whitespace().filter(|w| !w.starts_with("IFS="));
        (words.next() == Some("read") && !self.slice(condition).contains(['&', '|', ';', '`', '('])).then_some(())?;
        let whole = self.fed(node)?;
        let mut cursor = whole.walk();
        let redirects = whole.children_by_field_name("redirect", &mut cursor);
        let harmless = |redirect: Node| {
            let text = self.slice(redirect);
            let list =
                text.strip_prefix('<').map(str::trim_start).and_then(|t| t.strip_prefix("<(")?.strip_suffix(')'));
            // `< file` reads, too
            list.map_or(text.starts_with("< ") && !text.contains(['(', '`']), |list| {
                feeds(list)
                    && !list.contains([';', '&', '`', '\n'])
                    && list.split('|').all(feeds)
                    && !list.contains("$(")
            })
        };
        redirects.into_iter().all(harmless).then_some(whole)
    }

    fn cut<'t>(&'t self, elements: &[Node<'t>], drop_prepare: bool) -> Option<Cut> {
        let mut elements = elements.to_vec();
        loop {
            let (gone, mut changes) = self.chains(&elements)?;
            let mut whole = gone.clone();
            let mut more = None;
            for statement in &gone {
                let container = statement.parent()?;
                let left: Vec<Node> = body(container)?.into_iter().filter(|n| !gone.contains(n)).collect();
                let outer = container.parent();
                let prepare = outer.filter(|o| self.is_prepare(*o));
                match (container.kind(), outer) {
                    (_, Some(outer)) if prepare.is_some() && drop_prepare && self.only_default(&left) => {
                        if !has_comment(outer) {
                            whole.push(outer);
                        } else if left.is_empty() {
                            return None;
                        }
                    }
                    _ if !left.is_empty() => {}
                    ("do_group", Some(outer)) => match self.whole_loop(outer)? {
                        whole if elements.contains(&whole) => {}
                        whole => more = Some(whole),
                    },
                    ("program", _) => {}
                    _ => return None,
                }
            }
            if let Some(more) = more {
                elements.push(more);
                continue;
            }
            let inside =
                |a: &Node, b: &Node| a != b && b.start_byte() <= a.start_byte() && a.end_byte() <= b.end_byte();
            let outermost: Vec<Node> = whole.iter().filter(|n| !whole.iter().any(|o| inside(n, o))).copied().collect();
            for node in &outermost {
                if self.slice(*node).contains("<<") || has_comment(*node) || self.is_asked(*node) {
                    return None;
                }
            }
            changes.extend(outermost.iter().map(|n| Change::removal(range::statement(&self.text, &n.byte_range()))));
            let comments = outermost.iter().flat_map(|node| comment::near(&self.text, *node)).collect();
            return range::sort(&mut changes).then_some(Cut { changes, comments });
        }
    }

    /// Whether what follows asks for the exit status of a statement.
    fn is_asked(&self, node: Node) -> bool {
        // a function runs later
        let next = syntax::next_statement(node).filter(|n| n.kind() != "function_definition");
        next.is_some_and(|next| ["$?", "${?", "PIPESTATUS"].iter().any(|asked| self.slice(next).contains(asked)))
    }

    /// The statements that go as a whole, and the changes to those of which a part goes.
    fn chains<'t>(&'t self, elements: &[Node<'t>]) -> Option<(Vec<Node<'t>>, Vec<Change>)> {
        let mut tops: Vec<Node> = Vec::new();
        for element in elements {
            let mut top = *element;
            while let Some(parent) = top.parent().filter(|p| p.kind() == "list") {
                top = parent;
            }
            // a condition, a substitution, a pipe: what it gives is wanted
            body(top.parent()?)?.contains(&top).then_some(())?;
            if !tops.contains(&top) {
                tops.push(top);
            }
        }
        let (mut gone, mut changes) = (Vec::new(), Vec::new());
        for top in tops {
            let links = self.links(top);
            let goes = |link: &Link| elements.contains(&link.node);
            if links.iter().all(|l| goes(l) || l.role != Role::Action) {
                gone.push(top);
                continue;
            }
            let kept = links.iter().position(|l| !goes(l))?;
            if kept > 0 {
                let (first, kept) = (&links[0], &links[kept]);
                (kept.operator == "&&").then_some(())?;
                changes.push(Change::removal(first.node.start_byte()..kept.node.start_byte()));
            }
            for pair in links[kept..].windows(2).filter(|pair| goes(&pair[1])) {
                (pair[1].operator == "&&").then_some(())?;
                changes.push(Change::removal(pair[0].node.end_byte()..pair[1].node.end_byte()));
            }
            if changes.iter().any(|c| self.text[c.span.clone()].contains("<<")) || has_comment(top) {
                return None;
            }
        }
        gone.dedup();
        Some((gone, changes))
    }

    fn links<'t>(&self, top: Node<'t>) -> Vec<Link<'t>> {
        let mut found = Vec::new();
        let mut todo = vec![(String::new(), top)];
        while let Some((operator, node)) = todo.pop() {
            if node.kind() != "list" {
                let role = role(self.slice(node), &operator);
                found.push(Link { operator, node, role });
                continue;
            }
            let parts = children(node, |n| n.kind() != "comment");
            if let [left, mid, right] = parts[..] {
                todo.push((self.slice(mid).to_owned(), right));
                todo.push((operator, left));
            }
        }
        found
    }

    fn is_prepare(&self, node: Node) -> bool {
        node.kind() == "function_definition"
            && node.child_by_field_name("name").is_some_and(|n| self.slice(n) == "src_prepare")
    }

    fn only_default(&self, left: &[Node]) -> bool {
        left.iter().all(|n| self.slice(*n) == "default") && left.len() <= 1
    }
}

fn children<'t>(node: Node<'t>, keep: impl Fn(&Node) -> bool) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(|n| keep(n)).collect()
}

/// The statements that a node holds, where it is one that holds statements; of an `if`, those of its first branch.
fn body(node: Node) -> Option<Vec<Node>> {
    let statement = |n: &Node| n.is_named() && n.kind() != "comment";
    let after = |word: &str| {
        let all = children(node, |_| true);
        let at = all.iter().position(|n| n.kind() == word).map_or(0, |n| n + 1);
        let inner = all.into_iter().skip(at);
        inner.filter(|n| statement(n) && !matches!(n.kind(), "elif_clause" | "else_clause")).collect()
    };
    match node.kind() {
        "program" | "compound_statement" | "do_group" | "subshell" => Some(children(node, statement)),
        "if_statement" | "elif_clause" => Some(after("then")),
        "else_clause" => Some(after("else")),
        "case_item" => Some(after(")")),
        _ => None,
    }
}

fn has_comment(node: Node) -> bool {
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        if node.kind() == "comment" {
            return true;
        }
        todo.extend(children(node, |_| true));
    }
    false
}

fn role(text: &str, operator: &str) -> Role {
    let mut words = text.trim_start_matches("! ").split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let says = ["die", "true", ":", "return", "exit", "ewarn", "eerror", "einfo", "elog", "eqawarn"];
    let asks = ["use", "[[", "[", "test", "has", "has_version", "in_iuse", "use_if_iuse", "ver_test"];
    if operator == "||" && says.contains(&first) {
        Role::Handler
    } else if asks.contains(&first) || (first.ends_with("grep") && second.starts_with("-") && second.contains('q')) {
        Role::Condition
    } else {
        Role::Action
    }
}

/// Whether a command that runs another does nothing beside.
fn harmless(command: &str) -> bool {
    let does = |word: &str| command.split_whitespace().filter(|w| *w == word).count();
    does("-exec") + does("-execdir") + does("-ok") <= 1 && does("-delete") == 0
}

/// Whether a command only makes a list of files.
fn feeds(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or_default();
    let does = |word: &str| command.split_whitespace().any(|w| w.starts_with(word));
    matches!(first, "find" | "grep" | "egrep" | "fgrep" | "ls" | "echo" | "printf" | "sort")
        && !does("-exec")
        && !does("-delete")
        && !does("-fprint")
        && !command.contains('>')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without the calls, each named by a text that it begins with; the number of those that stayed.
    fn left(text: &str, calls: &[&str]) -> (String, usize) {
        let layout = Layout::read(text).unwrap();
        let inventory = crate::edit::inventory::Inventory::read(text);
        let span = |call: &&str| {
            let at = text.find(call).unwrap();
            inventory.calls.iter().find(|c| c.span.start == at).unwrap().span.clone()
        };
        let (Cut { mut changes, .. }, goes) = layout.without(&calls.iter().map(span).collect::<Vec<_>>(), true);
        range::tidy(text, &mut changes);
        (range::applied(text, &changes), goes.iter().filter(|g| !**g).count())
    }

    fn inner(body: &str, calls: &[&str]) -> String {
        let (text, stayed) = left(&format!("src_prepare() {{\n\tother\n{body}\n}}\n"), calls);
        if stayed > 0 {
            return format!("{stayed} stayed");
        }
        text.strip_prefix("src_prepare() {\n\tother\n").unwrap().strip_suffix("}\n").unwrap().to_owned()
    }

    #[test]
    fn a_call_goes_with_what_hangs_on_it() {
        assert_eq!(inner("\tsed -i 1 f || die", &["sed"]), "");
        assert_eq!(inner("\tsed -e 1 \\\n\t\t-i f \\\n\t\t|| die \"no\"\n\tx", &["sed"]), "\tx\n");
        assert_eq!(inner("\tuse test && sed -i 1 f", &["sed"]), "");
        assert_eq!(inner("\t! use test && sed -i 1 f || die\n\tx", &["sed"]), "\tx\n");
        assert_eq!(inner("\tfind . -name x -exec sed -i 1 {} + || die", &["find"]), "");
        assert_eq!(inner("\tgrep -rl x . | xargs sed -i 1 || die", &["xargs"]), "");
        assert_eq!(inner("\tsed -i 1 f > /dev/null || die", &["sed"]), "");
    }

    #[test]
    fn comments_stay_and_are_named() {
        let comments = |lines: &str| {
            let layout = Layout::read(lines).unwrap();
            let call = lines.find("sed -i 1").map(|at| at..at + 10).unwrap();
            let (cut, _) = layout.without(&[call], true);
            cut.comments.into_iter().map(|at| lines[at..].lines().next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for (lines, left, named) in [
            ("\tsed -i 1 f || die # why", "\t# why\n", &["# why"][..]),
            ("\t# why\n\tsed -i 1 f || die # bug", "\t# why\n\t# bug\n", &["# why", "# bug"]),
            ("\t# why\n\t# and how\n\tsed -i 1 f", "\t# why\n\t# and how\n", &["# and how"]),
            ("\t# both\n\tsed -i 1 f\n\ty", "\t# both\n\ty\n", &["# both"]),
            ("\tx # of x\n\tsed -i 1 f", "\tx # of x\n", &[]),
            ("\t# of the block\n\n\tsed -i 1 f\n\tx", "\t# of the block\n\n\tx\n", &[]),
            ("\tx='\n# no comment'\n\tsed -i 1 f", "\tx='\n# no comment'\n", &[]),
        ] {
            assert_eq!(inner(lines, &["sed"]), left, "{lines}");
            assert_eq!(comments(&format!("f() {{\n\tother\n{lines}\n}}\n")), named, "{lines}");
        }
        // of a loop or a function that goes as a whole
        let whole = "# why\nfor f in a; do\n\tsed -i 1 $f\ndone # bug\n";
        assert_eq!(comments(whole), ["# why", "# bug"]);
        assert_eq!(comments("# why\nsrc_prepare() {\n\tdefault\n\tsed -i 1 f\n} # bug\n"), ["# why", "# bug"]);
    }

    #[test]
    fn a_part_of_a_chain_goes_alone() {
        assert_eq!(inner("\tsed -i 1 f &&\n\t\tsed -i 2 f || die", &["sed -i 1"]), "\tsed -i 2 f || die\n");
        assert_eq!(inner("\tsed -i 1 f && sed -i 2 f || die", &["sed -i 2"]), "\tsed -i 1 f || die\n");
        assert_eq!(inner("\tsed -i 1 f && sed -i 2 f || die", &["sed -i 1", "sed -i 2"]), "");
        assert_eq!(inner("\ta || sed -i 1 f", &["sed"]), "1 stayed");
    }

    #[test]
    fn nothing_is_left_empty() {
        assert_eq!(inner("\tif use x; then\n\t\tsed -i 1 f\n\tfi", &["sed"]), "1 stayed");
        assert_eq!(inner("\tif use x; then\n\t\tsed -i 1 f\n\t\ty\n\tfi", &["sed"]), "\tif use x; then\n\t\ty\n\tfi\n");
        assert_eq!(inner("\tif use x; then\n\t\ty\n\telse\n\t\tsed -i 1 f\n\tfi", &["sed"]), "1 stayed");
        assert_eq!(inner("\tif sed -i 1 f; then\n\t\ty\n\tfi", &["sed"]), "1 stayed");
        assert_eq!(inner("\tuse x && { sed -i 1 f; }", &["sed"]), "1 stayed");
        assert_eq!(inner("\tcase x in\n\t\ta) sed -i 1 f ;;\n\tesac", &["sed"]), "1 stayed");
        assert_eq!(inner("\tx=$(sed -i 1 f)", &["sed"]), "1 stayed");
        assert_eq!(inner("\tsed -i 1 f | cat", &["sed"]), "1 stayed");
        assert_eq!(inner("\tsed -i 1 f; rc=$?\n\tx", &["sed"]), "1 stayed");
        assert_eq!(inner("\tsed -i 1 f\n\t# why\n\tif [[ $? == 0 ]]; then\n\t\tx\n\tfi", &["sed"]), "1 stayed");
        // both alone could go
        assert_eq!(
            inner("\tif use x; then\n\t\tsed -i 1 f\n\t\tsed -i 2 f\n\tfi", &["sed -i 1", "sed -i 2"]),
            "1 stayed"
        );
    }

    #[test]
    fn a_loop_goes_with_its_only_call() {
        assert_eq!(inner("\tfor f in a b; do\n\t\tsed -i 1 \"$f\" || die\n\tdone\n\tx", &["sed"]), "\tx\n");
        assert_eq!(inner("\tfor f in a b; do\n\t\t# why\n\t\tsed -i 1 $f\n\tdone\n\tx", &["sed"]), "1 stayed");
        let list = "while IFS= read -r -d '' f; do\n\t\tsed -i 1 \"$f\" || die\n\tdone";
        assert_eq!(inner(&format!("\t{list} < <(find . -name x -print0)\n\tx"), &["sed"]), "\tx\n");
        assert_eq!(inner(&format!("\t{list} < <(grep -rl x . | sort)\n\tx"), &["sed"]), "\tx\n");
        assert_eq!(inner(&format!("\tfind . -print0 | {list}\n\tx"), &["sed"]), "\tx\n");
        assert_eq!(inner(&format!("\t{list} < <(make x)\n\tx"), &["sed"]), "1 stayed");
        assert_eq!(inner(&format!("\t{list} < <(find . -delete)\n\tx"), &["sed"]), "1 stayed");
        assert_eq!(inner(&format!("\t{list} < <(find .; rm x)\n\tx"), &["sed"]), "1 stayed");
        assert_eq!(inner(&format!("\t{list} > log < list\n\tx"), &["sed"]), "1 stayed");
        assert_eq!(inner("\twhile true; do\n\t\tsed -i 1 f\n\tdone", &["sed"]), "1 stayed");
        assert_eq!(
            inner("\tfor f in a; do\n\t\tsed -i 1 $f\n\t\tx\n\tdone", &["sed"]),
            "\tfor f in a; do\n\t\tx\n\tdone\n"
        );
    }

    #[test]
    fn a_prepare_without_anything_else_goes() {
        let text = "A=1\n\nsrc_prepare() {\n\tdefault\n\tsed -i 1 f || die\n}\n\nsrc_test() {\n\tx\n}\n";
        assert_eq!(left(text, &["sed"]).0, "A=1\n\nsrc_test() {\n\tx\n}\n");
        assert_eq!(left("src_prepare() {\n\tsed -i 1 f\n}\n", &["sed"]).0, "");
        let kept = "src_prepare() {\n\t# why\n\tsed -i 1 f\n\tdefault\n}\n";
        assert_eq!(left(kept, &["sed"]).0, kept.replace("\tsed -i 1 f\n", ""));
        assert_eq!(left("helper() {\n\tsed -i 1 f\n}\n", &["sed"]).1, 1);
    }
}
