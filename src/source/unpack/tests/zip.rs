use std::io::{Cursor, Write};

use ::zip::write::{SimpleFileOptions, ZipWriter};

use super::*;

/// A zip made on a Unix; a name with a trailing slash is a directory.
fn zip(members: &[(&str, &str, u32)]) -> Vec<u8> {
    let mut out = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text, mode) in members {
        // The writer would clean names; a stand-in of the same length is put in place afterwards.
        let options = SimpleFileOptions::default().unix_permissions(*mode);
        match mode & 0o170_000 {
            0o120_000 => out.add_symlink(stand_in(name), *text, options).unwrap(),
            _ if name.ends_with('/') => out.add_directory(stand_in(name), options).unwrap(),
            _ => {
                out.start_file(stand_in(name), options).unwrap();
                out.write_all(text.as_bytes()).unwrap();
            }
        }
    }
    let mut data = out.finish().unwrap().into_inner();
    for (name, _, _) in members {
        let from = stand_in(name).into_bytes();
        if from == name.as_bytes() {
            continue;
        }
        while let Some(at) = data.windows(from.len()).position(|w| w == from) {
            data[at..at + from.len()].copy_from_slice(name.as_bytes());
        }
    }
    data
}

fn stand_in(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '/' => '/',
            '.' => '@',
            '\\' => '%',
            c => c,
        })
        .collect::<String>()
        .replacen('/', if name.starts_with('/') { "~" } else { "/" }, 1)
}

#[test]
fn directories_modes_and_links() {
    let place = Place::new();
    let data = zip(&[
        ("d/", "", 0o700),
        ("d/my file", "one\n", 0o600),
        ("d/run", "#!/bin/sh\n", 0o755),
        ("deep/er/x", "x", 0o644),
        ("link", "d/my file", 0o120_777),
        ("dir\\win", "a\n", 0o644),
    ]);
    place.unpack("a.zip", &data).unwrap();
    assert_eq!(place.text("link"), "one\n");
    assert_eq!(place.mode("d"), 0o755);
    assert_eq!(place.mode("d/my file"), 0o644);
    assert_eq!(place.mode("d/run"), 0o755);
    assert_eq!(place.text("deep/er/x"), "x");
    assert_eq!(place.text("dir\\win"), "a\n");
    let jar = zip(&[("META/MANIFEST", "m", 0o644)]);
    place.unpack("b.jar", &jar).unwrap();
    assert_eq!(place.text("META/MANIFEST"), "m");
}

#[test]
fn names_that_leave_the_directory_are_refused() {
    for bad in ["../outside", "a/../../outside", "/outside"] {
        let place = Place::new();
        let data = zip(&[("a/x", "x", 0o644), (bad, "out", 0o644)]);
        let text = place.assert_refused(place.unpack("bad.zip", &data));
        assert!(text.contains("bad.zip") && text.contains("outside"), "{text}");
    }
    let place = Place::new();
    let data = zip(&[("up", "..", 0o120_777), ("up/outside", "out", 0o644)]);
    place.assert_refused(place.unpack("bad.zip", &data));
}

#[test]
fn a_zip_bomb_is_stopped_in_time() {
    let limits = Limits { max_bytes: 1000, ..Limits::default() };
    let data = zip(&[("zeros", &"0".repeat(100_000), 0o644)]);
    let error = Place::new().unpack_within("a.zip", &data, &limits).unwrap_err();
    assert!(matches!(error, UnpackError::TooLarge { .. }), "{error:?}");
}

#[test]
fn damage_is_told() {
    let data = zip(&[("a", "some text", 0o644)]);
    for end in [0, 10, data.len() / 2, data.len() - 1] {
        failed(Place::new().unpack("a.zip", &data[..end]));
    }
    let mut longer = b"#!/bin/sh\n".to_vec();
    longer.extend_from_slice(&data);
    assert!(failed(Place::new().unpack("a.zip", &longer)).contains("10 extra bytes"));
    // Every single byte once.
    for at in 0..data.len() {
        let mut broken = data.clone();
        broken[at] ^= 0xff;
        let place = Place::new();
        let _ = place.unpack("a.zip", &broken);
        place.assert_nothing_outside();
    }
}
