//! Layers: whichever way an unpacked source comes to an ebuild, the report is the same, byte for byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[allow(dead_code)] // cases.rs uses the rest
#[path = "support/archive.rs"]
mod archive;
#[allow(dead_code)] // cases.rs uses the rest
#[path = "support/case.rs"]
mod case;
#[allow(dead_code)] // the other tests use the rest
mod support;

use case::Case;
use support::overlay::{Place, dist_line, found, put};
use support::run::{Done, audit, cache, killed, run};

/// Whether this machine has overlays in the sandbox.
fn overlays(place: &Place) -> bool {
    let done = run(place, &mut audit(place, ["--layers", "overlay", "--latest", "--live"]));
    if done.code == Some(2) && done.stderr.contains("--layers overlay can't be had") {
        println!("left out: {}", done.stderr);
        return false;
    }
    true
}

fn report(place: &Place, layers: &str, more: &[String]) -> Done {
    let mut command = audit(place, ["--format", "json", "--no-cache", "--layers", layers]);
    run(place, command.args(more))
}

/// Runs a case in all ways, the first time and with the layer that is there then.
fn one(file: &Path, overlays: bool) -> Result<usize, String> {
    let case = Case::read(file)?;
    let place = Place::new();
    case.lay(&place);
    let plain = report(&place, "off", &case.args);
    for way in ["copy", "copy", "overlay", "overlay"] {
        let listed = BY_LISTING.iter().any(|name| file.ends_with(name)) && listed_by_age(&place);
        if way == "overlay" && (!overlays || listed) {
            continue;
        }
        let done = report(&place, way, &case.args);
        if (done.code, &done.stdout) != (plain.code, &plain.stdout) {
            return Err(format!("{way}: {}\n{}", done.how(), first_difference(&plain.stdout, &done.stdout)));
        }
    }
    let layers = fs::read_dir(place.path().join("cache/ebaudit/layers")).into_iter().flatten().flatten();
    Ok(layers.filter(|item| item.path().is_dir()).count())
}

/// Cases that take the files of a second edit from `find`.
const BY_LISTING: [&str; 2] = ["find-exec-sed.toml", "file-list-by-find-in-a-substitution.toml"];

/// Whether the file system lists what was written last first, so that `find` depends on what replaced what; an overlay
/// lists what lies below first.
fn listed_by_age(place: &Place) -> bool {
    const TMPFS: i64 = 0x0102_1994;
    rustix::fs::statfs(place.path()).unwrap().f_type == TMPFS
}

fn first_difference(a: &str, b: &str) -> String {
    let lines = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    lines.map_or("one is longer".to_owned(), |(a, b)| format!("- {a}\n+ {b}"))
}

#[test]
fn the_report_does_not_depend_on_the_way() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let needle = std::env::var("EBAUDIT_CASES").unwrap_or_default();
    let mut files: Vec<PathBuf> = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "toml") && p.to_string_lossy().contains(&needle));
    let overlays = overlays(&one_archive(""));
    let next = AtomicUsize::new(0);
    let (wrong, layers) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get() * 2).clamp(4, 16);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match one(file, overlays) {
                        Ok(count) => drop(layers.fetch_add(count, Ordering::Relaxed)),
                        Err(why) => wrong.lock().unwrap().push(format!("{}: {why}", file.display())),
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    println!("{} cases, {} layers", files.len(), layers.load(Ordering::Relaxed));
    assert!(wrong.is_empty(), "{} of {} cases:\n{}\n", wrong.len(), files.len(), wrong.join("\n"));
    assert!(!needle.is_empty() || layers.into_inner() > files.len() / 2, "too few cases have layers");
}

