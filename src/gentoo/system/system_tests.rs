use super::*;
use std::fs;
use std::os::unix::fs::symlink;

/// A machine below a temporary directory.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        machine.write("var/db/repos/main/profiles/repo_name", "main\n");
        machine.write("var/db/repos/main/profiles/categories", "a\nb\n");
        machine.write("var/db/repos/main/metadata/layout.conf", "masters =\n");
        machine.write("var/db/repos/main/profiles/p/eapi", "8\n");
        machine.write(
            "var/db/repos/main/profiles/p/make.defaults",
            "ARCH=amd64\nACCEPT_KEYWORDS=amd64\nUSE_EXPAND=\"LLVM_SLOT ELIBC\"\nUSE_EXPAND_IMPLICIT=ELIBC\n\
             USE_EXPAND_VALUES_ELIBC=\"glibc musl\"\nELIBC=glibc\nUSE=on\n",
        );
        machine.write("etc/portage/repos.conf", "[DEFAULT]\nmain-repo = main\n[main]\nlocation = /var/db/repos/main\n");
        symlink("/var/db/repos/main/profiles/p", machine.path("etc/portage/make.profile")).unwrap();
        fs::create_dir_all(machine.path("var/db/pkg")).unwrap();
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// An ebuild with a cache entry.
    fn ebuild(&self, repository: &str, cpv: &str, lines: &str) {
        let cpv = Cpv::parse(cpv).unwrap();
        let base = format!("var/db/repos/{repository}");
        self.write(&format!("{base}/{}/{}.ebuild", cpv.cp(), cpv.pf()), lines);
        let md5 = format!("{:x}", md5::compute(lines));
        self.write(
            &format!("{base}/metadata/md5-cache/{}/{}", cpv.category, cpv.pf()),
            &format!("{lines}\n_md5_={md5}\n"),
        );
    }

    fn record(&self, cpv: &str, fields: &[(&str, &str)]) {
        for (field, value) in [("EAPI", "8"), ("SLOT", "0"), ("repository", "main")].iter().chain(fields) {
            self.write(&format!("var/db/pkg/{cpv}/{field}"), &format!("{value}\n"));
        }
    }

    fn load(&self) -> System {
        System::load(self.0.path(), Environment::new()).unwrap()
    }
}

