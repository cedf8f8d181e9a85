use std::io::Write;

use super::*;
use crate::source::unpack::Codec;

/// Compresses as the name's last suffix says; `.tar` stays as it is.
pub(super) fn compress(name: &str, data: &[u8]) -> Vec<u8> {
    match name.rsplit('.').next().unwrap() {
        "gz" | "tgz" => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            out.write_all(data).unwrap();
            out.finish().unwrap()
        }
        "bz2" => {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), Default::default());
            out.write_all(data).unwrap();
            out.finish().unwrap()
        }
        "xz" => {
            let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
            out.write_all(data).unwrap();
            out.finish().unwrap()
        }
        "lzma" => {
            let options = liblzma::stream::LzmaOptions::new_preset(1).unwrap();
            let stream = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
            let mut out = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
            out.write_all(data).unwrap();
            out.finish().unwrap()
        }
        "zst" => zstd::stream::encode_all(data, 1).unwrap(),
        _ => data.to_vec(),
    }
}

fn sample() -> Vec<u8> {
    TarMaker::default().file("d/a", "text\n").file("d/big", &"0123456789".repeat(50_000)).end()
}

#[test]
fn tars_of_every_compression() {
    for name in ["a.tar", "a.tgz", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.tar.lzma", "A.TAR.XZ"] {
        let place = Place::new();
        place.unpack(name, &compress(&name.to_lowercase(), &sample())).unwrap();
        assert_eq!(place.text("d/a"), "text\n", "{name}");
        assert_eq!(place.text("d/big").len(), 500_000, "{name}");
    }
}

#[test]
fn tar_looks_at_the_data() {
    for (name, really) in
        [("a.tar.gz", "a.xz"), ("a.tar.xz", "a.gz"), ("a.tar.bz2", "a.tar"), ("a.tar", "a.zst"), ("a.tgz", "a.lzma")]
    {
        let place = Place::new();
        place.unpack(name, &compress(really, &sample())).unwrap();
        assert_eq!(place.text("d/a"), "text\n", "{name} {really}");
    }
    let error = Place::new().unpack("a.tar.gz", b"LZIP\x01").unwrap_err();
    assert_eq!(error.to_string(), "a.tar.gz: lzip data is not supported");
}

#[test]
fn single_files_lose_their_suffix() {
    for name in ["a.txt.gz", "a.txt.bz2", "a.txt.xz", "a.txt.lzma"] {
        let place = Place::new();
        let unpacked = place.unpack(name, &compress(name, b"note\n")).unwrap();
        assert_eq!((unpacked.files, unpacked.bytes), (1, 5));
        assert_eq!(place.text("a.txt"), "note\n");
        assert_eq!(place.mode("a.txt"), 0o644);
    }
    let place = Place::new();
    place.unpack("notes.TXT.GZ", &compress("a.gz", b"note\n")).unwrap();
    assert_eq!(place.text("notes.TXT"), "note\n");
    failed(place.unpack(".gz", &compress("a.gz", b"note\n")));
    place.unpack_as(Kind::Single(Codec::Zstd), "b.zst", &compress("b.zst", b"z")).unwrap();
    assert_eq!(place.text("b"), "z");
}

#[test]
fn what_unpack_skips_is_left_packed() {
    let place = Place::new();
    for name in ["a-1.crate", "b.gem", "c.tar.zst", "fix.patch", "README"] {
        assert_eq!(place.unpack(name, b"whatever").unwrap(), Unpacked::default());
    }
    assert_eq!(fs::read_dir(&place.into).unwrap().count(), 0);
    let kinds = [("a.crate", "a.gz"), ("c.tar.zst", "c.zst"), ("b.gem", "b.tar")];
    for (name, really) in kinds {
        let data = compress(really, &sample());
        place.unpack_as(Kind::Tar, name, &data).unwrap();
    }
}

#[test]
fn several_members_are_one_file() {
    for suffix in ["gz", "bz2", "xz"] {
        let name = format!("a.{suffix}");
        let mut data = compress(&name, b"one ");
        data.extend(compress(&name, b"two"));
        let place = Place::new();
        place.unpack(&name, &data).unwrap();
        assert_eq!(place.text("a"), "one two", "{suffix}");
    }
}

#[test]
fn what_follows_the_data() {
    let after = |name: &str, tail: &[u8]| {
        let mut data = compress(name, b"text");
        data.extend_from_slice(tail);
        Place::new().unpack(name, &data)
    };
    // As gzip, bzip2 and xz: status 2, a warning with status 0, status 1.
    assert!(failed(after("a.gz", b"rubbish")).contains("trailing garbage"));
    assert_eq!(after("a.bz2", b"rubbish").unwrap().remarks.len(), 1);
    failed(after("a.xz", b"rubbish"));
    assert_eq!(after("a.gz", &[0; 3000]).unwrap().remarks, [""; 0]);
    after("a.xz", &[0; 8]).unwrap();
    let mut tar = compress("a.tar.gz", &sample());
    tar.extend_from_slice(b"rubbish");
    failed(Place::new().unpack("a.tar.gz", &tar));
}