/// A package whose archive has some files, and whose src_prepare does `body`.
fn one_archive(body: &str) -> Place {
    let place = Place::new();
    found(&place.repo(), "layers", "", &["app-misc"]);
    let file = |name: &str, text: &str| archive::Entry {
        name: format!("one-1/{name}").into_bytes(),
        mode: 0o644,
        kind: archive::Kind::File(text.into()),
    };
    let entries = [
        file("a", "alpha\n"),
        file("dir/b", "beta\n"),
        file("dir/sub/c", "gamma\n"),
        file("large", &"alpha beta\n".repeat(20_000)),
        file("old/d", "delta\n"),
    ];
    let data = archive::squeeze(archive::tar(&entries, true), "gz");
    put(&place.dist().join("one-1.tar.gz"), &data);
    put(&place.repo().join("app-misc/one/Manifest"), dist_line("one-1.tar.gz", &data));
    let text = format!(
        "EAPI=8\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\nSRC_URI=\"https://example.org/${{P}}.tar.gz\"\n\
         LICENSE=MIT\nSLOT=0\n{body}\n"
    );
    put(&place.repo().join("app-misc/one/one-1.ebuild"), text);
    place
}

/// The reports of the ways, none where overlays can't be had.
fn ways(body: &str) -> Option<[Done; 3]> {
    let place = one_archive(body);
    overlays(&place).then(|| ["off", "copy", "overlay"].map(|way| report(&place, way, &[])))
}

#[track_caller]
fn all_the_same(body: &str) -> Option<Done> {
    let [off, copy, overlay] = ways(body)?;
    assert!(off.stdout == copy.stdout, "copy: {}", first_difference(&off.stdout, &copy.stdout));
    assert!(off.stdout == overlay.stdout, "overlay: {}", first_difference(&off.stdout, &overlay.stdout));
    Some(off)
}

/// The trace leaves out what the layer has, and nothing is judged otherwise for it.
#[test]
fn large_files_are_judged_by_the_layers_contents() {
    let body = "src_prepare() {\n\tdefault\n\tcp large kept || die\n\
                \tsed -i -e s/alpha/x/ -e s/gone/y/ -e s/betta/z/ large || die\n\
                \tsed -i -e s/alpha/x/ large || die\n\tsed -n -i -e 1p -e w\\ copy large || die\n\
                \tcp kept large || die\n\tsed -i -e /delta/d -e s/beta/beta/ large || die\n\
                \tperl -pi -e s/alpha/w/ large || die\n\tsed -i -e s/nothing/n/ kept || die\n}";
    if let Some(done) = all_the_same(body) {
        assert_eq!(done.code, Some(1), "{}", done.how());
        let verdicts = done.stdout.matches("\"verdict\": \"unknown\"").count();
        assert_eq!(verdicts, 0, "{}", done.stdout);
    }
}

#[test]
fn an_overlay_is_one() {
    let body =
        "src_prepare() {\n\tdefault\n\tgrep -q \" ${WORKDIR} overlay \" /proc/self/mounts && echo x > a\n\ttrue\n}";
    let Some([off, copy, overlay]) = ways(body) else { return };
    assert!(!off.stdout.contains("\"modified\"") && !copy.stdout.contains("\"modified\""));
    assert!(overlay.stdout.contains("\"modified\""), "{}", overlay.stdout);
}

#[test]
fn whatever_a_phase_does_to_the_tree_is_seen_the_same() {
    let body = "pkg_setup() { echo s > \"${WORKDIR}/setup\"; }\n\
        src_prepare() {\n\tdefault\n\
        \tmv dir moved || die\n\tmkdir dir || die\n\techo n > dir/new || die\n\
        \trm -r old || die\n\techo f > old || die\n\
        \ttouch a && chmod 755 a && ln a twin && ln -s a link || die\n\
        \trm moved/b && mkdir moved/b && echo z > moved/b/z || die\n\
        \tmkfifo pipe || die\n\trm -r moved/sub && mkdir moved/sub || die\n\
        \tsed -i -e s/alpha/ALPHA/ a || die\n\tsed -i -e s/nothing/X/ a || die\n}";
    let Some(done) = all_the_same(body) else { return };
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    for path in
        ["one-1/dir/b", "one-1/dir/new", "one-1/moved/b/z", "one-1/old/d", "one-1/old", "one-1/twin", "\"DeadSed\""]
    {
        assert!(done.stdout.contains(path), "{path}: {}", done.stdout);
    }
}

