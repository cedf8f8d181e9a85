//! Under which condition, in which function and in what else a piece of bash stands.

use tree_sitter::Node;

use super::syntax::next_statement;

#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub function: Option<String>,
    pub condition: Option<String>,
    pub asked: bool,
    /// Whether it may run never.
    pub branch: bool,
    /// Whether it may run more than once.
    pub looped: bool,
    /// Nothing follows in the function.
    pub last: bool,
}

impl Scope {
    /// The scope of `child` in `node`.
    pub fn within(&self, text: &str, node: Node, child: Node) -> Scope {
        let looped = self.looped || is_loop(node);
        let last = self.last && is_last(node, child);
        let mut scope = Scope { asked: self.asks(node, child), looped, last, ..self.clone() };
        scope.branch |= is_loop(node) || is_branch(node, child);
        let slice = |n: Node| one_line(text.get(n.byte_range()).unwrap_or_default());
        match node.kind() {
            "if_statement" | "elif_clause" => {
                if let Some(condition) = condition(node) {
                    if child.kind() == "else_clause" || child.kind() == "elif_clause" {
                        scope.condition = Some(negated(&slice(condition)));
                    } else if child.start_byte() > condition.end_byte() {
                        scope.condition = Some(slice(condition));
                    }
                }
            }
            "case_item" => {
                if let Some(value) = node.child_by_field_name("value")
                    && child.start_byte() > value.end_byte()
                {
                    scope.condition = Some(format!("case {}", slice(value)));
                }
            }
            "list" => {
                let mut cursor = node.walk();
                let parts: Vec<Node> = node.children(&mut cursor).collect();
                if let [left, operator, right] = parts[..]
                    && child.id() == right.id()
                {
                    scope.condition = match operator.kind() {
                        "&&" => Some(slice(left)),
                        "||" if !slice(left).starts_with("use ") => scope.condition,
                        "||" => Some(negated(&slice(left))),
                        _ => scope.condition,
                    };
                }
            }
            _ => {}
        }
        scope
    }

    /// Whether the exit status of `child` in `node` decides what runs next.
    fn asks(&self, node: Node, child: Node) -> bool {
        let mut cursor = node.walk();
        match node.kind() {
            "if_statement" | "while_statement" => {
                node.children_by_field_name("condition", &mut cursor).any(|c| c.id() == child.id())
            }
            "elif_clause" => {
                node.children(&mut cursor).take_while(|c| c.kind() != "then").any(|c| c.id() == child.id())
            }
            "negated_command" => true,
            "list" => self.asked || node.child(0).is_some_and(|left| left.id() == child.id()),
            "pipeline" | "subshell" | "compound_statement" | "redirected_statement" => self.asked,
            _ => false,
        }
    }
}

/// What an `if` or an `elif` asks; the grammar names it for `if` alone.
fn condition(node: Node) -> Option<Node> {
    node.child_by_field_name("condition").or_else(|| {
        let mut cursor = node.walk();
        node.children(&mut cursor).take_while(|c| c.kind() != "then").find(|c| c.is_named() && c.kind() != "comment")
    })
}

pub fn is_loop(node: Node) -> bool {
    matches!(node.kind(), "for_statement" | "while_statement" | "c_style_for_statement")
}

/// Whether `child` may be left out where `node` runs.
fn is_branch(node: Node, child: Node) -> bool {
    match node.kind() {
        "if_statement" | "elif_clause" | "else_clause" | "case_item" => true,
        "list" => node.child(0).is_some_and(|left| left.id() != child.id()),
        // what it sets is not set outside
        "subshell" | "pipeline" | "command_substitution" | "process_substitution" => true,
        _ => false,
    }
}

/// Whether `child` gives `node` its status.
fn is_last(node: Node, child: Node) -> bool {
    let next = next_statement(child);
    match node.kind() {
        "function_definition" | "redirected_statement" => true,
        "compound_statement" | "list" | "pipeline" | "subshell" | "else_clause" => next.is_none(),
        "if_statement" | "elif_clause" => next.is_none_or(|n| matches!(n.kind(), "elif_clause" | "else_clause")),
        _ => false,
    }
}

fn negated(condition: &str) -> String {
    match condition.strip_prefix("! ") {
        Some(rest) => rest.to_owned(),
        None => format!("! {condition}"),
    }
}

fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().filter(|w| *w != "\\").collect::<Vec<_>>().join(" ");
    let short: String = joined.chars().take(120).collect();
    short.trim_end_matches([';', ' ']).to_owned()
}
