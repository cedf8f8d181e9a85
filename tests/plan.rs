//! `ebaudit plan` as users type it, on the system that comes with the overlay and on broken ones.
//!
//! `UPDATE_REPORTS=1 cargo test --test plan` writes the kept reports anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const GOAL: &str = "=dev-util/hip-10.0.0";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn plan(system: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ebaudit"))
        .arg("plan")
        .args(words)
        .arg("--root")
        .arg(system)
        .current_dir(root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn ours() -> PathBuf {
    root().join("overlay/system")
}

/// A system that can be broken: the overlay's records and configuration, its repositories where they are.
fn copy() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let done = Command::new("cp").arg("-a").arg(ours()).arg(dir.path()).status().unwrap();
    assert!(done.success());
    let system = dir.path().join("system");
    let link = system.join("var/db/repos/ebaudit-rocm");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(root().join("overlay"), link).unwrap();
    (dir, system)
}

fn same_as(name: &str, now: &str) {
    let path = root().join("reports").join(name);
    if std::env::var_os("UPDATE_REPORTS").is_some() {
        fs::write(&path, now).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == now, "{} is not what the plan says now; UPDATE_REPORTS=1 writes it anew", path.display());
}

#[test]
fn the_plan_is_the_kept_one() {
    let dir = tempfile::tempdir().unwrap();
    let picture = dir.path().join("plan.svg");
    let output = plan(&ours(), &[GOAL, "--graph", picture.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert_eq!(errors(&output), "");
    same_as("plan-hip-10.0.0.txt", &text(&output));
    same_as("plan-hip-10.0.0.svg", &fs::read_to_string(picture).unwrap());
    same_as("plan-hip-10.0.0.json", &text(&plan(&ours(), &[GOAL, "--format", "json"])));
}

#[test]
fn the_system_is_what_its_script_makes() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("overlay");
    fs::create_dir(&to).unwrap();
    for part in ["make-system", "profiles", "dev-build", "dev-libs", "dev-util", "sci-libs"] {
        let from = root().join("overlay").join(part);
        assert!(Command::new("cp").arg("-a").arg(from).arg(&to).status().unwrap().success());
    }
    assert!(Command::new(to.join("make-system")).status().unwrap().success());
    let diff =
        Command::new("diff").args(["-r", "--no-dereference"]).arg(ours()).arg(to.join("system")).output().unwrap();
    assert!(diff.status.success(), "{}", text(&diff));
}

#[test]
fn what_could_move_and_what_is_bound() {
    let list = text(&plan(&ours(), &["--list"]));
    assert!(list.contains("dev-util/hip:0"), "{list}");
    assert!(list.contains("sub-slot 7.2 -> 10.0; family of at most 17, 3 bound"), "{list}");
    assert!(list.ends_with("a plan leaves those of them that need not move\n"), "{list}");
    let check = plan(&ours(), &["--check"]);
    assert_eq!((check.status.code(), text(&check).lines().count()), (Some(0), 1));
    let (_dir, system) = copy();
    let record = system.join("var/db/pkg/dev-util/hip-7.2.4/SLOT");
    fs::write(record, "0/9\n").unwrap();
    let check = plan(&system, &["--check", "--format", "json"]);
    let found: Value = serde_json::from_str(&text(&check)).unwrap();
    assert_eq!(check.status.code(), Some(1));
    assert_eq!(found["broken"][0]["package"], "media-gfx/blender-5.0.1");
}

#[test]
fn a_sub_slot_that_nothing_has_names_those_that_there_are() {
    let output = plan(&ours(), &["dev-util/hip@11.0"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("nothing is dev-util/hip@11.0: the repositories have the sub-slots 10.0, 7.2, 7.1"),
        "{said}"
    );
}

#[test]
fn the_package_that_must_stay_is_named() {
    let output = plan(&ours(), &[GOAL, "--keep", "sci-libs/rocWMMA", "--format", "json"]);
    let answer: Value = serde_json::from_str(&text(&output)).unwrap();
    assert_eq!((output.status.code(), answer["status"].as_str()), (Some(1), Some("impossible")));
    let blockers: Vec<&str> =
        answer["blockers"].as_array().unwrap().iter().map(|one| one["package"].as_str().unwrap()).collect();
    assert_eq!(blockers, ["sci-libs/rocWMMA"]);
}

#[test]
fn a_consumer_that_must_stay_is_held_by_its_binding() {
    let output = plan(&ours(), &[GOAL, "--keep", "sci-ml/ollama", "--format", "json"]);
    let answer: Value = serde_json::from_str(&text(&output)).unwrap();
    let blocker = &answer["blockers"][0];
    assert_eq!((output.status.code(), blocker["kind"].as_str()), (Some(1), Some("pinned")));
    let because = blocker["because"].as_str().unwrap();
    assert!(because.contains("--keep") && because.contains("was built against"), "{because}");
    assert!(because.contains(":0/7.2="), "{because}");
}

#[test]
fn a_mask_of_the_users_is_the_reason_and_its_end_the_first_way_out() {
    for (mask, goal, ways) in [
        ("=dev-util/hip-10.0.0", GOAL, 1),
        ("=sci-libs/rocBLAS-10.0.0", "=sci-libs/rocBLAS-10.0.0", 1),
        ("=sci-libs/rocBLAS-10.0.0", GOAL, 2),
        ("=dev-util/hip-10.0.0", "=dev-util/rocm-smi-10.0.0", 2),
    ] {
        let (_dir, system) = copy();
        fs::write(system.join("etc/portage/package.mask"), format!("{mask}\n")).unwrap();
        let output = plan(&system, &[goal, "--format", "json"]);
        let answer: Value = serde_json::from_str(&text(&output)).unwrap();
        let blockers = answer["blockers"].as_array().unwrap();
        assert_eq!(blockers.len(), 1, "{mask} {goal}: {blockers:?}");
        assert!(blockers[0]["because"].as_str().unwrap().contains("is masked by you in"), "{blockers:?}");
        assert_eq!(blockers[0]["ways"][0], format!("package.unmask: {mask}"));
        assert_eq!(blockers[0]["ways"].as_array().unwrap().len(), ways, "{blockers:?}");
        fs::write(system.join("etc/portage/package.unmask"), format!("{mask}\n")).unwrap();
        assert!(plan(&system, &[goal]).status.success());
    }
}

#[test]
fn a_package_that_others_need_newer_is_named_if_it_must_stay() {
    let output = plan(&ours(), &[GOAL, "--keep", "dev-util/rocm-smi"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("it is to stay as it is (--keep), and dev-util/Tensile-10.0.0 needs"), "{said}");
    assert!(said.contains("way out: give up --keep dev-util/rocm-smi") && !said.contains("unmerge"), "{said}");
}

#[test]
fn configuration_is_written_to_drop_in() {
    let (dir, system) = copy();
    fs::write(system.join("etc/portage/package.mask"), "").unwrap();
    let masks = system.join("var/db/repos/guru/profiles/package.mask");
    fs::write(masks, "# Old and unloved\nsci-ml/ollama\n").unwrap();
    let to = dir.path().join("drop");
    let output = plan(&system, &[GOAL, "--write", to.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let written = fs::read_to_string(to.join("package.unmask/ebaudit-plan")).unwrap();
    assert!(written.ends_with("\n=sci-ml/ollama-0.21.0\n") && written.contains("Old and unloved"), "{written}");
    // what an earlier plan wrote goes, what is somebody else's stays
    fs::create_dir(to.join("package.license")).unwrap();
    fs::write(to.join("package.license/ebaudit-plan"), "# ebaudit plan old\n=a/b-1 EULA\n").unwrap();
    fs::write(to.join("package.license/own"), "a/b EULA\n").unwrap();
    let output = plan(&system, &[GOAL, "--write", to.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(!to.join("package.license/ebaudit-plan").exists() && to.join("package.license/own").exists());
    let removed =
        format!("removed {}, which an earlier plan wrote\n", to.join("package.license/ebaudit-plan").display());
    assert!(
        errors(&output).ends_with(&removed) && errors(&output).matches("removed").count() == 1,
        "{}",
        errors(&output)
    );
    assert_eq!(fs::read_to_string(to.join("package.unmask/ebaudit-plan")).unwrap(), written);
    // on a machine's own configuration the earlier lines are in force
    fs::write(to.join("make.conf"), "").unwrap();
    fs::write(to.join("package.license/ebaudit-plan"), "# ebaudit plan old\n=a/b-1 EULA\n").unwrap();
    assert!(plan(&system, &[GOAL, "--write", to.to_str().unwrap()]).status.success());
    assert!(to.join("package.license/ebaudit-plan").exists());
}

#[test]
fn without_configuration_no_folder_is_made() {
    let (dir, system) = copy();
    let to = dir.path().join("drop");
    let output = plan(&system, &[GOAL, "--write", to.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(errors(&output).ends_with("drop: the plan needs no lines of configuration; there is nothing to write\n"));
    assert!(!to.exists());
}

#[test]
fn without_a_plan_that_of_before_stays_as_it_was_written() {
    let (dir, system) = copy();
    let to = dir.path().join("drop");
    let old = to.join("package.use/ebaudit-plan");
    fs::create_dir_all(to.join("package.use")).unwrap();
    fs::write(&old, "# ebaudit plan old\n=a/b-1 x\n").unwrap();
    let output = plan(&system, &["=dev-util/hip-11", "--write", to.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).ends_with("drop: there is no plan; nothing is written\n"), "{}", errors(&output));
    assert!(old.exists());
    let output = plan(&system, &[GOAL, "--write", to.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let removed = format!("removed {}, which an earlier plan wrote\n", old.display());
    assert!(errors(&output).ends_with(&removed) && !old.exists(), "{}", errors(&output));
}

#[test]
fn a_file_in_the_place_of_a_folder_is_told_before_anything_is_written() {
    let (dir, system) = copy();
    fs::write(system.join("var/db/repos/guru/profiles/package.mask"), "sci-ml/ollama\n").unwrap();
    let to = dir.path().join("drop");
    fs::create_dir(&to).unwrap();
    fs::write(to.join("package.unmask"), "=a/b-1\n").unwrap();
    let output = plan(&system, &[GOAL, "--write", to.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("make it a folder") && errors(&output).contains("mkdir"), "{}", errors(&output));
    assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
}

#[test]
fn what_is_merged_is_audited() {
    let words = [GOAL, "--audit", "--format", "json", "--no-sandbox"];
    let output = plan(&ours(), &words);
    let answer: Value = serde_json::from_str(&text(&output)).unwrap();
    let audits = answer["audits"].as_array().unwrap();
    // gentoo, guru and the overlay; whether the distfiles can be had is not the plan's matter
    let audited: Vec<u64> = audits.iter().map(|audit| audit["summary"]["ebuilds"].as_u64().unwrap()).collect();
    assert_eq!(audited, [1, 2, 16], "{}", errors(&output));
}

#[test]
fn goals_that_contradict_and_packages_to_keep_are_said_to() {
    let output = plan(&ours(), &["=dev-util/hip-10.0.0", "=dev-util/hip-7.2.4"]);
    assert!(text(&output).contains("contradict each other"), "{}", text(&output));
    let output = plan(&ours(), &[GOAL, "--keep", "sci-libs/rocBLAS"]);
    assert!(text(&output).contains("give up --keep sci-libs/rocBLAS"), "{}", text(&output));
    let output = plan(&ours(), &[GOAL, "--world"]);
    assert!(text(&output).contains("--update --deep --newuse --with-bdeps=y @world"), "{}", text(&output));
}

#[test]
fn words_that_are_no_goal() {
    for (words, said) in [
        (&["dev-util/hipp"][..], "there is dev-util/hip"),
        (&["hip"], "dev-util/hip"),
        (&["=dev-util/hip"], "operator"),
        (&["dev-util/hip[opencl]"], "package.use"),
        (&["!dev-util/hip"], "blocker"),
        (&["dev-util/hip@"], "sub-slot"),
        (&[], "GOAL"),
        (&[""], "no package"),
        (&["@world"], "a set"),
        (&["--list", "--world"], "--world"),
        (&["--list", "dev-util/hip"], "--list"),
        (&[GOAL, "--graph", "plan.png"], ".svg, .dot or .html"),
        (&[GOAL, "--verify", "--portage", "/nowhere"], "/nowhere"),
        (&[GOAL, "--keep", "dev-util/nothing"], "dev-util/nothing"),
    ] {
        let output = plan(&ours(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(errors(&output).contains(said), "{words:?}: {}", errors(&output));
    }
}

#[test]
fn nothing_to_do_and_no_such_version() {
    let output = plan(&ours(), &["=dev-util/hip-7.2.4"]);
    assert!(output.status.success() && text(&output).contains("nothing to do"));
    let output = plan(&ours(), &["=dev-util/hip-11"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("10.0.0, 7.2.4, 7.1.0"), "{}", text(&output));
}

#[test]
fn broken_files_are_told_and_passed_over() {
    let (_dir, system) = copy();
    let records = system.join("var/db/pkg");
    // half a record, one with a dependency that can't be read, an unreadable line of configuration, a lost repository
    for field in fs::read_dir(records.join("x11-libs/libdrm-2.4.125")).unwrap() {
        fs::remove_file(field.unwrap().path()).unwrap();
    }
    fs::write(records.join("dev-python/numpy-2.4.0/RDEPEND"), "|| ( dev-libs/x\n").unwrap();
    fs::write(system.join("etc/portage/package.use/broken"), "=dev-util/hip x\n").unwrap();
    let conf = system.join("etc/portage/repos.conf");
    let lost = "\n[lost]\nlocation = /var/db/repos/lost\n";
    fs::write(&conf, fs::read_to_string(&conf).unwrap() + lost).unwrap();
    let output = plan(&system, &[GOAL, "--format", "json"]);
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in ["x11-libs/libdrm-2.4.125", "package.use/broken:1", "[lost]"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let answer: Value = serde_json::from_str(&text(&output)).unwrap();
    // with its record gone, what blender needs is a new package
    assert_eq!(answer["size"]["merges"], 20);
    assert_eq!(answer["warnings"][0]["package"], "dev-python/numpy-2.4.0");
}

#[test]
fn no_system_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let output = plan(dir.path(), &[GOAL]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("repos.conf"), "{}", errors(&output));
}