#[test]
fn a_call_that_an_overlay_alone_refuses_is_no_failure() {
    // rename(2) of a folder; mv(1) would copy it
    let body = "src_prepare() {\n\tdefault\n\tperl -e 'rename(\"dir\", \"moved\") or die' || die\n}";
    let Some(done) = all_the_same(body) else { return };
    assert_eq!(done.code, Some(0), "{}", done.stdout);
    assert!(done.stdout.contains("one-1/moved/b"));
}

#[test]
fn what_fails_everywhere_fails_the_same() {
    for body in [
        "src_prepare() {\n\tdefault\n\tdie \"no way\"\n}",
        "S=${WORKDIR}/elsewhere",
        "pkg_setup() { echo s > \"${WORKDIR}/setup\"; die \"no machine\"; }",
        "echo x > \"${WORKDIR}/early\"",
    ] {
        all_the_same(body);
    }
}

#[test]
fn a_source_that_is_not_there_is_no_fault_of_pkg_setup() {
    let place = one_archive("S=${WORKDIR}/elsewhere\npkg_setup() { :; }");
    let done = report(&place, "auto", &[]);
    assert!(done.stdout.contains("S=${WORKDIR}/elsewhere does not exist"), "{}", done.stdout);
    assert!(!done.stdout.contains("pkg_setup failed"), "{}", done.stdout);
}

#[test]
fn layers_are_out_of_reach() {
    let look = "for way in /.ebaudit/closed /.ebaudit/closed/layers /proc/1/root/.ebaudit/closed/layers; do\n\
        \t\tls \"${way}\" > /dev/null 2>&1 && [[ -n $(ls \"${way}\") ]] && die \"${way} is open\"\n\
        \t\tchmod 755 \"${way}\" 2> /dev/null && die \"${way} can be opened\"\n\tdone\n";
    // before the source is mounted, and after
    let body = format!("{look}\nsrc_prepare() {{\n\tdefault\n\t{look}\n}}");
    let Some(done) = all_the_same(&body) else { return };
    assert_eq!(done.code, Some(0), "{}", done.stdout);
}

#[test]
fn what_a_phase_writes_never_reaches_the_layer() {
    let body = "src_prepare() {\n\tdefault\n\techo x >> a\n\trm -r dir\n\tchmod 600 old/d\n\ttouch -d @1 old/d\n}";
    let place = one_archive(body);
    for way in ["copy", "overlay"] {
        let first = report(&place, way, &[]);
        if first.code == Some(2) {
            continue;
        }
        assert_eq!(first.stdout, report(&place, way, &[]).stdout);
        let layers = place.path().join("cache/ebaudit/layers");
        let tree =
            fs::read_dir(&layers).unwrap().flatten().map(|i| i.path().join("tree")).find(|p| p.is_dir()).unwrap();
        assert_eq!(fs::read_to_string(tree.join("one-1/a")).unwrap(), "alpha\n");
        assert!(tree.join("one-1/dir/sub/c").exists());
    }
}

