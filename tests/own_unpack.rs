//! Layers of an src_unpack of the ebuild's own: the report is the same whether the phase runs or an earlier run of it is
//! taken, and one is taken only where all that the phase can see is the same.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[allow(dead_code)] // cases.rs uses the rest
#[path = "support/archive.rs"]
mod archive;
#[allow(dead_code)] // the other tests use the rest
mod support;

use support::overlay::{Place, dist_line, found, put};
use support::run::{Done, audit, cache, killed, run};
use support::tiers;

fn tarball(version: &str, files: usize) -> Vec<u8> {
    let file = |name: &str, text: &str| archive::Entry {
        name: format!("one-{version}/{name}").into_bytes(),
        mode: 0o644,
        kind: archive::Kind::File(text.into()),
    };
    let mut entries = vec![file("a", "alpha\n"), file("dir/b", "beta\n")];
    entries.extend((0..files).map(|number| file(&format!("d{}/f{number}", number % 20), &format!("{number}\n"))));
    archive::squeeze(archive::tar(&entries, true), "gz")
}

fn ebuild(body: &str) -> String {
    format!(
        "EAPI=8\n{body}\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\nSRC_URI=\"https://example.org/${{P}}.tar.gz\"\n\
         LICENSE=MIT\nSLOT=0\n"
    )
}

/// A package with one version, whose ebuild has `body`.
fn package(body: &str, files: usize) -> Place {
    let place = Place::new();
    found(&place.repo(), "own", "", &["app-misc"]);
    let data = tarball("1", files);
    put(&place.dist().join("one-1.tar.gz"), &data);
    put(&place.repo().join("app-misc/one/Manifest"), dist_line("one-1.tar.gz", &data));
    put(&place.repo().join("app-misc/one/one-1.ebuild"), ebuild(body));
    put(&place.repo().join("app-misc/one/files/x"), "x\n");
    put(
        &place.repo().join("eclass/own.eclass"),
        "own_src_unpack() { default; echo eclass > \"${P}/made\"; MADE=eclass; }\nEXPORT_FUNCTIONS src_unpack\n",
    );
    place
}

fn report(place: &Place, words: &[&str]) -> Done {
    let mut command = audit(place, ["--format", "json", "--no-cache"]);
    run(place, command.args(words))
}

/// The tiers that this machine has.
fn tiers(place: &Place) -> Vec<&'static str> {
    let has = |tier: &&str| {
        let done = run(place, &mut audit(place, ["--sandbox", tier, "--latest", "--live"]));
        let has = done.code != Some(2);
        if !has {
            tiers::left_out(tier, &done.stderr);
        }
        has
    };
    ["namespaces", "landlock"].into_iter().filter(has).collect()
}

fn layers(place: &Place) -> Vec<PathBuf> {
    let items = fs::read_dir(place.path().join("cache/ebaudit/layers")).into_iter().flatten().flatten();
    items.map(|item| item.path()).filter(|path| path.is_dir()).collect()
}

fn first_difference(a: &str, b: &str) -> String {
    let lines = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    lines.map_or("one is longer".to_owned(), |(a, b)| format!("- {a}\n+ {b}"))
}

/// What src_prepare can tell of what src_unpack left.
const TELLS: &str = "src_prepare() {\n\tdefault\n\tdeclare -p MADE LIST OUT GONE NUMBER DIRSTACK > told 2>&1\n\techo \"${OLDPWD#\"${WORKDIR}\"}\" >> told\n\
                     \tls -l \"${WORKDIR}\" | tr -s ' ' | cut -d ' ' -f 1,9 >> told\n\tenv | grep -c . >> told\n\
                     \t(set +o; shopt; umask; trap -p; type -t helper) >> told\n\tsed -i s/alpha/omega/ a\n\tsed -i s/nothing/X/ a || die\n}";

