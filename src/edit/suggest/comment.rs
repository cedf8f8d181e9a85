//! The comments about a statement that goes: they stay, being the maintainer's words, but somebody should read them again.

use tree_sitter::Node;

use super::range;

/// Where the comments begin that stood right above a statement, and behind it on its line.
pub fn near(text: &str, node: Node) -> impl Iterator<Item = usize> {
    let row = node.end_position().row;
    let behind = node.next_named_sibling().filter(|next| is_comment(*next) && next.start_position().row == row);
    let own_line = range::is_blank(&text[range::line_start(text, node.start_byte())..node.start_byte()]);
    let above = node.prev_sibling().filter(|comment| {
        let start = comment.start_byte();
        own_line
            && is_comment(*comment)
            && comment.end_position().row + 1 == node.start_position().row
            && range::is_blank(&text[range::line_start(text, start)..start])
    });
    above.into_iter().chain(behind).map(|comment| comment.start_byte())
}

fn is_comment(node: Node) -> bool {
    node.kind() == "comment"
}
