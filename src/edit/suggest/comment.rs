//! The comments about a statement that goes: which go with it, since they would speak of nothing or of something else.

use tree_sitter::Node;

use super::range;

/// The comments on the lines right above a statement, or behind it on its line.
#[derive(Debug, Default)]
pub struct Comments<'t> {
    /// Those that speak of what goes and of nothing else.
    pub gone: Vec<Node<'t>>,
    /// The last line of those of which that is not clear.
    pub kept: Option<Node<'t>>,
}

impl<'t> Comments<'t> {
    /// Of a statement that goes together with the others of `gone`. What stands above it speaks of it alone if a blank line,
    /// another comment or the end of the block follows what goes.
    pub fn of(text: &str, node: Node<'t>, gone: &[Node<'t>]) -> Comments<'t> {
        let mut comments = Comments::default();
        if !range::is_blank(&text[range::line_start(text, node.start_byte())..node.start_byte()]) {
            return comments;
        }
        let (behind, mut end, mut next) = followers(node);
        comments.gone.extend(behind);
        while let Some(other) = next.filter(|other| gone.contains(other) && other.start_position().row == end + 1) {
            (_, end, next) = followers(other);
        }
        let alone = next.is_none_or(|next| is_comment(next) || next.start_position().row > end + 1);
        let above = above(text, node);
        match above.iter().all(|comment| speaks(text, *comment)) && alone {
            true => comments.gone.extend(above),
            false => comments.kept = above.first().copied(),
        }
        comments
    }
}

/// A comment behind a statement on its last line, that line, and the next statement or comment of its block.
fn followers(node: Node) -> (Option<Node>, usize, Option<Node>) {
    let end = node.end_position().row;
    match next(node) {
        Some(behind) if is_comment(behind) && behind.start_position().row == end => (Some(behind), end, next(behind)),
        other => (None, end, other),
    }
}

fn next(node: Node) -> Option<Node> {
    node.next_named_sibling().filter(|next| !matches!(next.kind(), "elif_clause" | "else_clause"))
}

/// The comments on the lines right above, from the last to the first; none that begin the text.
fn above<'t>(text: &str, node: Node<'t>) -> Vec<Node<'t>> {
    let own_line = |comment: &Node| {
        let start = comment.start_byte();
        range::is_blank(&text[range::line_start(text, start)..start])
    };
    let (mut found, mut at) = (Vec::new(), node);
    while let Some(comment) = at.prev_sibling().filter(|c| is_comment(*c) && own_line(c)) {
        if comment.end_position().row + 1 != at.start_position().row {
            break;
        }
        found.push(comment);
        at = comment;
    }
    if at.start_position().row == 0 { Vec::new() } else { found }
}

fn is_comment(node: Node) -> bool {
    node.kind() == "comment"
}

/// Whether it is a sentence, not a statement that is switched off.
fn speaks(text: &str, comment: Node) -> bool {
    let text = text[comment.byte_range()].trim_start_matches('#');
    text.is_empty() || text.starts_with([' ', '\t'])
}
