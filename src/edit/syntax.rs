//! The syntax tree of a piece of bash, whose nodes have the same places as the text.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::asides;

/// What reading a text may take. Megabytes take a second.
const TIME: Duration = Duration::from_secs(20);

/// The tree of `text`; what the grammar can't read is an error node in it. `None`: it takes too long.
pub fn tree(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let (bytes, end) = (ascii(asides::blanked(text)), Instant::now() + TIME);
    let mut go_on =
        |_: &ParseState| if Instant::now() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

/// A stand-in for each byte that is not ASCII, by its value, none of them with a meaning in bash or a part of a name. The grammar's scanner hands characters of any width to `isdigit`, which reads
/// beyond its table for them; it takes letters of all languages for those of a name, which bash does not; and it finds no
/// end of a here-document that is named in them.
fn ascii(text: String) -> Vec<u8> {
    const STAND_INS: [u8; 3] = [b',', b'%', b':'];
    let stand_in = |byte: u8| STAND_INS[usize::from(byte) % STAND_INS.len()];
    text.into_bytes().into_iter().map(|byte| if byte.is_ascii() { byte } else { stand_in(byte) }).collect()
}

/// What stands behind a node among those beside it, comments passed over.
pub fn next_statement(node: Node) -> Option<Node> {
    std::iter::successors(node.next_named_sibling(), Node::next_named_sibling).find(|next| next.kind() != "comment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_beyond_ascii_are_words() {
        for wide in ["\u{e9}", "\u{ffff}", "\u{1f600}", "\u{10ffff}"] {
            let text = format!("f() {{\n\techo {{{wide} {{1..{wide} ${{x}}{wide}\n}}\nsed -i {wide} f\n");
            let tree = tree(&text).unwrap();
            assert!(!tree.root_node().has_error(), "{text}\n{}", tree.root_node().to_sexp());
            assert_eq!(tree.root_node().end_byte(), text.len());
        }
    }

    #[test]
    fn a_name_ends_at_the_first_character_that_is_not_ascii() {
        let text = "echo $foo\u{e9}";
        let tree = tree(text).unwrap();
        let name = tree.root_node().descendant_for_byte_range(6, 7).unwrap();
        assert_eq!(&text[name.byte_range()], "foo");
    }

    #[test]
    fn a_here_document_ends_at_a_name_beyond_ascii() {
        let text = "cat <<\u{e9}\nsed -i s/a/b/ f\n\u{e9}\nsed -i s/c/d/ g\n";
        assert_eq!(tree(text).unwrap().root_node().to_sexp().matches("(command ").count(), 2);
    }
}
