//! The picture as SVG.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::escaped;
use super::layout::{Layout, Node, Role, layout};
use crate::plan::{Answer, EdgeKind};

const WIDTH: usize = 230;
const HEIGHT: usize = 38;
const GAP_X: usize = 90;
const GAP_Y: usize = 12;
const TOP: usize = 84;
const LEFT: usize = 20;

/// The colours of a box: its fill and its line.
fn colors(role: Role) -> (&'static str, &'static str) {
    match role {
        Role::Goal => ("#cfe3ff", "#0b57d0"),
        Role::Member => ("#e8f0fe", "#5b86c9"),
        Role::Consumer => ("#fff1d6", "#c98a1b"),
        Role::New => ("#dff5e1", "#3c8f47"),
        Role::Unmerged => ("#fbe3e1", "#b3392f"),
        Role::Blocker => ("#fbe3e1", "#b3392f"),
    }
}

fn place(node: &Node) -> (usize, usize) {
    (LEFT + node.column * (WIDTH + GAP_X), TOP + node.half * (HEIGHT + GAP_Y) / 2)
}

pub fn draw(answer: &Answer) -> String {
    let plan = layout(answer);
    let width = LEFT * 2 + plan.heads.len().max(3) * (WIDTH + GAP_X) - GAP_X;
    let height = TOP + plan.rows.max(1) * (HEIGHT + GAP_Y) + 30;
    let mut out = String::new();
    let title = escaped(&format!("ebaudit plan {}", answer.goal.join(" ")));
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\"><title>{title}</title>\n\
         <style>.pin{{stroke:#5b86c9}}.binding{{stroke:#c98a1b;stroke-dasharray:6 3}}.need{{stroke:#9aa0a6}}\
         path{{fill:none;stroke-width:1.2;opacity:.65}}g.node:hover rect{{stroke-width:3}}</style>\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\" style=\"fill:#666;opacity:1\"/></marker></defs>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"16\" font-weight=\"bold\">{title}</text>"
    );
    legend(&mut out);
    heads(&mut out, &plan);
    edges(&mut out, answer, &plan);
    for node in &plan.nodes {
        boxed(&mut out, node);
    }
    out.push_str("</svg>\n");
    out
}

fn legend(out: &mut String) {
    let roles = [
        (Role::Goal, "goal"),
        (Role::Member, "family"),
        (Role::Consumer, "consumer"),
        (Role::New, "new"),
        (Role::Unmerged, "unmerged, in the way"),
    ];
    let mut x = LEFT;
    for (role, name) in roles {
        let (fill, line) = colors(role);
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"36\" width=\"12\" height=\"12\" fill=\"{fill}\" stroke=\"{line}\"/><text x=\"{}\" y=\"46\">{name}</text>",
            x + 17
        );
        x += 30 + name.len() * 7;
    }
    for (class, name) in [("pin", "pinned to"), ("binding", "bound to"), ("need", "needs")] {
        let _ =
            writeln!(out, "<path class=\"{class}\" d=\"M{x} 42h26\"/><text x=\"{}\" y=\"46\">{name}</text>", x + 31);
        x += 44 + name.len() * 7;
    }
}

fn heads(out: &mut String, plan: &Layout) {
    for (at, head) in plan.heads.iter().enumerate() {
        let x = LEFT + at * (WIDTH + GAP_X);
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{}\" font-weight=\"bold\" fill=\"#555\">{}</text>",
            TOP - 10,
            escaped(head)
        );
    }
}

fn edges(out: &mut String, answer: &Answer, plan: &Layout) {
    let at: BTreeMap<&str, &Node> = plan.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    for edge in &answer.edges {
        let (Some(from), Some(to)) = (at.get(edge.from.as_str()), at.get(edge.to.as_str())) else { continue };
        let ((x1, y1), (x2, y2)) = (place(from), place(to));
        let (y1, y2) = (y1 + HEIGHT / 2, y2 + HEIGHT / 2);
        let class = match edge.kind {
            EdgeKind::Pin => "pin",
            EdgeKind::Binding => "binding",
            EdgeKind::Need => "need",
        };
        let path = if from.column == to.column {
            let side = x1 + WIDTH;
            format!("M{side} {y1}C{c} {y1} {c} {y2} {side} {y2}", c = side + 40)
        } else if from.column > to.column {
            let end = x2 + WIDTH;
            format!("M{x1} {y1}C{} {y1} {} {y2} {end} {y2}", x1.saturating_sub(45), end + 45)
        } else {
            let start = x1 + WIDTH;
            format!("M{start} {y1}C{} {y1} {} {y2} {x2} {y2}", start + 45, x2.saturating_sub(45))
        };
        let _ = writeln!(
            out,
            "<path class=\"{class}\" marker-end=\"url(#tip)\" d=\"{path}\"><title>{}</title></path>",
            escaped(&format!("{} {} {}", edge.from, edge.variable, edge.atom))
        );
    }
}

fn boxed(out: &mut String, node: &Node) {
    let (x, y) = place(node);
    let (fill, line) = colors(node.role);
    let (category, package) = node.name.split_once('/').unwrap_or(("", &node.name));
    let _ = writeln!(
        out,
        "<g class=\"node\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\" fill=\"{fill}\" stroke=\"{line}\"/>\
         <text x=\"{tx}\" y=\"{}\"><tspan fill=\"#777\">{}/</tspan><tspan font-weight=\"bold\">{}</tspan></text>\
         <text x=\"{tx}\" y=\"{}\" fill=\"#333\">{}</text></g>",
        escaped(&node.because.join("\n")),
        y + 16,
        escaped(category),
        escaped(&short(package, 24)),
        y + 31,
        escaped(&short(&node.versions, 34)),
        tx = x + 8,
    );
}

fn short(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => format!("{}…", text.chars().take(most - 1).collect::<String>()),
        false => text.to_owned(),
    }
}
