use std::os::unix::fs::MetadataExt;

use proptest::prelude::*;

use super::*;

#[test]
fn files_links_modes_and_times() {
    let place = Place::new();
    let tar = TarMaker::default()
        .dir("d", 0o555)
        .member(b'0', b"d/run", b"", 0o100, b"#!/bin/sh\n")
        .member(b'0', b"d/none", b"", 0, b"secret")
        .symlink("d/link", "/etc/passwd")
        .hard_link("d/hard", "d/none")
        .member(b'6', b"d/fifo", b"", 0o600, b"")
        .member(b'3', b"d/null", b"", 0o666, b"")
        .end();
    let unpacked = place.unpack("a.tar", &tar).unwrap();
    assert_eq!(unpacked.files, 6);
    assert_eq!(unpacked.bytes, 16);
    assert_eq!(unpacked.remarks, ["d/null: a device, left out"]);
    assert_eq!(place.mode("d"), 0o755);
    assert_eq!(place.mode("d/run"), 0o755);
    assert_eq!(place.mode("d/none"), 0o644);
    assert_eq!(place.text("d/hard"), "secret");
    assert!(!place.has("d/null"));
    for path in ["d", "d/run", "d/link", "d/fifo"] {
        assert_eq!(place.mtime(path), (1_000_000_000, 0), "{path}");
    }
    let target = std::fs::read_link(place.into.join("d/link")).unwrap();
    assert_eq!(target, Path::new("/etc/passwd"));
    let inode = |p: &str| std::fs::metadata(place.into.join(p)).unwrap().ino();
    assert_eq!(inode("d/hard"), inode("d/none"));
}

#[test]
fn names_that_leave_the_directory_are_refused() {
    for (name, word) in [("/outside", "absolute"), ("../outside", ".."), ("a/../../outside", ".."), ("a/..", "..")] {
        for flag in *b"01256" {
            let place = Place::new();
            let tar = TarMaker::default().file("a/x", "x").member(flag, name.as_bytes(), b"a/x", 0o644, b"").end();
            let text = place.assert_refused(place.unpack("bad.tar", &tar));
            assert!(text.contains(word) && text.contains("bad.tar"), "{text}");
        }
    }
}

#[test]
fn nothing_is_written_through_a_link_of_the_archive() {
    for to in ["..", "../..", "/tmp", "a", ".", "a/.."] {
        let place = Place::new();
        let tar = TarMaker::default().dir("a", 0o755).symlink("up", to).file("up/outside", "out").end();
        let text = place.assert_refused(place.unpack("bad.tar", &tar));
        assert!(text.contains("the link up"), "{text}");
        assert!(!place.has("a/outside") && !place.has("outside"));
    }
    // A link to a link, a hard link to a link, and a link put where a directory was.
    for tar in [
        TarMaker::default().symlink("a", "..").symlink("b", "a").file("b/x", "x"),
        TarMaker::default().symlink("a", "..").hard_link("b", "a").file("b/x", "x"),
        TarMaker::default().dir("a", 0o755).symlink("a", "..").file("a/x", "x"),
        TarMaker::default().dir("a/b", 0o755).symlink("a/c", "../..").dir("a/c/d", 0o755),
        TarMaker::default().symlink("a", "..").symlink("a/x", "y"),
    ] {
        let place = Place::new();
        place.assert_refused(place.unpack("bad.tar", &tar.end()));
    }
}

#[test]
fn hard_links_lead_nowhere_outside() {
    for (tar, refused) in [
        (TarMaker::default().hard_link("x", "/etc/passwd"), true),
        (TarMaker::default().hard_link("x", "../outer"), true),
        (TarMaker::default().symlink("up", "../..").hard_link("x", "up/outside"), true),
        (TarMaker::default().hard_link("x", "not/there"), false),
        (TarMaker::default().file("f", "").hard_link("x", "f/below"), false),
    ] {
        let place = Place::new();
        let error = place.unpack("bad.tar", &tar.end()).unwrap_err();
        assert_eq!(matches!(error, UnpackError::Refused { .. }), refused, "{error}");
        place.assert_nothing_outside();
        assert!(!place.has("x"));
    }
}

