//! Random trees, packed by real tools, unpacked by them and by us: the same files, links, modes and times.
//! Skipped where the tool is not there.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use proptest::prelude::*;

use super::*;

fn there(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|out| out.status.success())
}

fn run(dir: &Path, script: &str) {
    let out = Command::new("sh").args(["-ec", script]).current_dir(dir).output().unwrap();
    assert!(out.status.success(), "{script}: {out:?}");
}

/// Everything below a directory: kind, mode, time, contents, and which names are one file.
fn listing(root: &Path, times: bool) -> BTreeMap<Vec<u8>, String> {
    let mut first_name = BTreeMap::new();
    let mut out = BTreeMap::new();
    let walk = walkdir::WalkDir::new(root).min_depth(1).sort_by_file_name();
    for entry in walk {
        let entry = entry.unwrap();
        let meta = entry.path().symlink_metadata().unwrap();
        let path = entry.path().strip_prefix(root).unwrap();
        let one_with = first_name.entry(meta.ino()).or_insert_with(|| path.to_path_buf()).clone();
        let contents = match meta.file_type() {
            t if t.is_symlink() => format!("{:?}", fs::read_link(entry.path()).unwrap()),
            t if t.is_file() => format!("{:?}", md5::compute(fs::read(entry.path()).unwrap())),
            t => format!("{t:?}"),
        };
        let time = match times {
            true => (meta.mtime(), meta.mtime_nsec()),
            false => (0, 0),
        };
        let mode = meta.mode();
        let line = format!("{mode:o} {time:?} {one_with:?} {contents}");
        out.insert(path.as_os_str().as_bytes().to_vec(), line);
    }
    out
}

#[derive(Debug, Clone)]
enum Node {
    File(Vec<u8>, u32),
    Sparse,
    Dir(u32),
    Link(String),
    HardLinkToFirst,
    Fifo,
}

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        4 => (prop::collection::vec(any::<u8>(), 0..2000), 0u32..0o1000)
            .prop_map(|(data, mode)| Node::File(data, mode)),
        1 => Just(Node::Sparse),
        2 => (0u32..0o1000).prop_map(Node::Dir),
        1 => "[a-c/.]{1,120}".prop_map(Node::Link),
        1 => Just(Node::HardLinkToFirst),
        1 => Just(Node::Fifo),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-d]{1,2}(/[a-d]){0,2}", 1 => "[a-z ü\\\\*]{1,60}(/[a-z\n]{1,70}){1,2}"]
}

/// Lays a tree out as far as the names allow it.
fn lay(root: &Path, nodes: &[(String, Node)]) {
    let mut first: Option<PathBuf> = None;
    for (name, node) in nodes {
        let path = root.join(name);
        if path.symlink_metadata().is_ok()
            || fs::create_dir_all(path.parent().unwrap()).is_err()
            || path.parent().unwrap().canonicalize().is_ok_and(|p| !p.starts_with(root))
        {
            continue;
        }
        let _ = match node {
            Node::File(data, mode) => fs::write(&path, data).map(|()| {
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
                first.get_or_insert(path);
            }),
            Node::Sparse => fs::File::create(&path).and_then(|file| {
                use std::os::unix::fs::FileExt;
                file.write_at(b"middle", 300_000)?;
                file.write_at(b"late", 900_000)?;
                file.set_len(1_500_000)
            }),
            Node::Dir(mode) => fs::create_dir(&path).map(|()| {
                // Our own access must stay, or nobody but root could pack it.
                let mode = fs::Permissions::from_mode(*mode | 0o700);
                fs::set_permissions(&path, mode).unwrap();
            }),
            Node::Link(to) => std::os::unix::fs::symlink(to, &path),
            Node::HardLinkToFirst => match &first {
                Some(first) => fs::hard_link(first, &path),
                None => Ok(()),
            },
            Node::Fifo => rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o640),
                0,
            )
            .map_err(Into::into),
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_same_tree_as_tar(
        nodes in prop::collection::vec((name(), node()), 1..30),
        format in prop::sample::select(vec!["gnu", "posix", "ustar", "v7", "oldgnu"]),
        sparse in any::<bool>(),
    ) {
        if !there("tar") {
            return Ok(());
        }
        let place = Place::new();
        lay(&place.into, &nodes);
        let packed = place._temp.path().join("a.tar");
        // The other formats know no sparse files, and tar then refuses to begin.
        let sparse = if sparse && format != "ustar" && format != "v7" { "--sparse" } else { "" };
        let script = format!(
            "tar c --format={format} {sparse} -f '{}' -C '{}' . 2>/dev/null || :",
            packed.display(), place.into.display());
        run(&place.outer, &script);
        let (theirs, ours) = (place.outer.join("theirs"), place.outer.join("ours"));
        fs::create_dir(&theirs).unwrap();
        fs::create_dir(&ours).unwrap();
        let extract = format!("tar xof '{}' 2>/dev/null", packed.display());
        let well = Command::new("sh").args(["-c", &extract]).current_dir(&theirs).status().unwrap().success();
        let result = unpack(&packed, OsStr::new("a.tar"), &ours, "8", &Limits::default());
        // Where the format had no room for a name, the archive is damaged from the beginning.
        prop_assert_eq!(well, result.is_ok(), "{:?}", result);
        if !well {
            return Ok(());
        }
        run(&theirs, "find . -mindepth 1 -maxdepth 1 ! -type l -exec chmod -fR a+rX,u+w,g-w,o-w,ug-s,-t {} +");
        prop_assert_eq!(listing(&theirs, true), listing(&ours, true));
    }
}

#[test]
fn the_same_tree_as_unzip() {
    if !there("zip") || Command::new("unzip").arg("-v").output().is_err() {
        return;
    }
    let place = Place::new();
    run(
        &place.into,
        "mkdir -p a/b c; echo one > a/b/x; echo two > 'a/my file'; chmod 0600 a/b/x; ln -s a/b link
         echo run > c/run; chmod 0711 c/run; touch -d @1234567890 a/b/x c; printf 'b\\\\s' > 'b\\s'; echo ü > ü
         zip -qry ../a.zip .",
    );
    let packed = place.outer.join("a.zip");
    let (theirs, ours) = (place.outer.join("theirs"), place.outer.join("ours"));
    fs::create_dir(&theirs).unwrap();
    fs::create_dir(&ours).unwrap();
    run(&theirs, "export LC_ALL=C.UTF-8; unzip -qo ../a.zip; chmod -fR a+rX,u+w,g-w,o-w .");
    unpack(&packed, OsStr::new("a.zip"), &ours, "8", &Limits::default()).unwrap();
    // unzip dates links and directories by the day; only files' times are worth comparing.
    let files = |root: &Path| {
        let mut all = listing(root, true);
        let untimed = listing(root, false);
        all.retain(|path, _| root.join(OsStr::from_bytes(path)).symlink_metadata().unwrap().is_file());
        (untimed, all)
    };
    assert_eq!(files(&theirs), files(&ours));
}