fn words(flags: &std::collections::BTreeSet<String>) -> String {
    flags.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

#[test]
fn threads_may_share_it() {
    fn shared<T: Send + Sync>() {}
    shared::<System>();
}

#[test]
fn use_of_a_candidate() {
    let machine = Machine::new();
    let iuse = "EAPI=8\nSLOT=0\nKEYWORDS=amd64\nIUSE=on +plus x y forced masked llvm_slot_22 llvm_slot_23 +elsewhere";
    machine.ebuild("main", "a/b-1", iuse);
    machine.write("etc/portage/make.conf", "USE=\"x -elsewhere\"\nLLVM_SLOT=22\n");
    machine.write("etc/portage/package.use/one", "a/b LLVM_SLOT: -* 23\na/b y\n*/* masked -x\n");
    machine.write("var/db/repos/main/profiles/use.mask", "masked\n");
    machine.write("etc/portage/profile/package.use.force", "=a/b-1* forced\n");
    let system = machine.load();
    let state = &system.candidates("a/b")[0].use_state;
    assert_eq!(words(&state.enabled), "elibc_glibc forced llvm_slot_23 on plus y");
    assert_eq!((words(&state.forced).as_str(), words(&state.masked).as_str()), ("forced", "masked"));
    assert_eq!(words(&state.user), "llvm_slot_22 llvm_slot_23 masked x y");
    assert_eq!(words(&state.by_default), "plus");
    assert!(system.is_implicit_flag("elibc_musl") && !system.is_implicit_flag("x"));
    assert!(system.problems().is_empty(), "{:?}", system.problems());
}

#[test]
fn obstacles() {
    let machine = Machine::new();
    machine.ebuild("main", "a/b-1", "EAPI=8\nSLOT=0/1\nKEYWORDS=~amd64\nLICENSE=|| ( evil odd )\nRESTRICT=bindist");
    machine.ebuild("main", "a/b-2", "EAPI=8\nSLOT=0\nKEYWORDS=amd64\nLICENSE=MIT");
    machine.ebuild("main", "a/b-3", "EAPI=99\nSLOT=0\nKEYWORDS=amd64");
    machine.ebuild("main", "a/b-4", "EAPI=8\nSLOT=0\nKEYWORDS=amd64\nRDEPEND=|| ( x");
    machine.write("var/db/repos/main/profiles/package.mask", "# Why\n# it is so\n=a/b-1\n\n# gone\n=a/b-2\n");
    machine.write("etc/portage/package.mask", "# mine\n>=a/b-2\n-=a/b-2\n");
    machine.write("etc/portage/make.conf", "ACCEPT_LICENSE=\"-* MIT\"\nACCEPT_RESTRICT=\"* -bindist\"\n");
    let system = machine.load();
    let found = system.candidates("a/b");
    let versions: Vec<_> = found.iter().map(|candidate| candidate.ebuild.cpv.version.as_str()).collect();
    assert_eq!(versions, ["4", "3", "2", "1"]);
    let repository = machine.path("var/db/repos/main/profiles/package.mask").display().to_string();
    assert_eq!(
        found[3].obstacles,
        [
            Obstacle::Masked { by_user: false, origin: format!("{repository}:3"), comment: "Why\nit is so".into() },
            Obstacle::Keyword { accept: "~amd64".into() },
            Obstacle::License { licenses: vec!["evil".into(), "odd".into()] },
            Obstacle::Other { variable: "RESTRICT".into(), words: vec!["bindist".into()] },
        ]
    );
    let [Obstacle::Masked { by_user: true, comment, .. }] = &found[2].obstacles[..] else {
        panic!("{:?}", found[2].obstacles);
    };
    assert_eq!(comment, "mine");
    assert_eq!(found[1].invalid.as_deref(), Some("EAPI 99 is unknown"));
    assert!(found[0].invalid.as_deref().is_some_and(|reason| reason.starts_with("RDEPEND: the `(` at word 2")));
    assert_eq!((found[2].metadata.subslot.as_str(), found[3].metadata.subslot.as_str()), ("0", "1"));
}

#[test]
fn what_has_no_cache_is_asked_for() {
    let machine = Machine::new();
    machine.write("var/db/repos/main/a/b/b-1.ebuild", "EAPI=8\n");
    let found = machine.load().candidates("a/b");
    assert_eq!(found[0].invalid.as_deref(), Some("its metadata can't be had: there is no cache entry"));
    let source: MetadataSource = Box::new(|_, ebuild| {
        let map = [("SLOT", "5"), ("KEYWORDS", "amd64"), ("EAPI", "8"), ("DESCRIPTION", &ebuild.cpv.to_string())];
        let map = map.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(super::super::metadata::Metadata::from_map(&map.into()))
    });
    let system = System::load_with(machine.0.path(), Environment::new(), source).unwrap();
    let found = system.candidates("a/b");
    assert!(found[0].is_visible() && found[0].metadata.slot == "5" && found[0].metadata.description == "a/b-1");
    // a corrupt entry is a problem, and not used
    machine.write("var/db/repos/main/metadata/md5-cache/a/b-1", "SLOT=0\ngarbage\n");
    let system = machine.load();
    assert!(system.candidates("a/b")[0].invalid.is_some());
    assert_eq!(system.problems()[0].line, Some(2));
}

#[test]
fn records_and_world_follow_moves() {
    let machine = Machine::new();
    machine.write("var/db/repos/main/profiles/updates/1Q-2026", "move a/old b/new\nslotmove b/new 0 3\n");
    machine.ebuild("main", "b/new-2", "EAPI=8\nSLOT=3\nKEYWORDS=amd64");
    machine.record("a/old-1", &[("SLOT", "0/7"), ("USE", "x y"), ("IUSE", "+x -z"), ("SIZE", "12")]);
    machine.record("a/user-1", &[("RDEPEND", "a/old:0/7=  >=a/old-1"), ("CATEGORY", "b")]);
    machine.record("a/-MERGING-user-1", &[]);
    fs::create_dir_all(machine.path("var/db/pkg/a/empty-1")).unwrap();
    fs::create_dir_all(machine.path("var/db/pkg/a/odd")).unwrap();
    machine.write("var/lib/portage/world", "a/old\nodd!\na/user\n");
    machine.write("var/lib/portage/world_sets", "@mine\n@no\n@selected\n");
    machine.write("etc/portage/sets/mine", "# remark\na/old:0\n@mine\n");
    machine.write("var/db/repos/main/profiles/p/packages", "*a/sys\n*a/gone\na/prof\n-*a/gone\n");
    let system = machine.load();
    let installed = system.installed();
    assert_eq!(installed.len(), 2);
    let (user, new) = (&installed[0], &installed[1]);
    assert_eq!((new.cpv.to_string().as_str(), new.recorded_name.as_deref()), ("b/new-1", Some("a/old")));
    assert_eq!((new.slot.as_str(), new.subslot.as_str(), new.size), ("3", "7", Some(12)));
    assert_eq!((words(&new.iuse), words(&new.use_flags)), ("x z".into(), "x y".into()));
    assert_eq!(user.dependencies.rdepend, "b/new:3/7= >=b/new-1");
    // Portage changes world before the records, so nothing of the new name is there yet when the slot moves
    let world: Vec<_> = system.world().iter().map(|wanted| format!("{} {}", wanted.atom, wanted.origin)).collect();
    assert_eq!(
        world,
        [
            "b/new var/lib/portage/world:1",
            "a/user var/lib/portage/world:3",
            "b/new:0 etc/portage/sets/mine:2",
            "a/sys @system"
        ]
    );
    assert_eq!((system.current_name("a/old"), system.current_name("a/user")), ("b/new", "a/user"));
    let problems: Vec<_> = system.problems().iter().map(|problem| problem.to_string()).collect();
    for part in [
        "a/empty-1: the record is empty",
        "a/odd: is no name",
        "CATEGORY: says b",
        "world:2: `odd!`",
        "world_sets:2: @no",
    ] {
        assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:?}");
    }
    assert_eq!(problems.len(), 5);
}

