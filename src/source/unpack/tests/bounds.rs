//! What archives can't do: go on for ever, or fill the memory.

use std::time::Duration;

use super::codecs::compress;
use super::*;

fn tar() -> Vec<u8> {
    TarMaker::default().file("d/a", "text\n").file("d/b", "text\n").end()
}

fn unpack_by(clock: &Clock, name: &str, data: &[u8]) -> UnpackError {
    let place = Place::new();
    let archive = place.archive(name, data);
    let kind = Kind::by_name(OsStr::new(name), "7").unwrap();
    unpack_hashed(kind, &archive, OsStr::new(name), &place.into, &Limits::default(), clock).unwrap_err()
}

#[test]
fn nothing_goes_on_when_the_time_is_over_or_nobody_wants_it() {
    let seven = {
        let mut writer = sevenz_rust2::ArchiveWriter::new(std::io::Cursor::new(Vec::new())).unwrap();
        writer.push_archive_entry(sevenz_rust2::ArchiveEntry::new_file("a"), Some(&b"text"[..])).unwrap();
        writer.finish().unwrap().into_inner()
    };
    let names = ["a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.tar.lzma", "a.gz"];
    let mut all: Vec<(&str, Vec<u8>)> = names.map(|name| (name, compress(name, &tar()))).into();
    all.extend([("a.7z", seven), ("a.zip", zip_of(b"text").into_inner()), ("a.a", b"!<arch>\n".to_vec())]);
    for (name, data) in all {
        let error = unpack_by(&Clock::new(Duration::MAX, || true), name, &data);
        assert!(matches!(error, UnpackError::Stopped { .. }), "{name} {error:?}");
        let error = unpack_by(&Clock::new(Duration::ZERO, || false), name, &data);
        assert!(matches!(error, UnpackError::TooSlow { .. }), "{name} {error:?}");
        assert!(error.to_string().contains("(--unpack-timeout)"), "{error}");
    }
}

#[test]
fn streams_of_nothing_take_no_longer_than_they_may() {
    for (name, times) in [("a.tar.xz", 100_000), ("a.tar.gz", 200_000), ("a.tar.bz2", 200_000), ("a.zst", 300_000)] {
        let data = [compress(name, &tar()), compress(name, b"").repeat(times)].concat();
        let place = Place::new();
        let archive = place.archive(name, &data);
        let clock = Clock::new(Duration::from_millis(20), || false);
        let kind = if name == "a.zst" { Kind::Single(crate::source::unpack::Codec::Zstd) } else { Kind::Tar };
        let began = std::time::Instant::now();
        let error = unpack_hashed(kind, &archive, OsStr::new(name), &place.into, &Limits::default(), &clock);
        assert!(matches!(error, Err(UnpackError::TooSlow { .. })), "{name} {error:?}");
        assert!(began.elapsed() < Duration::from_secs(15), "{name}");
    }
}

/// Volumes' labels, data of directories, and the members of which only a hole is left.
#[test]
fn what_is_decompressed_counts_though_nothing_comes_of_it() {
    let limits = Limits { max_bytes: 1 << 20, ..Limits::default() };
    let labels = TarMaker::default().member(b'V', b"v", b"", 0, b"").0.repeat(150_000);
    let folder = TarMaker::default().member(b'5', b"d", b"", 0o755, &vec![0; 80 << 20]).0;
    for data in [labels, folder] {
        let place = Place::new();
        let error = place.unpack_within("a.tar.gz", &compress("a.tar.gz", &data), &limits).unwrap_err();
        assert!(matches!(error, UnpackError::TooLarge { .. }), "{error:?}");
        assert!(error.to_string().contains("(--max-unpacked-size, --max-ratio)"), "{error}");
    }
}

