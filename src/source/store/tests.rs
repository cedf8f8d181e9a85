use std::fs;
use std::time::Duration;

use super::*;
use crate::source::FetchOptions;
use crate::source::testing::distfile;

struct Place {
    temp: tempfile::TempDir,
    store: DistfileStore,
}

/// A store with all its directories but the one to fall back on.
fn place(online: bool) -> Place {
    let temp = tempfile::tempdir().unwrap();
    for dir in ["distdir", "ro", "mirror"] {
        fs::create_dir(temp.path().join(dir)).unwrap();
    }
    let fetcher =
        online.then(|| Fetcher::new(FetchOptions { backoff: Duration::from_millis(1), ..FetchOptions::default() }));
    let mut store = DistfileStore::new(temp.path().join("distdir"), temp.path().join("cache/distfiles"), fetcher);
    store.ro_distdirs = vec![temp.path().join("ro")];
    Place { temp, store }
}

impl Place {
    fn put(&self, path: &str, data: &[u8]) -> PathBuf {
        let path = self.temp.path().join(path);
        fs::write(&path, data).unwrap();
        path
    }

    fn obtain(&self, file: &Distfile) -> Result<PathBuf, DistfileError> {
        self.store.obtain(file, &())
    }
}

fn bad_digest(result: Result<PathBuf, DistfileError>) -> String {
    match result {
        Err(error @ DistfileError::BadDigest { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn fetch_failed(result: Result<PathBuf, DistfileError>) -> String {
    match result {
        Err(error @ DistfileError::FetchFailed { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_good_copy_is_taken() {
    let place = place(false);
    let file = distfile("a.tar", b"good");
    let ro = place.put("ro/a.tar", b"good");
    assert_eq!(place.obtain(&file).unwrap(), ro);
    // A bad one before it does not hide it, nor is it touched.
    let bad = place.put("distdir/a.tar", b"evil");
    assert_eq!(place.obtain(&file).unwrap(), ro);
    assert_eq!(fs::read(&bad).unwrap(), b"evil");
    let good = place.put("distdir/a.tar", b"good");
    assert_eq!(place.obtain(&file).unwrap(), good);
    // A file found good is looked at again once it changes.
    place.put("distdir/a.tar", b"evil");
    // Both writes may fall into one tick of the file system's clock.
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let file_at = fs::File::options().write(true).open(&good).unwrap();
    file_at.set_modified(long_ago).unwrap();
    fs::remove_file(&ro).unwrap();
    let text = bad_digest(place.obtain(&file));
    assert!(text.starts_with("a.tar: ") && text.contains("BLAKE2B"), "{text}");
}

#[test]
fn what_is_missing_says_where_to_put_it() {
    let mut file = distfile("a.tar", b"good");
    let text = fetch_failed(place(false).obtain(&file));
    assert!(text.starts_with("a.tar is not in DISTDIR and nothing is fetched offline; put it there: /"));
    assert!(text.ends_with("/distdir/a.tar"));
    let online = place(true);
    let text = fetch_failed(online.obtain(&file));
    assert!(text.contains("has no URI"), "{text}");
    file.uris = vec!["/not/here".into()];
    let text = fetch_failed(online.obtain(&file));
    assert!(text.contains("/not/here: No such file"), "{text}");
    file.uris.push("gopher://x/y".into());
    let text = fetch_failed(online.obtain(&file));
    assert!(text.contains("none of 2 URIs") && !text.contains('\n'), "{text}");
    file.restrict_fetch = true;
    let text = fetch_failed(online.obtain(&file));
    assert!(text.contains("must be fetched by hand"), "{text}");
    for name in ["", "..", "a/b"] {
        file.name = name.into();
        fetch_failed(online.obtain(&file));
    }
}

#[test]
fn a_file_without_a_dist_line() {
    let mut place = place(false);
    let file = Distfile { name: "a.tar".into(), ..Distfile::default() };
    let path = place.put("distdir/a.tar", b"whatever");
    assert!(bad_digest(place.obtain(&file)).contains("--allow-unverified"));
    place.store.allow_unverified = true;
    assert_eq!(place.obtain(&file).unwrap(), path);
}

#[test]
fn fetched_into_distdir_or_where_else_there_is_room() {
    let mut place = place(true);
    let mut file = distfile("a.tar", b"good");
    file.uris = vec![place.put("mirror/a.tar", b"good").display().to_string()];
    let distdir = place.temp.path().join("distdir");
    assert_eq!(place.obtain(&file).unwrap(), distdir.join("a.tar"));
    assert!(!place.temp.path().join("cache").exists());
    place.store.distdir = place.temp.path().join("gone");
    let cached = place.temp.path().join("cache/distfiles/a.tar");
    assert_eq!(place.obtain(&file).unwrap(), cached);
    assert!(!place.store.distdir.exists());
    // The next run finds it there without fetching.
    place.store.fetcher = None;
    assert_eq!(place.obtain(&file).unwrap(), cached);
}

#[test]
fn a_bad_file_is_replaced_by_a_good_one_only() {
    let place = place(true);
    let mut file = distfile("a.tar", b"good");
    let path = place.put("distdir/a.tar", b"evil");
    let mirror = place.put("mirror/a.tar", b"also evil");
    file.uris = vec![mirror.display().to_string()];
    let text = bad_digest(place.obtain(&file));
    assert!(text.contains("fetching it anew failed"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), b"evil");
    place.put("mirror/a.tar", b"good");
    assert_eq!(place.obtain(&file).unwrap(), path);
    assert_eq!(fs::read(&path).unwrap(), b"good");
}

#[test]
fn many_at_once_keep_their_order() {
    let place = place(true);
    let files: Vec<Distfile> = (0..20)
        .map(|i| {
            let data = format!("data {i}");
            let mut file = distfile(&format!("{i}.tar"), data.as_bytes());
            let source = place.put(&format!("mirror/{i}"), data.as_bytes());
            // Every third is nowhere.
            if i % 3 != 0 {
                file.uris = vec![source.display().to_string()];
            }
            file
        })
        .collect();
    let answers = place.store.obtain_all(&files, &());
    for (i, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_ok(), i % 3 != 0);
        if let Ok(path) = answer {
            assert_eq!(fs::read(path).unwrap(), format!("data {i}").as_bytes());
        }
    }
    assert!(place.store.obtain_all(&[], &()).is_empty());
}

#[test]
fn a_copy_that_can_not_be_read_is_said_so() {
    use std::os::unix::fs::PermissionsExt;
    // nothing is closed to root
    if rustix::process::geteuid().is_root() {
        return;
    }
    let place = place(false);
    let file = distfile("a.tar", b"good");
    let path = place.put("distdir/a.tar", b"good");
    for (path, mode) in [(path.as_path(), 0o000), (path.parent().unwrap(), 0o600)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let said = fetch_failed(place.obtain(&file));
        assert!(said.contains("can't be read") && said.contains("Permission denied"), "{said}");
    }
    fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
}
