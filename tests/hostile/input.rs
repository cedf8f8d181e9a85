//! The inputs as their files have them.

use serde::Deserialize;

use crate::archive::{self, Entry, Kind};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub name: String,
    /// What src_prepare runs, with `@CANARY@` and its like for what lies outside ([`crate::outside`]). An attempt that
    /// gets somewhere calls `die`; behind it comes a live sed, so that a contained one is `audited`.
    #[serde(default)]
    pub script: String,
    /// What runs when the ebuild is sourced.
    #[serde(default)]
    pub global: String,
    /// Options beside the usual ones.
    #[serde(default)]
    pub args: Vec<String>,
    /// The statuses that are right.
    #[serde(default = "audited")]
    pub status: Vec<String>,
    /// What is found depends on who is faster, or on what a tier answers; then the tiers need not agree.
    #[serde(default)]
    pub either: bool,
    /// Links in FILESDIR: name and target.
    #[serde(default)]
    pub files_links: Vec<(String, String)>,
    /// Links in the repository: path and target. What is there already moves to an absolute target, and is lost to a
    /// relative one.
    #[serde(default)]
    pub links: Vec<(String, String)>,
    /// Texts in the repository: path and contents.
    #[serde(default)]
    pub put: Vec<(String, String)>,
    /// FIFOs in the repository, in the place of what is there.
    #[serde(default)]
    pub fifos: Vec<String>,
    /// The run is refused as a whole, and this stands in the message.
    #[serde(default)]
    pub refused: Option<String>,
    /// No ebuild is audited, the run goes on, and this stands among its remarks.
    #[serde(default)]
    pub hole: Option<String>,
    /// What the archive has beside `evil-1/a.txt`.
    #[serde(default)]
    pub member: Vec<Member>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    pub path: String,
    #[serde(default)]
    pub text: String,
    /// Bytes of zero in the place of a text.
    #[serde(default)]
    pub zeros: usize,
    pub symlink: Option<String>,
    pub hardlink: Option<String>,
    #[serde(default)]
    pub fifo: bool,
    pub mode: Option<u32>,
    /// Packs the contents once more, as a tarball of zeros.
    #[serde(default)]
    pub nested: bool,
    /// So many members, numbered.
    #[serde(default = "once")]
    pub times: usize,
}

#[derive(Deserialize)]
struct Inputs {
    input: Vec<Input>,
}

fn audited() -> Vec<String> {
    vec!["audited".to_owned()]
}

fn once() -> usize {
    1
}

/// All inputs of all files; no name stands twice.
pub fn all() -> Vec<Input> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/inputs");
    let mut found: Vec<Input> = Vec::new();
    for file in std::fs::read_dir(dir).unwrap().flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        let inputs: Inputs = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.path().display()));
        found.extend(inputs.input);
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.windows(2).all(|w| w[0].name != w[1].name));
    found
}

impl Input {
    /// The ebuild's only distfile.
    pub fn distfile(&self, fill: &dyn Fn(&str) -> String) -> Vec<u8> {
        let file = |text: &str| Kind::File(text.as_bytes().to_vec());
        let entry = |name: &str, mode, kind| Entry { name: name.as_bytes().to_vec(), mode, kind };
        let mut entries = vec![entry("evil-1/a.txt", 0o644, file("alpha\nbeta\n"))];
        for member in &self.member {
            for number in 0..member.times {
                let kind = if let Some(to) = &member.symlink {
                    Kind::Symlink(fill(to))
                } else if let Some(to) = &member.hardlink {
                    Kind::Hardlink(fill(to))
                } else if member.fifo {
                    Kind::Fifo
                } else if member.nested {
                    let zeros = vec![entry("evil-1/bomb", 0o644, Kind::File(vec![0; member.zeros]))];
                    Kind::File(archive::squeeze(archive::tar(&zeros, true), "gz"))
                } else if member.zeros > 0 {
                    Kind::File(vec![0; member.zeros])
                } else {
                    file(&member.text)
                };
                let name = fill(&member.path).replace("@N@", &number.to_string());
                entries.push(entry(&name, member.mode.unwrap_or(0o644), kind));
            }
        }
        archive::squeeze(archive::tar(&entries, false), "gz")
    }
}
