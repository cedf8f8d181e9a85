//! The picture for Graphviz.

use std::fmt::Write as _;

use super::layout::{Role, layout};
use crate::plan::{Answer, EdgeKind};

pub fn draw(answer: &Answer) -> String {
    let plan = layout(answer);
    let mut out = String::from(
        "digraph plan {\n  rankdir=RL;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=9];\n",
    );
    let _ = writeln!(out, "  label={};\n  labelloc=t;", quoted(&format!("ebaudit plan {}", answer.goal.join(" "))));
    for (column, head) in plan.heads.iter().enumerate() {
        let _ = writeln!(out, "  subgraph {} {{\n    rank=same;", quoted(head));
        for node in plan.nodes.iter().filter(|node| node.column == column) {
            let (fill, line) = match node.role {
                Role::Goal => ("#cfe3ff", "#0b57d0"),
                Role::Member => ("#e8f0fe", "#5b86c9"),
                Role::Consumer => ("#fff1d6", "#c98a1b"),
                Role::New => ("#dff5e1", "#3c8f47"),
                Role::Unmerged | Role::Blocker => ("#fbe3e1", "#b3392f"),
            };
            let _ = writeln!(
                out,
                "    {} [label={}, fillcolor=\"{fill}\", color=\"{line}\", tooltip={}];",
                quoted(&node.name),
                quoted(&format!("{}\n{}", node.name, node.versions)),
                quoted(&node.because.join("\n"))
            );
        }
        out.push_str("  }\n");
    }
    let known = |name: &str| plan.nodes.iter().any(|node| node.name == name);
    for edge in answer.edges.iter().filter(|edge| known(&edge.from) && known(&edge.to)) {
        let style = match edge.kind {
            EdgeKind::Pin => "color=\"#5b86c9\"",
            EdgeKind::Binding => "color=\"#c98a1b\", style=dashed",
            EdgeKind::Need => "color=\"#9aa0a6\"",
        };
        let label = quoted(&format!("{} {}", edge.variable, edge.atom));
        let _ = writeln!(out, "  {} -> {} [{style}, tooltip={label}];", quoted(&edge.from), quoted(&edge.to));
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    let text = super::super::printable(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}
