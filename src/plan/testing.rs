//! Tiny universes written as text, for tests.
//!
//! ```text
//! installed dev-libs/foo-1 SLOT=0/1
//! installed app-misc/c-1 LINK="dev-libs/foo:0/1="
//! ebuild dev-libs/foo-2 SLOT=0/2 KEYWORD=~amd64
//! ebuild app-misc/c-1::guru LINK=dev-libs/foo:= IUSE="+x y" USER=y
//! world app-misc/c
//! ```
//!
//! `LINK` is DEPEND and RDEPEND; `USE` what is on (for ebuilds the `+` of IUSE if it is not given); `USER` what
//! package.use sets, `FIXED` what the profile does; KEYWORD, MASK, USERMASK (the line's number), RESTRICT and LICENSE
//! stand in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::gentoo::cpv::Cpv;
use crate::gentoo::dependency::{Atom, Dep};
use crate::gentoo::depstring::DepString;

use super::universe::{Flags, Instance, Obstacle, Source, Wanted};
use super::{Answer, Options, plan};

/// The text, line by line.
pub struct World(Vec<(String, String, BTreeMap<String, String>)>);

impl World {
    pub fn read(text: &str) -> World {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        World(lines.map(line).collect())
    }

    /// The plan for some goals.
    pub fn plan(&self, goals: &[&str]) -> Answer {
        self.plan_with(goals, &[])
    }

    /// The plan that leaves some packages as they are.
    pub fn plan_with(&self, goals: &[&str], keep: &[&str]) -> Answer {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let options = Options { keep: owned(keep), ..Options::default() };
        plan(self, &owned(goals), &options).expect("the goals can be read")
    }
}

fn line(line: &str) -> (String, String, BTreeMap<String, String>) {
    let mut words: Vec<String> = Vec::new();
    let mut quoted = false;
    words.push(String::new());
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is a word").push(c),
        }
    }
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    let (what, name) = (words.next().expect("a word"), words.next().expect("a package"));
    let fields = words.map(|word| {
        let (key, value) = word.split_once('=').expect("KEY=VALUE");
        (key.to_owned(), value.to_owned())
    });
    (what, name, fields.collect())
}

fn instance(what: &str, name: &str, fields: &BTreeMap<String, String>) -> Instance {
    let (cpv, repository) = name.split_once("::").unwrap_or((name, "gentoo"));
    let cpv = Cpv::parse(cpv).expect("a package with its version");
    let get = |key: &str| fields.get(key).map_or("", String::as_str);
    let words = |key: &str| get(key).split_whitespace().map(str::to_owned).collect::<BTreeSet<String>>();
    let slot = if get("SLOT").is_empty() { "0" } else { get("SLOT") };
    let (slot, subslot) = slot.split_once('/').unwrap_or((slot, slot));
    let installed = what == "installed";
    let by_default: BTreeSet<String> =
        get("IUSE").split_whitespace().filter_map(|flag| flag.strip_prefix('+')).map(str::to_owned).collect();
    let enabled = if fields.contains_key("USE") || installed { words("USE") } else { by_default.clone() };
    let mut invalid = None;
    let mut deps = |key: &str| {
        let text = if get(key).is_empty() && matches!(key, "DEPEND" | "RDEPEND") { get("LINK") } else { get(key) };
        if installed {
            return Dep::evaluate(Dep::parse_in_record(text).expect("a dependency"), &|flag| enabled.contains(flag));
        }
        Dep::parse_in_ebuild(text).unwrap_or_else(|error| {
            invalid = Some(error.to_string());
            Vec::new()
        })
    };
    let deps = ["DEPEND", "BDEPEND", "RDEPEND", "PDEPEND", "IDEPEND"].map(&mut deps);
    let mut obstacles = Vec::new();
    if fields.contains_key("KEYWORD") {
        obstacles.push(Obstacle::Keyword(get("KEYWORD").to_owned()));
    }
    if fields.contains_key("MASK") {
        obstacles
            .push(Obstacle::Mask { origin: "profiles/package.mask:1".to_owned(), comment: get("MASK").to_owned() });
    }
    if fields.contains_key("USERMASK") {
        obstacles.push(Obstacle::UserMask { origin: format!("etc/portage/package.mask:{}", get("USERMASK")) });
    }
    if fields.contains_key("RESTRICT") {
        let words = vec![get("RESTRICT").to_owned()];
        obstacles.push(Obstacle::Other { variable: "RESTRICT".to_owned(), words });
    }
    if fields.contains_key("LICENSE") {
        obstacles.push(Obstacle::License(vec![get("LICENSE").to_owned()]));
    }
    Instance {
        name: Rc::from(cpv.cp()),
        slot: slot.to_owned(),
        subslot: subslot.to_owned(),
        repository: repository.to_owned(),
        priority: if repository == "gentoo" { -1000 } else { get("PRIORITY").parse().unwrap_or(50) },
        installed,
        provided: what == "provided",
        flags: Flags {
            iuse: get("IUSE").split_whitespace().map(|flag| flag.trim_start_matches(['+', '-']).to_owned()).collect(),
            by_default: by_default.intersection(&enabled).cloned().collect(),
            enabled,
            fixed: words("FIXED"),
            user: words("USER"),
        },
        deps,
        required_use: DepString::parse(get("REQUIRED_USE")).expect("REQUIRED_USE"),
        obstacles,
        invalid,
        cpv,
    }
}

impl Source for World {
    fn installed(&self) -> Vec<Instance> {
        let there = self.0.iter().filter(|(what, ..)| matches!(what.as_str(), "installed" | "provided"));
        there.map(|(what, name, fields)| instance(what, name, fields)).collect()
    }

    fn candidates(&self, name: &str) -> Vec<Instance> {
        let ebuilds = self.0.iter().filter(|(what, ..)| what == "ebuild");
        ebuilds.map(|(what, name, fields)| instance(what, name, fields)).filter(|one| &*one.name == name).collect()
    }

    fn wanted(&self) -> Vec<Wanted> {
        let world = self.0.iter().filter(|(what, ..)| what == "world");
        world
            .map(|(_, name, _)| Wanted { atom: Atom::parse(name).expect("an atom"), origin: "world".to_owned() })
            .collect()
    }

    fn is_implicit_flag(&self, _flag: &str) -> bool {
        false
    }

    fn names(&self) -> Vec<String> {
        self.0
            .iter()
            .filter(|(what, ..)| what == "ebuild")
            .map(|(_, name, _)| Cpv::parse(name.split("::").next().unwrap_or(name)).expect("a package").cp())
            .collect()
    }

    fn current_name(&self, name: &str) -> String {
        name.to_owned()
    }

    fn arch(&self) -> &str {
        "amd64"
    }
}
