//! Where the boxes of a picture stand: a column a stage, rows so that lines cross little.

use std::collections::BTreeMap;

use crate::plan::{Action, Answer, cpv_of};

/// What a box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Goal,
    Member,
    Consumer,
    New,
    Unmerged,
    Blocker,
}

/// A package in the picture.
#[derive(Clone, Debug)]
pub struct Node {
    /// `category/package`
    pub name: String,
    /// `7.2.4 -> 10.0.0`
    pub versions: String,
    pub role: Role,
    /// From 0; one a stage, the unmerged and the blockers before the first.
    pub column: usize,
    /// In half rows, so that a short column stands in the middle.
    pub half: usize,
    pub because: Vec<String>,
}

/// The boxes by name, and the columns' heads.
pub struct Layout {
    pub nodes: Vec<Node>,
    pub heads: Vec<String>,
    pub rows: usize,
}

fn name_of(atom: &str) -> String {
    let bare = cpv_of(atom);
    match bare.split_once('/') {
        Some((category, pf)) => {
            let package = crate::gentoo::cpv::split_pf(pf).map_or(pf, |(name, _)| name);
            format!("{category}/{package}")
        }
        None => bare.to_owned(),
    }
}

/// Lays a plan out.
pub fn layout(answer: &Answer) -> Layout {
    let mut column_of: BTreeMap<&str, usize> = BTreeMap::new();
    let before = answer.steps.iter().any(|step| step.action == Action::Uninstall) || !answer.blockers.is_empty();
    let first = usize::from(before);
    let mut heads = Vec::new();
    if before {
        heads.push(if answer.blockers.is_empty() { "unmerged".to_owned() } else { "in the way".to_owned() });
    }
    for (at, stage) in answer.stages.iter().enumerate() {
        heads.push(format!("stage {}", at + 1));
        column_of.extend(stage.iter().map(|atom| (atom.as_str(), at + first)));
    }
    let member = |name: &str| answer.family.iter().any(|member| member.package == name);
    let mut nodes: Vec<Node> = Vec::new();
    for step in &answer.steps {
        let name = name_of(&step.atom);
        let to = cpv_of(&step.atom).trim_start_matches(&name).trim_start_matches('-');
        let role = match step.action {
            Action::Uninstall => Role::Unmerged,
            _ if step.because.iter().any(|why| why == "goal") => Role::Goal,
            Action::Install => Role::New,
            _ if member(&name) => Role::Member,
            _ => Role::Consumer,
        };
        let versions = match (&step.from, step.action) {
            (Some(from), Action::Uninstall) => from.clone(),
            (Some(from), _) if from != to => format!("{from} → {to}"),
            _ => to.to_owned(),
        };
        let column = column_of.get(step.atom.as_str()).copied().unwrap_or(0);
        nodes.push(Node { name, versions, role, column, half: 0, because: step.because.clone() });
    }
    for blocker in &answer.blockers {
        nodes.push(Node {
            name: blocker.package.clone(),
            versions: blocker.installed.clone().unwrap_or_default(),
            role: Role::Blocker,
            column: 0,
            half: 0,
            because: vec![blocker.because.clone()],
        });
    }
    let rows = rows(&mut nodes, answer);
    for column in 0..heads.len() {
        let height = nodes.iter().filter(|node| node.column == column).count();
        for node in nodes.iter_mut().filter(|node| node.column == column) {
            node.half += rows - height;
        }
    }
    Layout { nodes, heads, rows }
}

/// Each box goes near the middle of what it hangs on in the columns before it.
fn rows(nodes: &mut [Node], answer: &Answer) -> usize {
    let columns = nodes.iter().map(|node| node.column + 1).max().unwrap_or(0);
    let mut row_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut most = 0;
    for column in 0..columns {
        let mut here: Vec<usize> = (0..nodes.len()).filter(|&at| nodes[at].column == column).collect();
        let middle = |name: &str| {
            let rows: Vec<usize> = answer
                .edges
                .iter()
                .filter(|edge| edge.from == name)
                .filter_map(|edge| row_of.get(edge.to.as_str()).copied())
                .collect();
            match rows.len() {
                0 => usize::MAX,
                n => rows.iter().sum::<usize>() * 16 / n,
            }
        };
        let keys: BTreeMap<usize, usize> = here.iter().map(|&at| (at, middle(&nodes[at].name))).collect();
        here.sort_by(|a, b| keys[a].cmp(&keys[b]).then_with(|| nodes[*a].name.cmp(&nodes[*b].name)));
        for (row, &at) in here.iter().enumerate() {
            nodes[at].half = row * 2;
            row_of.insert(nodes[at].name.clone(), row);
        }
        most = most.max(here.len());
    }
    most
}