#[test]
fn truncated_data_fails() {
    for suffix in ["gz", "bz2", "xz", "lzma"] {
        let (file, tar) = (format!("a.{suffix}"), format!("a.tar.{suffix}"));
        let whole = compress(&file, "0123456789".repeat(9999).as_bytes());
        let packed = compress(&tar, &sample());
        for part in [1, 2, 5, 9] {
            failed(Place::new().unpack(&file, &whole[..whole.len() * part / 10]));
            failed(Place::new().unpack(&tar, &packed[..packed.len() * part / 10]));
        }
    }
    failed(Place::new().unpack("a.gz", b""));
}

#[test]
fn a_bomb_is_stopped_in_time() {
    let limits = Limits { max_bytes: 1 << 20, ..Limits::default() };
    let zeros = vec![0; 8 << 20];
    for name in ["a.gz", "a.xz", "a.bz2"] {
        let place = Place::new();
        let error = place.unpack_within(name, &compress(name, &zeros), &limits).unwrap_err();
        assert!(matches!(error, UnpackError::TooLarge { .. }), "{error:?}");
        let written = fs::metadata(place.into.join("a")).unwrap().len();
        assert!(written <= 1 << 20, "{written}");
    }
}

#[test]
fn kinds_that_cannot_be_read_are_named() {
    let place = Place::new();
    let limits = Limits::default();
    for (name, kind) in [("a.rar", "rar"), ("a.LHA", "lha")] {
        let archive = place.archive(name, b"x");
        let error = unpack(&archive, OsStr::new(name), &place.into, "7", &limits).unwrap_err();
        assert_eq!(error.to_string(), format!("{name}: {kind} archives are not supported"));
    }
}

#[test]
fn ar_archives() {
    let member = |name: &str, data: &str| {
        let pad = if data.len() % 2 == 1 { "\n" } else { "" };
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n{data}{pad}", 0, 0, 0, 100_644, data.len())
    };
    let deb = format!(
        "!<arch>\n{}{}{}{}{}",
        member("debian-binary/", "2.0\n"),
        member("//", "a-name-longer-than-sixteen/\nanother/\n"),
        member("/0", "long"),
        member("data.tar", "odd"),
        member("#1/8", "bsd\0\0\0\0\0text"),
    );
    let place = Place::new();
    let unpacked = place.unpack("x_1.deb", deb.as_bytes()).unwrap();
    assert_eq!(unpacked.files, 4);
    assert_eq!(place.text("debian-binary"), "2.0\n");
    assert_eq!(place.text("a-name-longer-than-sixteen"), "long");
    assert_eq!(place.text("data.tar"), "odd");
    assert_eq!(place.text("bsd"), "text");
    let bad = format!("!<arch>\n{}", member("#1/8", "../../xytext"));
    place.assert_refused(place.unpack("b.a", bad.as_bytes()));
    let cut = format!("!<arch>\n{}", member("x/", "0123456789"));
    for end in [3, 30, 70] {
        failed(place.unpack("c.a", &cut.as_bytes()[..end]));
    }
    failed(place.unpack("d.a", b"!<thin>\n"));
}

#[test]
fn seven_zip_archives() {
    use sevenz_rust2::{ArchiveEntry, ArchiveWriter};

    let pack = |members: &[(&str, &str, u32)]| {
        let mut out = ArchiveWriter::new(std::io::Cursor::new(Vec::new())).unwrap();
        for (name, text, mode) in members {
            let mut entry = match mode & 0o170_000 {
                0o040_000 => ArchiveEntry::new_directory(name),
                _ => ArchiveEntry::new_file(name),
            };
            entry.has_windows_attributes = true;
            entry.windows_attributes = 0x8000 | mode << 16;
            let data = (!entry.is_directory).then_some(text.as_bytes());
            out.push_archive_entry(entry, data).unwrap();
        }
        out.finish().unwrap().into_inner()
    };
    let place = Place::new();
    let limits = Limits::default();
    let unpack7 = |data: &[u8], limits: &Limits| {
        let archive = place.archive("a.7z", data);
        unpack(&archive, OsStr::new("a.7z"), &place.into, "7", limits)
    };
    let good = pack(&[
        ("d", "", 0o040_755),
        ("d/run", "#!/bin/sh\n", 0o100_700),
        ("d/empty", "", 0o100_600),
        ("link", "d/run", 0o120_777),
    ]);
    unpack7(&good, &limits).unwrap();
    assert_eq!(place.text("link"), "#!/bin/sh\n");
    assert_eq!(place.mode("d/run"), 0o755);
    assert_eq!(place.text("d/empty"), "");
    for bad in ["../outside", "/outside"] {
        place.assert_refused(unpack7(&pack(&[(bad, "x", 0o100_644)]), &limits));
    }
    let small = Limits { max_bytes: 3, ..limits };
    assert!(matches!(unpack7(&good, &small), Err(UnpackError::TooLarge { .. })));
    for end in [0, 20, good.len() / 2, good.len() - 1] {
        failed(unpack7(&good[..end], &limits));
    }
    for at in 0..good.len() {
        let mut broken = good.clone();
        broken[at] ^= 0xff;
        let _ = unpack7(&broken, &limits);
        place.assert_nothing_outside();
    }
}
