//! The comments about a statement that goes: they stay, being the maintainer's words, but somebody should read them again.

use tree_sitter::Node;

use super::range;

/// Where a comment begins that stood behind a statement on its line, or right above it.
pub fn near(text: &str, node: Node) -> Option<usize> {
    let row = node.end_position().row;
    let behind = node.next_named_sibling().filter(|next| is_comment(*next) && next.start_position().row == row);
    let above = || {
        let own_line = range::is_blank(&text[range::line_start(text, node.start_byte())..node.start_byte()]);
        node.prev_sibling().filter(|comment| {
            let start = comment.start_byte();
            own_line
                && is_comment(*comment)
                && comment.end_position().row + 1 == node.start_position().row
                && range::is_blank(&text[range::line_start(text, start)..start])
        })
    };
    behind.or_else(above).map(|comment| comment.start_byte())
}

fn is_comment(node: Node) -> bool {
    node.kind() == "comment"
}
