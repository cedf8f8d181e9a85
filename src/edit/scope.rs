//! Under which condition, in which function and in what else a piece of bash stands.

use std::collections::HashSet;

use tree_sitter::Node;

#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub function: Option<String>,
    /// The function's number among those of the text.
    pub body: Option<usize>,
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
    /// The scopes of all children of `node`. Together, since a hostile text has nodes with very many of them.
    pub fn of_children(&self, text: &str, node: Node, children: &[Node]) -> Vec<Scope> {
        let slice = |n: Node| one_line(text.get(n.byte_range()).unwrap_or_default());
        let kind = node.kind();
        let asked = condition(node);
        let told = if kind == "case_item" { node.child_by_field_name("value") } else { asked };
        let told = told.map(|n| (n.end_byte(), slice(n)));
        let mut deciding = HashSet::new();
        if matches!(kind, "if_statement" | "while_statement") {
            deciding.extend(node.children_by_field_name("condition", &mut node.walk()).map(|n| n.id()));
        }
        let then = children.iter().position(|child| child.kind() == "then").unwrap_or(children.len());
        let mut scopes = Vec::with_capacity(children.len());
        let mut next: Option<Node> = None;
        for (index, child) in children.iter().enumerate().rev() {
            let condition = match (kind, &told) {
                ("if_statement" | "elif_clause", Some((_, condition)))
                    if matches!(child.kind(), "else_clause" | "elif_clause") =>
                {
                    Some(negated(condition))
                }
                ("if_statement" | "elif_clause", Some((end, condition))) if child.start_byte() > *end => {
                    Some(condition.clone())
                }
                ("case_item", Some((end, value))) if child.start_byte() > *end => Some(format!("case {value}")),
                ("list", _) if index == 2 && children.len() == 3 => {
                    self.behind(&slice(children[0]), children[1].kind())
                }
                _ => self.condition.clone(),
            };
            // whether its exit status decides what runs next
            let asked = match kind {
                "if_statement" | "while_statement" => deciding.contains(&child.id()),
                "elif_clause" => index < then,
                "negated_command" => true,
                "list" => self.asked || index == 0,
                "pipeline" | "subshell" | "compound_statement" | "redirected_statement" => self.asked,
                _ => false,
            };
            scopes.push(Scope {
                function: self.function.clone(),
                body: self.body,
                condition,
                asked,
                branch: self.branch || is_loop(node) || is_branch(kind, index),
                looped: self.looped || is_loop(node),
                last: self.last && is_last(kind, next),
            });
            if child.is_named() && child.kind() != "comment" {
                next = Some(*child);
            }
        }
        scopes.reverse();
        scopes
    }

    /// The condition of what stands behind `left` and an operator.
    fn behind(&self, left: &str, operator: &str) -> Option<String> {
        match operator {
            "&&" => Some(left.to_owned()),
            "||" if left.starts_with("use ") => Some(negated(left)),
            _ => self.condition.clone(),
        }
    }
}

/// What an `if` or an `elif` asks; the grammar names it for `if` alone.
fn condition(node: Node) -> Option<Node> {
    if !matches!(node.kind(), "if_statement" | "elif_clause") {
        return None;
    }
    node.child_by_field_name("condition").or_else(|| {
        let mut cursor = node.walk();
        node.children(&mut cursor).take_while(|c| c.kind() != "then").find(|c| c.is_named() && c.kind() != "comment")
    })
}

pub fn is_loop(node: Node) -> bool {
    matches!(node.kind(), "for_statement" | "while_statement" | "c_style_for_statement")
}

/// Whether the child at `index` may be left out where a node of this kind runs.
fn is_branch(kind: &str, index: usize) -> bool {
    match kind {
        "if_statement" | "elif_clause" | "else_clause" | "case_item" => true,
        "list" => index > 0,
        // what it sets is not set outside
        "subshell" | "pipeline" | "command_substitution" | "process_substitution" => true,
        _ => false,
    }
}

/// Whether a child gives a node of this kind its status; `next` is the statement behind it.
fn is_last(kind: &str, next: Option<Node>) -> bool {
    match kind {
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
