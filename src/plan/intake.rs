//! A machine as a source of packages.

use std::collections::BTreeSet;
use std::rc::Rc;

use rayon::prelude::*;

use crate::gentoo::dependency::{Atom, Dep};
use crate::gentoo::depstring::DepString;
use crate::gentoo::system::{self, System};

use super::universe::{Flags, Instance, Obstacle, Source, Wanted};

impl Source for System {
    fn installed(&self) -> Vec<Instance> {
        let records = System::installed(self).iter().map(record);
        let provided = self.provided().iter().map(|cpv| Instance {
            name: Rc::from(cpv.cp()),
            cpv: cpv.clone(),
            slot: "0".to_owned(),
            subslot: "0".to_owned(),
            repository: String::new(),
            priority: 0,
            installed: false,
            provided: true,
            flags: Flags::default(),
            deps: Default::default(),
            required_use: DepString::default(),
            obstacles: Vec::new(),
            invalid: None,
        });
        records.chain(provided).collect()
    }

    fn candidates(&self, name: &str) -> Vec<Instance> {
        System::candidates(self, name).iter().map(ebuild).collect()
    }

    fn prepare(&self, names: &[Rc<str>]) {
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        names.par_iter().for_each(|name| {
            System::candidates(self, name);
        });
    }

    fn wanted(&self) -> Vec<Wanted> {
        let read = |wanted: &system::WorldAtom| {
            // a set holds any atom; what can't be read was reported when the file was
            Some(Wanted { atom: Atom::parse(&wanted.atom).ok()?, origin: wanted.origin.clone() })
        };
        self.world().iter().filter_map(read).filter(|wanted| !wanted.atom.is_blocker()).collect()
    }

    fn is_implicit_flag(&self, flag: &str) -> bool {
        System::is_implicit_flag(self, flag)
    }

    fn names(&self) -> Vec<String> {
        self.package_names().to_vec()
    }

    fn current_name(&self, name: &str) -> String {
        System::current_name(self, name).to_owned()
    }

    fn arch(&self) -> &str {
        System::arch(self)
    }
}

fn record(installed: &system::Installed) -> Instance {
    let texts = &installed.dependencies;
    let on = |flag: &str| installed.use_flags.contains(flag);
    let mut invalid = unreadable(&installed.unreadable);
    // what can't be read binds nothing, and the plan says so
    let mut read = |variable: &str, text: &str| {
        let deps = Dep::parse_in_record(text).unwrap_or_else(|error| {
            invalid
                .get_or_insert_with(|| format!("{variable} of its record can't be read and is passed over: {error}"));
            Vec::new()
        });
        Dep::evaluate(deps, &on)
    };
    let deps = [
        read("DEPEND", &texts.depend),
        read("BDEPEND", &texts.bdepend),
        read("RDEPEND", &texts.rdepend),
        read("PDEPEND", &texts.pdepend),
        read("IDEPEND", &texts.idepend),
    ];
    Instance {
        name: Rc::from(installed.cpv.cp()),
        cpv: installed.cpv.clone(),
        slot: installed.slot.clone(),
        subslot: installed.subslot.clone(),
        repository: installed.repository.clone(),
        priority: 0,
        installed: true,
        provided: false,
        flags: Flags { iuse: installed.iuse.clone(), enabled: installed.use_flags.clone(), ..Flags::default() },
        deps,
        required_use: DepString::default(),
        obstacles: Vec::new(),
        invalid,
    }
}

/// What of a record can't be read, and why.
fn unreadable(fields: &[system::Unreadable]) -> Option<String> {
    let reason = &fields.first()?.reason;
    let names: Vec<&str> = fields.iter().filter(|other| other.reason == *reason).map(|one| &*one.field).collect();
    Some(format!("{} of its record can't be read: {reason}", names.join(", ")))
}

fn ebuild(candidate: &system::Candidate) -> Instance {
    let (metadata, state) = (&candidate.metadata, &candidate.use_state);
    let mut invalid = candidate.invalid.clone();
    let mut read = |variable: &str, text: &str| {
        Dep::parse_in_ebuild(text).unwrap_or_else(|error| {
            invalid.get_or_insert_with(|| format!("{variable}: {error}"));
            Vec::new()
        })
    };
    let deps = [
        read("DEPEND", &metadata.depend),
        read("BDEPEND", &metadata.bdepend),
        read("RDEPEND", &metadata.rdepend),
        read("PDEPEND", &metadata.pdepend),
        read("IDEPEND", &metadata.idepend),
    ];
    let required_use = DepString::parse(&metadata.required_use).unwrap_or_else(|error| {
        invalid.get_or_insert_with(|| format!("REQUIRED_USE: {error}"));
        DepString::default()
    });
    let iuse: BTreeSet<String> = metadata.iuse_flags().map(str::to_owned).collect();
    Instance {
        name: Rc::from(candidate.ebuild.cpv.cp()),
        cpv: candidate.ebuild.cpv.clone(),
        slot: metadata.slot.clone(),
        subslot: metadata.subslot.clone(),
        repository: candidate.ebuild.repository.clone(),
        priority: candidate.priority,
        installed: false,
        provided: false,
        flags: Flags {
            iuse,
            enabled: state.enabled.clone(),
            fixed: state.forced.union(&state.masked).cloned().collect(),
            user: state.user.clone(),
            by_default: state.by_default.clone(),
        },
        deps,
        required_use,
        obstacles: candidate.obstacles.iter().map(obstacle).collect(),
        invalid,
    }
}

fn obstacle(obstacle: &system::Obstacle) -> Obstacle {
    match obstacle {
        system::Obstacle::Masked { by_user: true, origin, .. } => Obstacle::UserMask { origin: origin.clone() },
        system::Obstacle::Masked { origin, comment, .. } => {
            Obstacle::Mask { origin: origin.clone(), comment: comment.clone() }
        }
        system::Obstacle::Keyword { accept } => Obstacle::Keyword(accept.clone()),
        system::Obstacle::License { licenses } => Obstacle::License(licenses.clone()),
        system::Obstacle::Other { variable, words } => {
            Obstacle::Other { variable: variable.clone(), words: words.clone() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_cannot_be_read_is_told_of() {
        let field = |field: &str, reason: &str| system::Unreadable { field: field.into(), reason: reason.into() };
        assert_eq!(unreadable(&[]), None);
        let denied = "Permission denied";
        let one = unreadable(&[field("RDEPEND", denied)]).unwrap();
        assert_eq!(one, "RDEPEND of its record can't be read: Permission denied");
        let more = [field("DEPEND", denied), field("RDEPEND", denied), field("USE", "it is no regular file")];
        assert_eq!(unreadable(&more).unwrap(), "DEPEND, RDEPEND of its record can't be read: Permission denied");
    }
}