/// What is unpacked while it is verified counts only if it is what the Manifest means.
#[test]
fn what_the_manifest_does_not_mean_makes_no_layer() {
    let place = one_archive("src_prepare() {\n\tdefault\n\tsed -i -e s/none/x/ a || die\n}");
    let layers = || {
        let names = fs::read_dir(place.path().join("cache/ebaudit/layers")).into_iter().flatten().flatten();
        names.filter(|item| item.path().is_dir()).count()
    };
    let (archive, cut) = (place.dist().join("one-1.tar.gz"), place.dist().join("cut"));
    let right = fs::read(&archive).unwrap();
    // one that unpacks, and one that does not
    let mut wrong = [right.clone(), right.clone()];
    wrong[0][5] ^= 1;
    let middle = right.len() / 2;
    wrong[1][middle..middle + 8].fill(0xff);
    for wrong in wrong {
        fs::write(&archive, &wrong).unwrap();
        let plain = report(&place, "off", &[]);
        assert_eq!(plain.code, Some(3), "{}", plain.stderr);
        assert!(plain.stdout.contains("BadDigest"), "{}", plain.stdout);
        let done = report(&place, "copy", &[]);
        assert!((done.code, &done.stdout) == (plain.code, &plain.stdout), "{}", done.stdout);
        assert_eq!(layers(), 0);
        assert_eq!(fs::read(&archive).unwrap(), wrong, "it stays where it is");
    }
    fs::write(&archive, &right).unwrap();
    let plain = report(&place, "off", &[]);
    assert_eq!(plain.code, Some(1), "{}", plain.stderr);
    assert_eq!(report(&place, "copy", &[]).stdout, plain.stdout);
    assert_eq!(layers(), 1);
    // a layer of the right one does not make a wrong one good
    fs::rename(&archive, &cut).unwrap();
    fs::write(&archive, vec![0; right.len()]).unwrap();
    let done = report(&place, "copy", &[]);
    assert!(done.code == Some(3) && done.stdout.contains("BadDigest"), "{}", done.stdout);
}

/// Four packages with archives of many files, of which each prepare changes one; two of them share theirs.
fn stack() -> Place {
    let place = Place::new();
    found(&place.repo(), "stack", "", &["app-misc"]);
    for number in 0..4 {
        let name = format!("src-{}.tar.gz", number / 2);
        let file = |file: usize| archive::Entry {
            name: format!("src/d{}/f{file}", file % 20).into_bytes(),
            mode: 0o644,
            kind: archive::Kind::File(format!("{name} {file}\n").repeat(50).into_bytes()),
        };
        let entries: Vec<_> = (0..600).map(|f| file(f + number / 2)).collect();
        let data = archive::squeeze(archive::tar(&entries, true), "gz");
        put(&place.dist().join(&name), &data);
        let dir = place.repo().join(format!("app-misc/p{number}"));
        put(&dir.join("Manifest"), dist_line(&name, &data));
        let text = format!(
            "EAPI=8\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\nSRC_URI=\"https://example.org/{name}\"\n\
             LICENSE=MIT\nSLOT=0\nS=${{WORKDIR}}/src\nsrc_prepare() {{\n\tdefault\n\
             \tsed -i -e s/src/zero/ d5/f5 || die\n\tsed -i -e s/nothing/x/ d6/f6 || die\n}}\n"
        );
        put(&dir.join(format!("p{number}-1.ebuild")), text);
    }
    place
}