#[test]
fn two_repositories() {
    let machine = Machine::new();
    machine.write("var/db/repos/over/profiles/repo_name", "over\n");
    machine.write("var/db/repos/over/metadata/layout.conf", "masters = main\n");
    machine.write("var/db/repos/over/profiles/package.mask", "-a/b\n");
    machine.write("var/db/repos/main/profiles/package.mask", "a/b\na/c\n");
    let conf = "[DEFAULT]\nmain-repo = main\n[main]\nlocation = /var/db/repos/main\n[over]\nlocation = /var/db/repos/over\n\
                [none]\nlocation = /nowhere\n";
    machine.write("etc/portage/repos.conf", conf);
    for repository in ["main", "over"] {
        for package in ["a/b-1", "a/c-1"] {
            machine.ebuild(repository, package, "EAPI=8\nSLOT=0\nKEYWORDS=amd64");
        }
    }
    let system = machine.load();
    let shown = |name: &str| -> Vec<_> {
        let found = system.candidates(name);
        found.iter().map(|c| (c.ebuild.repository.clone(), c.priority, c.is_visible())).collect()
    };
    assert_eq!(shown("a/b"), [("over".into(), 0, true), ("main".into(), -1000, false)]);
    assert_eq!(shown("a/c"), [("over".into(), 0, false), ("main".into(), -1000, false)]);
    assert_eq!(system.package_names(), ["a/b", "a/c"]);
    assert!(system.problems()[0].message.contains("[none] is left out"));
}