/// Bodies, and whether their src_unpack has a layer, in each tier.
const BODIES: &[(&str, &str, [bool; 2])] = &[
    ("plain", "src_unpack() { default; echo x > new || die; }", [true; 2]),
    ("an eclass's", "inherit own", [true; 2]),
    (
        "variables",
        "GONE=1\nexport NUMBER=1\nsrc_unpack() {\n\tdefault\n\tMADE=\"a b\"\n\texport OUT=$'x\\n\\xff'\n\tLIST=( 1 \"2 3\" )\n\tunset GONE\n\tNUMBER=2\n\texport -n NUMBER\n\tcd ${P}/dir\n}",
        [true; 2],
    ),
    ("its folder's name", "src_unpack() { default; echo \"${WORKDIR} ${T}\" > ${P}/place; }", [true; 2]),
    (
        "edits",
        "src_unpack() {\n\tdefault\n\tsed -i s/beta/gamma/ ${P}/dir/b || die\n\tsed -i s/nothing/y/ ${P}/dir/b || die\n\tMADE=$(sed -n 1p ${P}/a)\n\tsed s/alpha/x/ ${P}/a > ${P}/c || die\n\tfind . -name b -exec sed -i s/z/y/ {} +\n}",
        [true; 2],
    ),
    (
        "odd files",
        "src_unpack() {\n\tdefault\n\tmkfifo pipe\n\tchmod 400 ${P}/dir/b\n\tmkdir -m 2750 odd\n\tln -s nowhere link\n\tln ${P}/a twin\n\ttouch -d @1 odd\n}",
        [true; 2],
    ),
    (
        "what can't be written",
        "src_unpack() { default; echo x > \"${FILESDIR}/y\"; echo x > \"${DISTDIR}/y\"; echo x > /usr/y; true; } 2> /dev/null",
        [true; 2],
    ),
    ("no source", "pkg_setup() { :; }\nsrc_unpack() { default; mv ${P} other || die; }", [true; 2]),
    ("silent death", "src_unpack() { default; echo these are the last words; }\nsrc_prepare() { die; }", [true; 2]),
    ("user patches", "src_unpack() { default; eapply_user; }\nsrc_prepare() { :; }", [true; 2]),
    (
        "pkg_setup",
        "pkg_setup() { echo x > \"${T}/wrapper\"; export NUMBER=5; }\nsrc_unpack() { default; LIST=( ${NUMBER} \"${T}\"/* ); }",
        [true; 2],
    ),
    ("dead pkg_setup", "pkg_setup() { die \"no machine\"; }\nsrc_unpack() { default; MADE=1; }", [true; 2]),
    ("pkg_setup in WORKDIR", "pkg_setup() { echo x > early; }\nsrc_unpack() { default; }", [false; 2]),
    ("T", "src_unpack() { default; echo x > \"${T}/x\"; }", [false; 2]),
    ("HOME", "src_unpack() { default; mkdir \"${HOME}/.cargo\"; }", [false; 2]),
    ("memory", "src_unpack() { default; echo x > /dev/shm/x || true; }", [false, true]),
    ("a function", "src_unpack() { default; helper() { :; }; }", [false; 2]),
    ("an option", "src_unpack() { default; shopt -s nullglob; }", [false; 2]),
    ("a set option", "src_unpack() { default; set -f; }", [false; 2]),
    ("an associative array", "declare -A MADE\nsrc_unpack() { default; MADE[b]=1; MADE[a]=2; }", [false; 2]),
    ("a process", "src_unpack() { default; sleep 20 > /dev/null 2>&1 & }", [false; 2]),
    ("a descriptor", "src_unpack() { default; exec 7< /dev/null; }", [false; 2]),
    ("output elsewhere", "src_unpack() { default; exec > /dev/null; }", [false; 2]),
    ("umask", "src_unpack() { default; umask 077; }", [false; 2]),
    ("a limit", "src_unpack() { default; ulimit -n 100; }", [false; 2]),
    ("a trap", "src_unpack() { default; trap 'echo x' USR1; }", [false; 2]),
    ("a folder pushed", "src_unpack() { default; pushd ${P} > /dev/null; }", [false; 2]),
    ("a folder that is gone", "src_unpack() { default; mkdir x; cd x; rmdir ../x; }", [false; 2]),
    ("a note", "src_unpack() { default; use nothing; true; }", [false; 2]),
    ("death", "src_unpack() { default; die \"no way\"; }", [false; 2]),
    ("death forgiven", "src_unpack() { default; nonfatal die -n no; true; }", [true; 2]),
    ("a bound of unpack", "src_unpack() { default; nonfatal unpack gone.tar.gz; true; }", [true; 2]),
];

/// What is wrong with a body in a tier.
fn differences((name, body, kept): &(&str, &str, [bool; 2]), tier: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let tells = if body.contains("src_prepare()") { "" } else { TELLS };
    let place = package(&format!("{body}\n{tells}"), 3);
    let plain = report(&place, &["--sandbox", tier, "--layers", "off"]);
    let kept = kept[usize::from(tier == "landlock")];
    // made below an overlay and taken by copy, and the other way
    for ways in [["overlay", "overlay", "copy"], ["copy", "copy", "overlay"]].iter().take(1 + usize::from(kept)) {
        let _ = fs::remove_dir_all(place.path().join("cache"));
        for way in ways {
            let done = report(&place, &["--sandbox", tier, "--layers", way]);
            if *way == "overlay" && done.stderr.contains("--layers overlay can't be had") {
                continue;
            }
            if (done.code, &done.stdout) != (plain.code, &plain.stdout) {
                let how = first_difference(&plain.stdout, &done.stdout);
                wrong.push(format!("{name}, {tier}, {way}: {}\n{how}\n{}", done.how(), done.stderr));
            }
            if layers(&place).len() != usize::from(kept) {
                wrong.push(format!("{name}, {tier}, {way}: {} layers", layers(&place).len()));
            }
        }
    }
    wrong
}

