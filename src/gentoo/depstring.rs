//! The nested syntax that SRC_URI, RESTRICT, REQUIRED_USE and LICENSE share (PMS 8.2).

use std::collections::BTreeSet;

use super::names;

/// How deep groups may nest. Real ebuilds stay below ten.
pub const MAX_DEPTH: usize = 512;

/// Why a text is not in that syntax. Words are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DepStringError {
    #[error("the `(` at word {word} is never closed; add a `)`")]
    Unclosed { word: usize },
    #[error("the `)` at word {word} closes nothing")]
    Unopened { word: usize },
    #[error("`{text}` at word {word} wants a group; write `{text} ( … )`")]
    NoGroup { word: usize, text: String },
    #[error("`{text}` at word {word} has a parenthesis glued on; put blanks around it")]
    Glued { word: usize, text: String },
    #[error("`{text}` at word {word} names no USE flag (PMS 3.1.4)")]
    BadFlag { word: usize, text: String },
    #[error("the groups nest deeper than {MAX_DEPTH} at word {word}")]
    TooDeep { word: usize },
}

/// What stands before a group's parenthesis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// `( … )`
    All,
    /// `|| ( … )`
    AnyOf,
    /// `^^ ( … )`
    ExactlyOne,
    /// `?? ( … )`
    AtMostOne,
    /// `flag? ( … )`, or `!flag? ( … )` with `enabled` false.
    Use { flag: String, enabled: bool },
}

/// A word or a group. Groups nest no deeper than [`MAX_DEPTH`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Word(String),
    Group(GroupKind, Vec<Node>),
}

/// A parsed text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DepString {
    pub nodes: Vec<Node>,
}

impl DepString {
    /// Reads a text: words, groups, operators and conditionals, with blanks between them.
    pub fn parse(text: &str) -> Result<DepString, DepStringError> {
        // the groups that are open: where, what, and what they hold so far
        let mut open: Vec<(usize, GroupKind, Vec<Node>)> = Vec::new();
        let mut nodes = Vec::new();
        let mut pending: Option<(usize, String, GroupKind)> = None;
        for (index, token) in text.split_whitespace().enumerate() {
            let word = index + 1;
            if token == "(" {
                if open.len() >= MAX_DEPTH {
                    return Err(DepStringError::TooDeep { word });
                }
                let kind = pending.take().map_or(GroupKind::All, |(_, _, kind)| kind);
                open.push((word, kind, std::mem::take(&mut nodes)));
                continue;
            }
            if let Some((word, text, _)) = pending.take() {
                return Err(DepStringError::NoGroup { word, text });
            }
            if token == ")" {
                let (_, kind, outer) = open.pop().ok_or(DepStringError::Unopened { word })?;
                let group = Node::Group(kind, std::mem::replace(&mut nodes, outer));
                nodes.push(group);
                continue;
            }
            if token.starts_with(['(', ')']) || token.ends_with(['(', ')']) {
                return Err(DepStringError::Glued { word, text: token.to_owned() });
            }
            match operator(token, word)? {
                Some(kind) => pending = Some((word, token.to_owned(), kind)),
                None => nodes.push(Node::Word(token.to_owned())),
            }
        }
        if let Some((word, text, _)) = pending {
            return Err(DepStringError::NoGroup { word, text });
        }
        match open.last() {
            Some(&(word, ..)) => Err(DepStringError::Unclosed { word }),
            None => Ok(DepString { nodes }),
        }
    }

    /// The words that hold with these flags, in order; operators other than conditionals take all their words.
    pub fn evaluate(&self, enabled: &dyn Fn(&str) -> bool) -> Vec<&str> {
        let mut words = Vec::new();
        walk(&self.nodes, &mut |node| match node {
            Node::Word(word) => {
                words.push(word.as_str());
                false
            }
            Node::Group(GroupKind::Use { flag, enabled: wanted }, _) => enabled(flag) == *wanted,
            Node::Group(..) => true,
        });
        words
    }

    /// All words, whatever the flags.
    pub fn all_words(&self) -> Vec<&str> {
        let mut words = Vec::new();
        walk(&self.nodes, &mut |node| {
            if let Node::Word(word) = node {
                words.push(word.as_str());
            }
            true
        });
        words
    }

    /// The flags that conditionals ask.
    pub fn flags(&self) -> BTreeSet<&str> {
        let mut flags = BTreeSet::new();
        walk(&self.nodes, &mut |node| {
            if let Node::Group(GroupKind::Use { flag, .. }, _) = node {
                flags.insert(flag.as_str());
            }
            true
        });
        flags
    }

    /// Whether the text, read as a REQUIRED_USE, is satisfied by these flags (PMS 7.3.4, 8.2).
    pub fn is_satisfied(&self, enabled: &dyn Fn(&str) -> bool) -> bool {
        all(&self.nodes, enabled)
    }
}

/// Visits nodes in order; `enter` says whether to go into a group.
fn walk<'a>(nodes: &'a [Node], enter: &mut dyn FnMut(&'a Node) -> bool) {
    let mut stack: Vec<_> = vec![nodes.iter()];
    while let Some(top) = stack.last_mut() {
        match top.next() {
            None => {
                stack.pop();
            }
            Some(node) => {
                if let (true, Node::Group(_, inner)) = (enter(node), node) {
                    stack.push(inner.iter());
                }
            }
        }
    }
}

