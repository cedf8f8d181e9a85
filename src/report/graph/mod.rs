//! A plan as a picture: the family, what pins and binds it, and the stages, in one file of its own.

mod dot;
mod html;
mod layout;
mod svg;

use std::path::Path;

use crate::plan::Answer;

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Svg,
    Dot,
    Html,
}

impl Shape {
    /// By the suffix of a file name.
    pub fn of(path: &Path) -> Option<Shape> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "svg" => Some(Shape::Svg),
            "dot" | "gv" => Some(Shape::Dot),
            "html" | "htm" => Some(Shape::Html),
            _ => None,
        }
    }
}

/// Draws a plan.
pub fn draw(answer: &Answer, shape: Shape) -> String {
    match shape {
        Shape::Svg => svg::draw(answer),
        Shape::Dot => dot::draw(answer),
        Shape::Html => html::draw(answer),
    }
}

/// Text that XML and HTML take as it is, without what a terminal or a parser would obey.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in super::printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