#[test]
fn killed_at_any_moment_the_cache_is_sound() {
    let place = stack();
    let wanted = report(&place, "off", &[]).stdout;
    assert_eq!(wanted.matches("\"DeadSed\"").count(), 4, "{wanted}");
    for moment in 0..12u64 {
        let mut command = audit(&place, ["--format", "json", "--no-cache", "--jobs", "4"]);
        // spread over the run, without a pattern
        killed(&mut command, Duration::from_millis(moment * 7919 % 500));
        let verified = cache(&place, &["verify"]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
        if moment % 4 == 3 {
            assert!(report(&place, "auto", &[]).stdout == wanted);
            assert_eq!(cache(&place, &["prune", "--all"]).code, Some(0));
        }
    }
    let done = report(&place, "auto", &[]);
    assert!(done.stdout == wanted, "{}", first_difference(&wanted, &done.stdout));
    let left: Vec<_> = fs::read_dir(place.path().join("cache/ebaudit/layers")).unwrap().flatten().collect();
    let unfinished = left.iter().filter(|item| item.file_name().to_string_lossy().starts_with(".tmp-")).count();
    assert_eq!((unfinished, left.len()), (0, 4), "{left:?}");
}

#[test]
fn runs_at_once_share_what_one_of_them_makes() {
    let place = stack();
    let wanted = report(&place, "off", &[]).stdout;
    let start = |number: usize| {
        let output = fs::File::create(place.path().join(format!("out{number}"))).unwrap();
        let mut command = audit(&place, ["--format", "json", "--no-cache", "--jobs", "3", "--cache-size", "1"]);
        command.stdout(output).stderr(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(|number| (number, start(number))).collect();
    for (number, mut child) in children {
        assert_eq!(child.wait().unwrap().code(), Some(1));
        // each removes at its end what no other one uses
        assert!(fs::read_to_string(place.path().join(format!("out{number}"))).unwrap() == wanted, "{number}");
    }
    assert_eq!(cache(&place, &["verify"]).stdout, "0 unpacked sources, 0 broken\n");
}

#[test]
fn a_full_disk_costs_the_layer_not_the_report() {
    let place = stack();
    let wanted = report(&place, "off", &[]).stdout;
    fs::create_dir(place.path().join("small")).unwrap();
    for size in ["100k", "1m", "4m"] {
        let script = "mount -t tmpfs -o size=\"$0\" none small || exit 99\n\"$@\"; code=$?\n\
                      ls small/layers | grep -q '^\\.tmp-' && exit 98\n\"$1\" cache verify --cache-dir small >&2 || exit 97\nexit $code";
        let inner = audit(&place, ["--format", "json", "--no-cache", "--cache-dir", "small"]);
        let mut command = Command::new("unshare");
        command.current_dir(place.path()).env("TMPDIR", place.tmp()).args(["-Urm", "sh", "-c", script, size]);
        let done = run(&place, command.arg(inner.get_program()).args(inner.get_args()));
        if done.code == Some(99) || done.code == Some(1) && done.stdout.is_empty() {
            println!("left out: {}", done.stderr);
            return;
        }
        assert_eq!(done.code, Some(1), "{size}: {}", done.stderr);
        let stdout = done.stdout.replace("\"landlock\"", "\"namespaces\"");
        assert!(stdout == wanted, "{size}: {}", first_difference(&wanted, &stdout));
    }
}

#[test]
fn the_cache_says_what_it_has_and_makes_room() {
    let place = stack();
    assert_eq!(cache(&place, &["prune", "--to", "1G"]).code, Some(0));
    report(&place, "auto", &[]);
    let size = cache(&place, &["size"]).stdout;
    assert!(size.contains("layers  2 unpacked sources"), "{size}");
    let layers = place.path().join("cache/ebaudit/layers");
    let victim = fs::read_dir(&layers).unwrap().flatten().map(|item| item.path()).find(|path| path.is_dir()).unwrap();
    fs::write(victim.join("tree/src/d1/f1"), "other").unwrap();
    let verified = cache(&place, &["verify"]);
    assert_eq!(verified.code, Some(1), "{}", verified.stderr);
    assert!(verified.stdout.ends_with("2 unpacked sources, 1 broken\n"), "{}", verified.stdout);
    assert_eq!(cache(&place, &["verify"]).stdout, "1 unpacked source, 0 broken\n");
    assert!(cache(&place, &["prune", "--to", "0"]).stdout.starts_with("removed 1 unpacked source, "));
    assert_eq!(cache(&place, &["prune", "--all"]).code, Some(0));
    let without = cache(&place, &["prune"]);
    assert_eq!(without.code, Some(2));
    assert!(without.stderr.contains("--to") && without.stderr.contains("--all"), "{}", without.stderr);
    assert_eq!(cache(&place, &["prune", "--all", "--to", "1"]).code, Some(2));
}