#[test]
fn an_existing_file_outside_is_not_written_through_a_file_link() {
    let place = Place::new();
    let victim = place.archive("victim", b"precious");
    let tar = TarMaker::default().symlink("x", victim.to_str().unwrap()).file("x", "overwritten").end();
    place.unpack("a.tar", &tar).unwrap();
    assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    assert_eq!(place.text("x"), "overwritten");
    // Neither through a hard link that stood there before.
    std::fs::hard_link(&victim, place.into.join("y")).unwrap();
    place.unpack("b.tar", &TarMaker::default().file("y", "new").end()).unwrap();
    assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn links_that_stood_before_are_followed_within_the_tree_only() {
    let place = Place::new();
    std::fs::create_dir(place.into.join("real")).unwrap();
    std::os::unix::fs::symlink("real", place.into.join("name")).unwrap();
    std::os::unix::fs::symlink("..", place.into.join("up")).unwrap();
    let tar = TarMaker::default().file("name/x", "x").end();
    place.unpack("a.tar", &tar).unwrap();
    assert_eq!(place.text("real/x"), "x");
    let tar = TarMaker::default().file("up/x", "x").end();
    place.assert_refused(place.unpack("b.tar", &tar));
}

#[test]
fn the_later_member_replaces_the_earlier() {
    let place = Place::new();
    let tar = TarMaker::default()
        .file("a", "first")
        .hard_link("b", "a")
        .file("a", "second")
        .dir("empty", 0o755)
        .file("empty", "now a file")
        .symlink("dirlink", "elsewhere")
        .dir("dirlink", 0o755)
        .file("dirlink/x", "x")
        .hard_link("b", "b")
        .end();
    place.unpack("a.tar", &tar).unwrap();
    assert_eq!(place.text("a"), "second");
    assert_eq!(place.text("b"), "first");
    assert_eq!(place.text("empty"), "now a file");
    assert_eq!(place.text("dirlink/x"), "x");
    let full = TarMaker::default().file("d/x", "x").file("d", "no").end();
    assert!(failed(place.unpack("b.tar", &full)).contains("a directory is in the way"));
}

#[test]
fn the_root_keeps_its_owners_bits() {
    let place = Place::new();
    let tar = TarMaker::default().dir("./", 0o500).file("./a", "a").end();
    place.unpack("a.tar", &tar).unwrap();
    assert_eq!(std::fs::metadata(&place.into).unwrap().mode() & 0o777, 0o700);
    assert_eq!(place.text("a"), "a");
    let tar = TarMaker::default().file("./", "a").end();
    assert!(place.unpack("b.tar", &tar).is_ok());
    let tar = TarMaker::default().symlink(".", "x").end();
    failed(place.unpack("c.tar", &tar));
}

#[test]
fn pax_and_gnu_long_names() {
    let place = Place::new();
    let long = format!("{}/{}", "d".repeat(150), "f\nx".repeat(40));
    let tar = TarMaker::default()
        .pax(&[("path", long.as_bytes()), ("mtime", b"1700000000.123456789")])
        .file("short", "pax")
        .member(b'L', b"././@LongLink", b"", 0, format!("{}\0", "g".repeat(200)).as_bytes())
        .member(b'K', b"././@LongLink", b"", 0, format!("{}\0", "t".repeat(300)).as_bytes())
        .symlink("short", "short")
        .pax(&[("path", b"\xff\xfe")])
        .file("short", "no utf-8")
        .end();
    place.unpack("a.tar", &tar).unwrap();
    assert_eq!(place.text(&long), "pax");
    assert_eq!(place.mtime(&long), (1_700_000_000, 123_456_789));
    let link = std::fs::read_link(place.into.join("g".repeat(200))).unwrap();
    assert_eq!(link.as_os_str().len(), 300);
    use std::os::unix::ffi::OsStrExt;
    assert!(place.into.join(OsStr::from_bytes(b"\xff\xfe")).exists());
    // Names from extension headers are no more trusted than others.
    let tar = TarMaker::default().pax(&[("path", b"../up")]).file("ok", "x").end();
    place.assert_refused(place.unpack("b.tar", &tar));
    let tar = TarMaker::default().file("f", "x").pax(&[("linkpath", b"/etc/passwd")]).hard_link("ok", "f").end();
    place.assert_refused(place.unpack("c.tar", &tar));
}

/// All of it is what GNU tar does, but that it lets one name or one size of all members pass.
#[test]
fn a_global_header_says_nothing_but_the_time() {
    let place = Place::new();
    let time = |seconds: &'static [u8]| [("mtime", seconds)];
    let tar = TarMaker::default()
        .global(&time(b"1700000000"))
        .file("all", "x")
        .pax(&time(b"1600000000"))
        .file("own", "x")
        .global(&[("comment", b"the one before is forgotten")])
        .file("none", "x")
        .end();
    place.unpack("a.tar", &tar).unwrap();
    let times = ["all", "own", "none"].map(|name| place.mtime(name).0);
    assert_eq!(times, [1_700_000_000, 1_600_000_000, 1_000_000_000]);
    for key in ["path", "linkpath", "size", "GNU.sparse.map", "GNU.sparse.offset", "GNU.sparse.name"] {
        let tar = TarMaker::default().global(&[(key, b"7,3")]).file("a", "x").end();
        assert!(failed(Place::new().unpack("a.tar", &tar)).contains(key));
    }
}

#[test]
fn extension_headers_do_not_pile_up() {
    let place = Place::new();
    let tar = TarMaker::default()
        .pax(&[("path", b"gone"), ("mtime", b"1700000000")])
        .pax(&[("path", b"kept")])
        .file("a", "x")
        .end();
    place.unpack("a.tar", &tar).unwrap();
    assert_eq!(place.mtime("kept").0, 1_000_000_000);
    assert!(!place.has("gone"));
    for many in [
        (0..9000).fold(TarMaker::default(), |tar, _| tar.global(&[])),
        (0..5).fold(TarMaker::default(), |tar, _| tar.pax(&[("comment", &[b'x'; 1 << 20])])),
    ] {
        let error = failed(Place::new().unpack("a.tar", &many.file("a", "x").end()));
        assert!(error.contains("extension headers"), "{error}");
    }
}

#[test]
fn a_size_in_a_pax_header_counts() {
    let place = Place::new();
    let mut tar = TarMaker::default().pax(&[("size", b"600")]).0;
    let mut data = vec![b'x'; 600];
    data.resize(1024, 0);
    tar.extend(TarMaker::default().member(b'0', b"a", b"", 0o644, b"").0);
    tar.extend(data);
    tar.extend(TarMaker::default().file("b", "b").end());
    place.unpack("a.tar", &tar).unwrap();
    assert_eq!(place.text("a").len(), 600);
    assert_eq!(place.text("b"), "b");
}

#[test]
fn bounds_are_kept() {
    let limits = |max_bytes, max_files, max_path| Limits { max_bytes, max_files, max_path, ..Limits::default() };
    let big = TarMaker::default().file("a", &"x".repeat(2000)).file("b", "y").end();
    for limits in [limits(1999, 10, 100), limits(2000, 10, 100), limits(10_000, 1, 100)] {
        let place = Place::new();
        let error = place.unpack_within("a.tar", &big, &limits).unwrap_err();
        assert!(matches!(error, UnpackError::TooLarge { .. }), "{error:?}");
        assert!(error.to_string().contains("(--max-"), "{error}");
    }
    let place = Place::new();
    place.unpack_within("a.tar", &big, &limits(2001, 2, 1)).unwrap();
    let long = TarMaker::default().file("abc", "").end();
    place.unpack_within("a.tar", &long, &limits(1, 1, 2)).unwrap_err();
    // A directory made on the way counts as well.
    let deep = TarMaker::default().file("a/b/c/d", "").end();
    place.unpack_within("a.tar", &deep, &limits(1, 3, 99)).unwrap_err();
    // A hole is as long as what it stands for.
    let header = sparse(|gnu| gnu.realsize.copy_from_slice(b"77777777777\0"));
    let mut tar = header.as_bytes().to_vec();
    tar.resize(2048, 0);
    let error = place.unpack_within("a.tar", &tar, &limits(1000, 9, 99)).unwrap_err();
    assert!(matches!(error, UnpackError::TooLarge { .. }), "{error:?}");
}

#[test]
fn damage_is_told() {
    let tar = TarMaker::default().file("d/a", &"text".repeat(500)).file("d/b", "b").end();
    for cut in [100, 512, 513, 1000, 2560 + 100] {
        let place = Place::new();
        let result = place.unpack("cut.tar", &tar[..cut]);
        match cut {
            512 | 513 | 1000 => assert!(failed(result).contains("truncated")),
            _ => drop(failed(result)),
        }
    }
    // At a member's end, GNU tar misses nothing.
    Place::new().unpack("a.tar", &tar[..2560]).unwrap();
    Place::new().unpack("a.tar", &tar[..2560 + 512]).unwrap_err();
    assert!(failed(Place::new().unpack("a.tar", b"no archive at all")).contains("a.tar: "));
    let mut broken = tar.clone();
    broken[2560 + 5] ^= 1;
    assert!(failed(Place::new().unpack("a.tar", &broken)).contains("checksum"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the names and links, nothing leaves the directory.
    #[test]
    fn nothing_ever_leaves(members in prop::collection::vec((
        prop::sample::select(b"012567LKxgS".to_vec()),
        "(/|\\./|\\.\\./)?([ab](/|//|/\\./|/\\.\\./)){0,3}[abc]/?",
        "(/|\\./|\\.\\./)?([ab]/|\\.\\./){0,3}[abc.]",
        "[abc]{0,20}",
    ), 1..12)) {
        let place = Place::new();
        let mut tar = TarMaker::default();
        for (flag, name, link, data) in members {
            tar = tar.member(flag, name.as_bytes(), link.as_bytes(), 0o755, data.as_bytes());
        }
        if let Err(error) = place.unpack("a.tar", &tar.end()) {
            prop_assert!(!error.to_string().contains('\n'));
        }
        place.assert_nothing_outside();
        let around = fs::read_dir(place.outer.parent().unwrap()).unwrap().count();
        prop_assert_eq!(around, 2);
    }

    /// A byte flipped anywhere gives an error or an archive, never a panic.
    #[test]
    fn no_damage_breaks_it(at in 0usize..4096, bit in 0u8..8, name in prop::sample::select(
        vec!["a.tar", "a.tar.gz", "a.tar.xz", "a.tar.bz2"])) {
        let tar = TarMaker::default()
            .pax(&[("path", b"x/y"), ("size", b"4")])
            .file("a", "text")
            .symlink("l", "a")
            .member(b'L', b"././@LongLink", b"", 0, b"long/name\0")
            .file("b", "text")
            .end();
        let mut data = codecs::compress(name, &tar);
        let at = at % data.len();
        data[at] ^= 1 << bit;
        let place = Place::new();
        let _ = place.unpack(name, &data);
        place.assert_nothing_outside();
    }
}