#[test]
fn what_stops_it() {
    let machine = Machine::new();
    let error = || System::load(machine.0.path(), Environment::new()).err().unwrap();
    fs::remove_dir(machine.path("var/db/pkg")).unwrap();
    assert!(matches!(error(), SystemError::NoRecords(_)));
    fs::remove_file(machine.path("etc/portage/make.profile")).unwrap();
    assert!(matches!(error(), SystemError::NoProfile(_)));
    fs::remove_file(machine.path("etc/portage/repos.conf")).unwrap();
    assert!(matches!(error(), SystemError::NoRepositories(_)));
}

#[test]
fn a_profile_by_another_way() {
    let machine = Machine::new();
    let link = machine.path("etc/portage/make.profile");
    machine.ebuild("main", "a/b-1", "EAPI=8\nSLOT=0\nKEYWORDS=amd64");
    // a link as it was on another machine
    fs::remove_file(&link).unwrap();
    symlink("/nowhere/usr/portage/profiles/p", &link).unwrap();
    assert_eq!(machine.load().arch(), "amd64");
    // a directory with a parent in a repository
    fs::remove_file(&link).unwrap();
    machine.write("etc/portage/make.profile/parent", "main:p\n");
    machine.write("etc/portage/make.profile/make.defaults", "ACCEPT_KEYWORDS=-amd64\n");
    let system = machine.load();
    assert!(system.accept_keywords().is_empty() && !system.candidates("a/b")[0].is_visible());
    machine.write("etc/portage/make.profile/parent", "main:none\n");
    assert!(matches!(System::load(machine.0.path(), Environment::new()), Err(SystemError::Profile(_))));
}

#[test]
fn bad_lines_are_problems() {
    let machine = Machine::new();
    machine.write("etc/portage/make.conf", "USE=\"x\"\nACCEPT_KEYWORDS=~amd64\nBAD LINE\nUSE=y\n");
    machine.write("etc/portage/package.use", "a/b!! x\na/b -y\n");
    machine.write("etc/portage/package.env", "a/b none.conf\n");
    machine.ebuild("main", "a/b-1", "EAPI=8\nSLOT=0\nKEYWORDS=~amd64\nIUSE=x y");
    let system = machine.load();
    assert_eq!(words(&system.candidates("a/b")[0].use_state.enabled), "elibc_glibc x");
    let shown: Vec<_> = system.problems().iter().map(|problem| (problem.path.clone(), problem.line)).collect();
    let etc = |name: &str| machine.path("etc/portage").join(name);
    assert_eq!(shown, [(etc("make.conf"), Some(3)), (etc("package.env"), None), (etc("package.use"), Some(1))]);
}

