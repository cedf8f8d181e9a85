//! `--backend portage` gives the report of `--backend own`. `PORTAGE_VENV` names a virtual environment with Portage; without it
//! only what needs none is tested.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn ebaudit(words: &[&str], cwd: &Path) -> Output {
    ebaudit_at(words, cwd, tempfile::tempdir().unwrap().path())
}

/// With the configuration below `root`.
fn ebaudit_at(words: &[&str], cwd: &Path, root: &Path) -> Output {
    let nothing = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_ebaudit"))
        .arg("audit")
        .args(words)
        .current_dir(cwd)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("PORTAGE_CONFIGROOT", root)
        .env("XDG_CACHE_HOME", nothing.path())
        .output()
        .unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn venv() -> Option<PathBuf> {
    let venv = std::env::var_os("PORTAGE_VENV").map(PathBuf::from);
    if venv.is_none() {
        eprintln!("passed over: PORTAGE_VENV names no virtual environment with Portage");
    }
    venv
}

/// The ebuilds of the reports of both backends.
fn both(target: &str, cwd: &Path, venv: &Path) -> [Value; 2] {
    both_at(&[target], cwd, venv, tempfile::tempdir().unwrap().path())
}

fn both_at(words: &[&str], cwd: &Path, venv: &Path, root: &Path) -> [Value; 2] {
    let portage: &[&str] = &["--backend", "portage", "--portage", venv.to_str().unwrap()];
    [&[], portage].map(|backend| {
        let words = [words, &["--offline", "--no-cache", "--format", "json"], backend].concat();
        let output = ebaudit_at(&words, cwd, root);
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
        report["ebuilds"].clone()
    })
}

#[test]
fn both_backends_report_the_same() {
    let Some(venv) = venv() else { return };
    for target in ["overlay/dev-util/rocminfo", "overlay/sci-libs", "overlay/dev-libs/rocm-core"] {
        let [own, portage] = both(target, root(), &venv);
        assert!(own.as_array().is_some_and(|ebuilds| ebuilds.iter().all(|e| e["status"] == "audited")), "{own:#}");
        assert_eq!(own, portage, "{target}");
    }
}

/// An overlay with one ebuild of this text behind the usual head.
fn made_up(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("profiles/repo_name", "made-up\n");
    write("profiles/categories", "dev-libs\n");
    write("metadata/layout.conf", "masters =\nthin-manifests = true\n");
    write(
        "eclass/guarded.eclass",
        "if [[ -z ${_GUARDED_ECLASS} ]]; then\n_GUARDED_ECLASS=1\n\nguarded_edit() {\n\tsed -i -e s/none/other/ a.txt || die\n}\nfi\n",
    );
    let head = "EAPI=8\n\nDESCRIPTION=\"made up\"\nHOMEPAGE=\"https://example.org\"\nLICENSE=\"MIT\"\nSLOT=\"0\"\nS=\"${WORKDIR}\"\n";
    write("dev-libs/a/a-1.ebuild", &format!("{head}{text}"));
    dir
}

#[test]
fn what_pkg_setup_set_is_kept_and_lines_are_those_of_the_ebuild() {
    let Some(venv) = venv() else { return };
    let text = "inherit guarded\nWORD=none\nLIST=( a )\n\npkg_setup() {\n\tWORD=text\n\tLIST+=( 'b c' )\n}\n\nsrc_unpack() {\n\techo 'some text' > a.txt\n}\n\n\
         src_prepare() {\n\tdefault\n\t[[ ${PWD} == ${WORKDIR} ]] || die\n\tsed -i -e \"s/${WORD}/word ${#LIST[@]}/\" a.txt || die\n\tguarded_edit\n\tsed -i -e s/gone/x/ a.txt || die\n}\n";
    let dir = made_up(text);
    let [own, portage] = both("dev-libs/a", dir.path(), &venv);
    assert_eq!(own[0]["edits"].as_array().map(Vec::len), Some(3), "{own:#}");
    assert_eq!(own, portage);
}

#[test]
fn failures_have_the_same_status_and_say_why() {
    let Some(venv) = venv() else { return };
    let cases = [
        ("src_prepare() {\n\tdefault\n\tfalse || die \"no luck\"\n}\n", "prepare-failed", "no luck"),
        ("src_unpack() {\n\tdie \"no source\"\n}\n", "unpack-failed", "no source"),
        ("pkg_setup() {\n\tdie \"no machine\"\n}\nsrc_unpack() { :; }\n", "audited", ""),
    ];
    for (text, status, reason) in cases {
        let dir = made_up(text);
        for ebuilds in both("dev-libs/a", dir.path(), &venv) {
            assert_eq!(ebuilds[0]["status"], status, "{ebuilds:#}");
            assert!(
                reason.is_empty() || ebuilds[0]["reason"].as_str().is_some_and(|r| r.contains(reason)),
                "{ebuilds:#}"
            );
        }
    }
}

#[test]
fn eclass_overrides_and_the_users_own_profile_count() {
    let Some(venv) = venv() else { return };
    let dir = made_up(
        "inherit guarded\nIUSE=\"shut\"\n\nsrc_unpack() {\n\techo none > a.txt\n}\n\n\
         src_prepare() {\n\tdefault\n\tguarded_edit\n\tif use shut; then\n\t\tsed -i -e s/overridden/x/ a.txt || die\n\telse\n\t\tsed -i -e s/y/z/ a.txt || die\n\tfi\n}\n",
    );
    let root = tempfile::tempdir().unwrap();
    let put = |path: PathBuf, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let other = root.path().join("other");
    put(other.join("profiles/repo_name"), "other\n");
    put(other.join("metadata/layout.conf"), "masters =\n");
    put(other.join("eclass/guarded.eclass"), "guarded_edit() {\n\tsed -i -e s/none/overridden/ a.txt || die\n}\n");
    let profile = root.path().join("elsewhere/profile");
    put(profile.join("eapi"), "8\n");
    put(profile.join("make.defaults"), "ARCH=amd64\nACCEPT_KEYWORDS=amd64\n");
    put(profile.join("use.mask"), "shut\n");
    let etc = root.path().join("etc/portage");
    put(etc.join("profile/use.mask"), "-shut\n");
    put(etc.join("make.conf"), "USE=\"shut\"\n");
    let sections = format!(
        "[DEFAULT]\nmain-repo = made-up\n[made-up]\nlocation = {}\neclass-overrides = other\n[other]\nlocation = {}\n",
        dir.path().display(),
        other.display()
    );
    put(etc.join("repos.conf"), &sections);
    std::os::unix::fs::symlink(&profile, etc.join("make.profile")).unwrap();
    let [own, portage] = both_at(&["dev-libs/a"], dir.path(), &venv, root.path());
    assert_eq!(own[0]["status"], "audited", "{own:#}");
    assert_eq!(own[0]["edits"][0]["verdict"], "live", "{own:#}");
    assert_eq!(own, portage);
}

#[test]
fn a_source_that_is_given_is_taken_by_both() {
    let Some(venv) = venv() else { return };
    let dir = made_up("src_prepare() {\n\tdefault\n\tsed -i -e s/here/there/ a.txt || die\n}\n");
    let source = tempfile::tempdir().unwrap();
    std::fs::write(source.path().join("a.txt"), "here\n").unwrap();
    let given = format!("dev-libs/a-1={}", source.path().display());
    let nothing = tempfile::tempdir().unwrap();
    let [own, portage] = both_at(&["dev-libs/a", "--source", &given], dir.path(), &venv, nothing.path());
    assert_eq!(own[0]["edits"][0]["verdict"], "live", "{own:#}");
    assert_eq!(own, portage);
}

#[test]
fn without_portage_it_says_what_to_do() {
    let dir = made_up("");
    let said = |words: &[&str]| {
        let output = ebaudit(words, dir.path());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said(&["--backend", "portage", "--portage", "/nowhere"]).contains("virtual environment"));
    assert!(said(&["--portage", "/nowhere"]).contains("--backend portage"));
    assert!(said(&["--backend", "portage", "--fix"]).contains("--backend own"));
}