fn operator(token: &str, word: usize) -> Result<Option<GroupKind>, DepStringError> {
    Ok(match token {
        "||" => Some(GroupKind::AnyOf),
        "^^" => Some(GroupKind::ExactlyOne),
        "??" => Some(GroupKind::AtMostOne),
        _ => match token.strip_suffix('?') {
            None => None,
            Some(condition) => {
                let flag = condition.strip_prefix('!');
                let (flag, enabled) = (flag.unwrap_or(condition), flag.is_none());
                if !names::is_use_flag(flag) {
                    // a URI may end in a question mark
                    if token.contains("://") {
                        return Ok(None);
                    }
                    return Err(DepStringError::BadFlag { word, text: token.to_owned() });
                }
                Some(GroupKind::Use { flag: flag.to_owned(), enabled })
            }
        },
    })
}

fn all(nodes: &[Node], enabled: &dyn Fn(&str) -> bool) -> bool {
    nodes.iter().all(|node| satisfied(node, enabled))
}

// recursion is bounded by MAX_DEPTH
fn satisfied(node: &Node, enabled: &dyn Fn(&str) -> bool) -> bool {
    let count = |nodes: &[Node]| {
        // a conditional that does not apply is no member of the group
        let members = nodes.iter().filter(|node| match node {
            Node::Group(GroupKind::Use { flag, enabled: wanted }, _) => enabled(flag) == *wanted,
            _ => true,
        });
        members.fold((0, 0), |(all, held), node| (all + 1, held + usize::from(satisfied(node, enabled))))
    };
    match node {
        Node::Word(word) => match word.strip_prefix('!') {
            Some(flag) => !enabled(flag),
            None => enabled(word),
        },
        Node::Group(GroupKind::All, nodes) => all(nodes, enabled),
        Node::Group(GroupKind::Use { flag, enabled: wanted }, nodes) => enabled(flag) != *wanted || all(nodes, enabled),
        Node::Group(kind, nodes) => match (kind, count(nodes)) {
            // PMS 8.2: an empty group of these is satisfied
            (_, (0, _)) => true,
            (GroupKind::AnyOf, (_, held)) => held >= 1,
            (GroupKind::ExactlyOne, (_, held)) => held == 1,
            (_, (_, held)) => held <= 1,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn eval(text: &str, flags: &[&str]) -> Vec<String> {
        let parsed = DepString::parse(text).unwrap();
        let enabled = |flag: &str| flags.contains(&flag);
        parsed.evaluate(&enabled).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn conditionals() {
        let text = "a x? ( b !y? ( c ) ( d ) ) !x? ( e ) || ( f g )";
        assert_eq!(eval(text, &["x"]), ["a", "b", "c", "d", "f", "g"]);
        assert_eq!(eval(text, &["x", "y"]), ["a", "b", "d", "f", "g"]);
        assert_eq!(eval(text, &[]), ["a", "e", "f", "g"]);
        let parsed = DepString::parse(text).unwrap();
        assert_eq!(parsed.all_words(), ["a", "b", "c", "d", "e", "f", "g"]);
        assert_eq!(parsed.flags().into_iter().collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(eval("https://x/y?", &[]), ["https://x/y?"]);
    }

    #[test]
    fn errors_say_where() {
        let error = |text: &str| DepString::parse(text).unwrap_err().to_string();
        assert_eq!(error("a ( b ( c )"), "the `(` at word 2 is never closed; add a `)`");
        assert_eq!(error("a )"), "the `)` at word 2 closes nothing");
        assert_eq!(error("x? a"), "`x?` at word 1 wants a group; write `x? ( … )`");
        assert_eq!(error("||"), "`||` at word 1 wants a group; write `|| ( … )`");
        assert!(error("x? (a )").contains("wants a group") && error("( a)").contains("glued"));
        assert!(error("!!? ( a )").contains("names no USE flag"));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}a{}", "( ".repeat(depth), " )".repeat(depth));
        assert_eq!(eval(&nested(MAX_DEPTH), &[]), ["a"]);
        let error = DepString::parse(&nested(100_000)).unwrap_err();
        assert_eq!(error, DepStringError::TooDeep { word: MAX_DEPTH + 1 });
    }

    #[test]
    fn required_use() {
        let holds =
            |text: &str, flags: &[&str]| DepString::parse(text).unwrap().is_satisfied(&|flag| flags.contains(&flag));
        assert!(holds("a? ( b !c )", &["a", "b"]) && !holds("a? ( b !c )", &["a", "b", "c"]) && holds("a? ( b )", &[]));
        assert!(holds("|| ( a b )", &["b"]) && !holds("|| ( a b )", &[]) && holds("|| ( )", &[]));
        assert!(holds("^^ ( a b )", &["b"]) && !holds("^^ ( a b )", &["a", "b"]) && !holds("^^ ( a b )", &[]));
        assert!(holds("?? ( a b )", &[]) && !holds("?? ( a b )", &["a", "b"]));
        assert!(holds("|| ( x? ( a ) )", &[]) && !holds("|| ( x? ( a ) b )", &[]) && holds("( a ( b ) )", &["a", "b"]));
    }

    proptest! {
        #[test]
        fn never_panics(text in r"((\( |\) |x\? |\|\| |!y\? |a ){0,20})|\PC*") {
            if let Ok(parsed) = DepString::parse(&text) {
                let all = parsed.all_words().len();
                prop_assert!(parsed.evaluate(&|_| true).len() <= all);
                parsed.is_satisfied(&|_| false);
            }
        }
    }
}