#[test]
fn lines_that_say_nothing_are_told_though_portage_takes_them() {
    let machine = Machine::new();
    machine.write(
        "etc/portage/package.use/own",
        "a/b\na/b -x foo=bar y\na/b LLVM_SLOT:\na/b -* llvm_slot_* LLVM_SLOT: -* 22\n",
    );
    machine.write("etc/portage/package.license", "a/b\na/b EULA\n");
    machine.write("etc/portage/package.env", "a/b\n");
    machine.write("etc/portage/package.accept_keywords", "a/b\n");
    machine.write("etc/portage/profile/package.use.mask", "a/b\n");
    machine.ebuild("main", "a/b-1", "EAPI=8\nSLOT=0\nKEYWORDS=~amd64\nIUSE=x y llvm_slot_22 llvm_slot_23");
    let system = machine.load();
    assert!(system.candidates("a/b")[0].is_visible());
    let etc = format!("{}/", machine.path("etc/portage").display());
    let shown: Vec<String> = system.problems().iter().map(|problem| problem.to_string().replace(&etc, "")).collect();
    let alone = |what: &str| format!("`a/b` alone changes nothing here; write a {what} behind it, or remove the line");
    let expected = [
        format!("package.env:1: {}", alone("file of env/")),
        format!("package.license:1: {}", alone("licence")),
        format!("package.use/own:1: {}", alone("flag")),
        "package.use/own:2: `foo=bar` is no USE flag (PMS 3.1.4); mend or remove it".to_owned(),
        format!("package.use/own:3: {}", alone("flag")),
        format!("profile/package.use.mask:1: {}", alone("flag")),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn what_of_the_records_cannot_be_read_is_told() {
    let machine = Machine::new();
    machine.record("a/user-1", &[("PDEPEND", "a/b")]);
    // a link to itself can be read by nobody, root included
    symlink("RDEPEND", machine.path("var/db/pkg/a/user-1/RDEPEND")).unwrap();
    machine.record("a/two-1", &[]);
    for field in ["DEPEND", "SLOT"] {
        let _ = fs::remove_file(machine.path("var/db/pkg/a/two-1").join(field));
        symlink(field, machine.path("var/db/pkg/a/two-1").join(field)).unwrap();
    }
    symlink("round-1", machine.path("var/db/pkg/a/round-1")).unwrap();
    symlink("nowhere", machine.path("var/db/pkg/a/gone-1")).unwrap();
    symlink("b", machine.path("var/db/pkg/b")).unwrap();
    let system = machine.load();
    let shown = |pf: &str| -> (String, Vec<&str>) {
        let found = system.installed().iter().find(|package| package.cpv.pf() == pf).unwrap();
        let fields = found.unreadable.iter().map(|unreadable| unreadable.field.as_str()).collect();
        (found.dependencies.pdepend.clone(), fields)
    };
    assert_eq!(shown("user-1"), ("a/b".to_owned(), vec!["RDEPEND"]));
    assert_eq!(shown("two-1").1, ["DEPEND", "SLOT"]);
    assert!(shown("round-1").1.contains(&"RDEPEND"));
    assert_eq!(system.installed().len(), 3);
    let problems: Vec<_> = system.problems().iter().map(|problem| problem.to_string()).collect();
    for part in [
        "a/user-1/RDEPEND: can't be read: ",
        "a/two-1: DEPEND, SLOT can't be read: ",
        "a/round-1: BDEPEND, ",
        "pkg/b: can't be read: ",
    ] {
        assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:?}");
    }
    assert_eq!(problems.len(), 4, "{problems:?}");
    let base = machine.path("var/db/pkg");
    let permissions = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    fs::set_permissions(&base, permissions(0o300)).unwrap();
    let load = System::load(machine.0.path(), Environment::new());
    fs::set_permissions(&base, permissions(0o700)).unwrap();
    // root may read it all the same
    assert!(load.is_ok() == rustix::process::geteuid().is_root());
}

#[test]
fn what_may_be_no_repository_is_told() {
    let machine = Machine::new();
    machine.write("home/notes/todo", "x\n");
    machine.write("var/db/repos/plain/metadata/layout.conf", "masters =\n");
    let conf = "[DEFAULT]\nmain-repo = main\n[main]\nlocation = /var/db/repos/main\n[odd]\nlocation = /home/notes\n\
                [plain]\nlocation = /var/db/repos/plain\n";
    machine.write("etc/portage/repos.conf", conf);
    let problems = machine.load().problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].path, machine.path("home/notes"));
    assert!(problems[0].message.starts_with("has no profiles/repo_name; is that a repository?"));
}

#[test]
fn what_is_no_regular_file_is_told() {
    let machine = Machine::new();
    let world = machine.path("var/lib/portage/world");
    fs::create_dir_all(world.parent().unwrap()).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &world, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    symlink("/dev/zero", machine.path("etc/portage/package.mask")).unwrap();
    symlink("/dev/null", machine.path("etc/portage/package.unmask")).unwrap();
    symlink("/proc/self/maps", machine.path("etc/portage/make.conf")).unwrap();
    machine.write("etc/portage/package.use/one", "a/b x\n");
    symlink("two", machine.path("etc/portage/package.use/two")).unwrap();
    let problems = machine.load().problems();
    let shown: Vec<_> = problems.iter().map(|problem| problem.path.file_name().unwrap()).collect();
    assert_eq!(shown, ["make.conf", "package.mask", "two", "world"], "{problems:?}");
    assert!(problems[0].message.contains("it is a file of /proc"), "{problems:?}");
    assert!(problems[3].message.contains("it is no regular file"), "{problems:?}");
}
