//! The syntax tree of a piece of bash, whose nodes have the same places as the text.

use tree_sitter::{Node, Parser, Tree};

use super::asides;

/// The tree of `text`; what the grammar can't read is an error node in it. `None`: there is no tree at all.
pub fn tree(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(ascii(asides::blanked(text)), None)
}

/// A dot for each byte that is not ASCII. The grammar's scanner hands characters of any width to `isdigit`, which reads
/// beyond its table for them; it takes letters of all languages for those of a name, which bash does not; and it finds no
/// end of a here-document that is named in them.
fn ascii(text: String) -> Vec<u8> {
    text.into_bytes().into_iter().map(|byte| if byte.is_ascii() { byte } else { b'.' }).collect()
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
