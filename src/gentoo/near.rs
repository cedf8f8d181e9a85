//! Names that could have been meant by one that is not there.

/// Names that are there and could have been meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near(pub Vec<String>);

impl std::fmt::Display for Near {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.is_empty() {
            true => Ok(()),
            false => write!(f, "; there is {}", self.0.join(", ")),
        }
    }
}

/// The closest of some `category/package` names, at most three and none that is far off.
pub(crate) fn nearest(name: &str, all: Vec<String>) -> Vec<String> {
    let (wanted, whole) = (name.to_lowercase(), name.contains('/'));
    let mut ranked: Vec<(usize, String)> = all
        .into_iter()
        .filter_map(|candidate| {
            let package = candidate.split_once('/').map_or("", |(_, package)| package);
            let own = wanted.rsplit('/').next().unwrap_or("");
            let direct = distance(&wanted, &if whole { &candidate } else { package }.to_lowercase());
            // the right package in another category is as good as two letters off
            let rank = if own == package.to_lowercase() { direct.min(2) } else { direct };
            (rank <= 2.max(own.len() / 4)).then_some((rank, candidate))
        })
        .collect();
    ranked.sort();
    ranked.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein's distance in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let next = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names() {
        let near = |name: &str| nearest(name, ["a/foo", "b/foo", "a/foobar", "a/x"].map(str::to_owned).into());
        assert_eq!(near("fooo"), ["a/foo", "b/foo"]);
        assert_eq!(near("c/foobar"), ["a/foobar"]);
        assert_eq!(near("A/Foo"), ["a/foo", "b/foo"]);
        assert!(near("entirely-else").is_empty() && near("").len() <= 3);
        assert_eq!((distance("", "ab"), distance("abc", "abd"), distance("abc", "ac")), (2, 1, 1));
    }
}