#[test]
fn the_map_of_a_sparse_file_ends_where_it_says_nothing() {
    let header = sparse(|gnu| {
        for piece in &mut gnu.sparse {
            piece.offset.copy_from_slice(b"00000000012\0");
            piece.numbytes.copy_from_slice(b"00000000000\0");
        }
        gnu.realsize.copy_from_slice(b"00000000012\0");
        gnu.isextended[0] = 1;
    });
    let mut more = ::tar::GnuExtSparseHeader::new();
    more.isextended[0] = 1;
    // the block that adds nothing is the last one, though it tells of more
    let tar = [header.as_bytes(), more.as_bytes(), &TarMaker::default().file("next", "x").end()[..]].concat();
    let place = Place::new();
    place.unpack("a.tar", &tar).unwrap();
    assert_eq!(place.text("h"), "\0".repeat(10));
    assert_eq!(place.text("next"), "x");
}

#[test]
fn names_that_are_remembered_are_bounded() {
    let link = |n: usize| {
        let name = format!("{}{n}", "n/".repeat(175)).into_bytes();
        TarMaker::default().member(b'L', b"", b"", 0, &name).symlink("l", "x").0
    };
    // the same folder and the same link again and again are one
    let mut tar = TarMaker::default().dir("./", 0o755).dir("d", 0o755).symlink("l", "x").0.repeat(20_000);
    tar.extend(link(1).repeat(10));
    let place = Place::new();
    place.unpack("a.tar.gz", &compress("a.tar.gz", &tar)).unwrap();
    let mut budget = crate::source::unpack::limits::Budget::new(&Limits::default(), 1, &Clock::default());
    let kept = (0..1 << 20).take_while(|_| budget.keep(4000).is_ok()).count();
    assert!((10_000..50_000).contains(&kept), "{kept}");
    for _ in 0..kept {
        budget.forget(4000);
    }
    budget.keep(4000).unwrap();
}

#[test]
fn many_members_of_an_ar_may_have_one_long_name_no_longer_than_a_path() {
    let table = [b"__.SYMDEF", &vec![b'x'; 1 << 20][..]].concat();
    let mut data = b"!<arch>\n".to_vec();
    let mut member = |name: &str, contents: &[u8]| {
        data.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, contents.len()).as_bytes());
        data.extend(contents);
        data.resize(data.len().next_multiple_of(2), b'\n');
    };
    member("//", &table);
    member("/0", b"");
    let error = Place::new().unpack("a.a", &data).unwrap_err();
    assert!(error.to_string().contains("--max-path"), "{error}");
}

#[test]
fn the_list_of_a_zip_is_bounded() {
    let zip = |files: u32, extra: usize| {
        let mut data = zip_of(b"").into_inner();
        let end = data.len() - 22;
        let list = data[..end].windows(4).position(|four| four == b"PK\x01\x02").unwrap();
        let mut entry = data[list..end].to_vec();
        // a field of nobody's without contents
        let fields = b"AA\0\0".repeat(extra);
        entry[30..32].copy_from_slice(&(fields.len() as u16).to_le_bytes());
        entry.extend(fields);
        data.truncate(list);
        for n in 0..files {
            entry[46] = b'a'.wrapping_add(n as u8);
            data.extend(&entry);
        }
        let length = (data.len() - list) as u32;
        let [files, few] = [files as u16; 2].map(u16::to_le_bytes);
        data.extend([&b"PK\x05\x06\0\0\0\0"[..], &files, &few].concat());
        data.extend([length.to_le_bytes(), (list as u32).to_le_bytes()].concat());
        data.extend([0, 0]);
        data
    };
    let place = Place::new();
    place.unpack("a.zip", &zip(20, 16_000)).unwrap();
    assert!(place.has("t"));
    let place = Place::new();
    let error = failed(place.unpack("a.zip", &zip(300, 16_000)));
    assert!(error.contains("the list of its files"), "{error}");
}

fn zip_of(text: &[u8]) -> std::io::Cursor<Vec<u8>> {
    let mut writer = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file("a", ::zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut writer, text).unwrap();
    writer.finish().unwrap()
}