#[test]
fn the_report_is_the_same_whether_the_phase_runs_or_not() {
    let tiers = tiers(&package("", 0));
    let all: Vec<_> = BODIES.iter().flat_map(|body| tiers.iter().map(move |tier| (body, tier))).collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((body, tier)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = differences(body, tier);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

const RANDOM: &str =
    "IUSE=\"flag\"\ninherit own\nsrc_unpack() { default; echo \"${RANDOM}${SRANDOM} $(date +%N)\" > ${P}/random; }";

fn tree(done: &Done) -> String {
    let line = done.stdout.lines().find(|line| line.contains("\"before\": \"") || line.contains("\"before\":\""));
    line.unwrap_or_else(|| panic!("{}{}", done.stdout, done.stderr)).to_owned()
}

#[test]
fn one_outcome_of_a_phase_that_has_many_is_kept() {
    let place = package(RANDOM, 0);
    for tier in tiers(&place) {
        let one = |layers: &str| tree(&report(&place, &["--sandbox", tier, "--layers", layers]));
        let first = one("auto");
        assert_eq!(first, one("auto"));
        assert_eq!(first, one("copy"));
        assert_ne!(first, one("off"));
    }
}

#[test]
fn another_thing_that_the_phase_can_see_is_another_layer() {
    let place = package(RANDOM, 0);
    let latest = |words: &[&str]| tree(&report(&place, &[&["--latest"], words].concat()));
    let mut seen = vec![latest(&[])];
    let dir = place.repo().join("app-misc/one");
    let text = fs::read_to_string(dir.join("one-1.ebuild")).unwrap();
    let eclass = fs::read_to_string(place.repo().join("eclass/own.eclass")).unwrap();
    let changes: [(&str, &dyn Fn()); 6] = [
        ("files", &|| put(&dir.join("files/x"), "y\n")),
        ("the text", &|| put(&dir.join("one-1.ebuild"), format!("{text}# more\n"))),
        ("an eclass", &|| put(&place.repo().join("eclass/own.eclass"), format!("{eclass}# more\n"))),
        ("what lies beside the eclasses", &|| put(&place.repo().join("eclass/table"), "more\n")),
        ("a distfile", &|| {
            let data = tarball("1", 1);
            put(&place.dist().join("one-1.tar.gz"), &data);
            put(&dir.join("Manifest"), dist_line("one-1.tar.gz", &data));
        }),
        ("the version", &|| {
            let data = tarball("2", 1);
            put(&place.dist().join("one-2.tar.gz"), &data);
            put(&dir.join("Manifest"), dist_line("one-2.tar.gz", &data));
            fs::rename(dir.join("one-1.ebuild"), dir.join("one-2.ebuild")).unwrap();
        }),
    ];
    for (what, change) in changes {
        change();
        let now = latest(&[]);
        assert!(!seen.contains(&now), "{what}");
        assert_eq!(now, latest(&[]), "{what}");
        seen.push(now);
    }
    for words in [&["--use", "flag"][..], &["--max-file-size", "1G"]] {
        let now = latest(words);
        assert!(!seen.contains(&now), "{words:?}");
        assert_eq!(now, latest(words), "{words:?}");
        seen.push(now);
    }
    // what no phase can see
    put(&dir.join("metadata.xml"), "<x/>\n");
    for words in [&["--eclass-edits"][..], &["--timeout", "100"], &["--jobs", "1"], &[]] {
        assert_eq!(latest(words), seen[6], "{words:?}");
    }
    assert_eq!(layers(&place).len(), seen.len());
}

/// Three packages whose src_unpack is their own, of many files.
fn stack() -> Place {
    let body = "src_unpack() { default; sed s/1/2/ ${P}/d1/f1 > ${P}/made || die; }\n\
                src_prepare() {\n\tdefault\n\tsed -i -e s/5/zero/ d5/f5 || die\n\tsed -i -e s/nothing/x/ d6/f6 || die\n}";
    let place = package(body, 600);
    let one = place.repo().join("app-misc/one");
    for name in ["two", "three"] {
        let dir = place.repo().join("app-misc").join(name);
        put(&dir.join("Manifest"), fs::read(one.join("Manifest")).unwrap());
        let text = fs::read_to_string(one.join("one-1.ebuild")).unwrap().replace("${P}", "one-1");
        put(&dir.join(format!("{name}-1.ebuild")), format!("{text}S=${{WORKDIR}}/one-1\n"));
    }
    place
}

#[test]
fn killed_at_any_moment_the_cache_is_sound() {
    let place = stack();
    let wanted = report(&place, &["--layers", "off"]).stdout;
    assert_eq!(wanted.matches("\"DeadSed\"").count(), 3, "{wanted}");
    for moment in 0..12u64 {
        let mut command = audit(&place, ["--format", "json", "--no-cache", "--jobs", "3"]);
        // spread over the run, without a pattern
        killed(&mut command, Duration::from_millis(moment * 7919 % 900));
        let verified = cache(&place, &["verify"]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
        if moment % 4 == 3 {
            let done = report(&place, &[]);
            assert!(done.stdout == wanted, "{}", first_difference(&wanted, &done.stdout));
            assert_eq!(cache(&place, &["prune", "--all"]).code, Some(0));
        }
    }
    let done = report(&place, &[]);
    assert!(done.stdout == wanted, "{}", first_difference(&wanted, &done.stdout));
    assert_eq!(layers(&place).len(), 3);
    let left = fs::read_dir(place.tmp()).unwrap().count();
    assert_eq!(left, 0, "work folders are left");
}

#[test]
fn runs_at_once_do_not_meet() {
    let place = stack();
    let wanted = report(&place, &["--layers", "off"]).stdout;
    for size in ["20G", "1"] {
        let start = |number: usize| {
            let output = fs::File::create(place.path().join(format!("out{number}"))).unwrap();
            let mut command = audit(&place, ["--format", "json", "--no-cache", "--jobs", "3", "--cache-size", size]);
            command.stdout(output).stderr(Stdio::null()).spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(|number| (number, start(number))).collect();
        for (number, mut child) in children {
            assert_eq!(child.wait().unwrap().code(), Some(1));
            let told = fs::read_to_string(place.path().join(format!("out{number}"))).unwrap();
            assert!(told == wanted, "{number}: {}", first_difference(&wanted, &told));
        }
        assert_eq!(cache(&place, &["verify"]).code, Some(0));
    }
    assert_eq!(layers(&place).len(), 0);
}

#[test]
fn the_cache_sees_what_is_broken_and_makes_room() {
    let place = stack();
    let first = report(&place, &[]);
    let size = cache(&place, &["size"]).stdout;
    assert!(size.contains("layers  3 unpacked sources"), "{size}");
    let all = layers(&place);
    fs::write(all[0].join("left"), "other").unwrap();
    fs::write(all[1].join("tree/one-1/a"), "other").unwrap();
    let verified = cache(&place, &["verify"]);
    assert!(verified.stdout.ends_with("3 unpacked sources, 2 broken\n"), "{}", verified.stdout);
    assert!(report(&place, &[]).stdout == first.stdout);
    fs::write(layers(&place)[0].join("left"), "{}").unwrap();
    assert!(report(&place, &[]).stdout == first.stdout);
    assert_eq!(cache(&place, &["verify"]).stdout, "3 unpacked sources, 0 broken\n");
    assert_eq!(cache(&place, &["prune", "--all"]).code, Some(0));
    assert_eq!(layers(&place).len(), 0);
}

/// What an earlier run came to is brought to folders in which the ebuild was at work when it was sourced.
#[test]
fn nothing_outside_is_written_where_an_earlier_run_is_taken() {
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let plants = ["ln -s @/victim ${EB_TRACE}/log", "mkfifo ${EB_TRACE}/log", "ln -s @/folder ${EB_TRACE}/blobs"];
    let then = now() + 8;
    let places = plants.map(|plant| {
        let body = "src_unpack() { default; cd ${P}; sed -i s/alpha/x/ a; cd ..; }";
        let place = package(body, 2);
        put(&place.path().join("victim"), "whole\n");
        fs::create_dir(place.path().join("folder")).unwrap();
        let plant = plant.replace('@', &place.path().display().to_string());
        let text =
            format!("if (( EPOCHSECONDS >= {then} )); then rm -rf ${{EB_TRACE}}/{{log,blobs}}; {plant}; fi\n{body}");
        put(&place.repo().join("app-misc/one/one-1.ebuild"), ebuild(&text));
        report(&place, &[]);
        assert!(now() >= then || layers(&place).len() == 1, "there is nothing to be taken");
        place
    });
    while now() < then {
        std::thread::sleep(Duration::from_millis(100));
    }
    for place in places {
        report(&place, &["--timeout", "20"]);
        assert_eq!(fs::read_to_string(place.path().join("victim")).unwrap(), "whole\n");
        assert_eq!(fs::read_dir(place.path().join("folder")).unwrap().count(), 0);
    }
}
