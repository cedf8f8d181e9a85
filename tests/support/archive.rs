//! Archives made from entries: tar, zip and the compressions, with names as wild as a test wants them.

use std::io::Write;

use flate2::Compression;

/// What an entry of an archive is.
#[derive(Clone, Debug)]
pub enum Kind {
    File(Vec<u8>),
    Dir,
    Symlink(String),
    Hardlink(String),
    Fifo,
}

/// An entry of an archive; the name is bytes and goes in as it is.
#[derive(Clone, Debug)]
pub struct Entry {
    pub name: Vec<u8>,
    pub mode: u32,
    pub kind: Kind,
}

/// A GNU tar; `parents` adds a directory member before the first entry below each directory.
pub fn tar(entries: &[Entry], parents: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for entry in entries {
        let parts: Vec<&[u8]> = entry.name.split(|b| *b == b'/').collect();
        if parents && entry.name.first() != Some(&b'/') && !parts.contains(&&b".."[..]) {
            for end in 1..parts.len() {
                let parent = parts[..end].join(&b'/');
                if !seen.contains(&parent) && !matches!(&parent[..], b"." | b"") {
                    tar_member(&mut out, &parent, 0o755, &Kind::Dir);
                    seen.push(parent);
                }
            }
        }
        if let Kind::Dir = entry.kind {
            seen.push(entry.name.clone());
        }
        tar_member(&mut out, &entry.name, entry.mode, &entry.kind);
    }
    out.resize((out.len() + 1024).next_multiple_of(10240), 0);
    out
}

fn tar_member(out: &mut Vec<u8>, name: &[u8], mode: u32, kind: &Kind) {
    let mut name = name.to_vec();
    let (tag, link, data): (u8, &[u8], &[u8]) = match kind {
        Kind::File(data) => (b'0', b"", data),
        Kind::Dir => (b'5', b"", b""),
        Kind::Symlink(to) => (b'2', to.as_bytes(), b""),
        Kind::Hardlink(to) => (b'1', to.as_bytes(), b""),
        Kind::Fifo => (b'6', b"", b""),
    };
    if tag == b'5' && name.last() != Some(&b'/') {
        name.push(b'/');
    }
    for (long, tag) in [(link, b'K'), (&name[..], b'L')] {
        if long.len() > 100 {
            let text = [long, b"\0"].concat();
            tar_block(out, b"././@LongLink", 0, tag, b"", &text);
        }
    }
    tar_block(out, &name, mode, tag, link, data);
}

fn tar_block(out: &mut Vec<u8>, name: &[u8], mode: u32, tag: u8, link: &[u8], data: &[u8]) {
    let mut block = [0u8; 512];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &name[..name.len().min(100)]);
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000\x000000000\0");
    put(124, format!("{:011o}\0{:011o}\0", data.len(), 0).as_bytes());
    put(148, b"        ");
    put(156, &[tag]);
    put(157, &link[..link.len().min(100)]);
    put(257, b"ustar  \0");
    let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    out.extend_from_slice(&block);
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(512), 0);
}

/// A deflated zip made on a Unix.
pub fn zip(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let (mode, data, dos): (u32, &[u8], u32) = match &entry.kind {
            Kind::File(data) => (0o100_000 | entry.mode, data, 0),
            Kind::Symlink(to) => (0o120_777, to.as_bytes(), 0),
            Kind::Dir => (0o40_755, b"", 0x10),
            other => panic!("a zip holds no {other:?}"),
        };
        let mut name = entry.name.clone();
        if dos != 0 && name.last() != Some(&b'/') {
            name.push(b'/');
        }
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), Compression::default());
        deflate.write_all(data).unwrap();
        let squeezed = deflate.finish().unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(data);
        // from "version needed" to "length of the extra field", the same in both headers; names are UTF-8
        let mut common = Vec::new();
        for half in [20u16, 0x800, 8, 0, 0x21] {
            common.extend(half.to_le_bytes());
        }
        for word in [crc.sum(), squeezed.len() as u32, data.len() as u32] {
            common.extend(word.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let at = out.len() as u32;
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(&name);
        out.extend(squeezed);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend((mode << 16 | dos).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(&name);
    }
    let (at, count) = (out.len() as u32, (entries.len() as u16).to_le_bytes());
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(count);
    out.extend(count);
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0, 0]);
    out
}

/// Compressed as `gz`, `xz`, `bz2` or `zst`; any other word leaves the bytes alone.
pub fn squeeze(data: Vec<u8>, how: &str) -> Vec<u8> {
    match how {
        "gz" => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
            out.write_all(&data).unwrap();
            out.finish().unwrap()
        }
        "xz" => {
            let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
            out.write_all(&data).unwrap();
            out.finish().unwrap()
        }
        "bz2" => {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            out.write_all(&data).unwrap();
            out.finish().unwrap()
        }
        "zst" => zstd::encode_all(&data[..], 1).unwrap(),
        _ => data,
    }
}

const TARS: &[(&str, &str)] = &[
    (".tar.bz2", "bz2"),
    (".tar.zst", "zst"),
    (".tar.gz", "gz"),
    (".tar.xz", "xz"),
    (".crate", "gz"),
    (".tbz2", "bz2"),
    (".tar", ""),
    (".tgz", "gz"),
    (".txz", "xz"),
];
const SINGLES: &[(&str, &str)] = &[(".bz2", "bz2"), (".zst", "zst"), (".gz", "gz"), (".xz", "xz")];

/// How a distfile is made, as its name (or the suffix that a case gives in its place) says.
pub enum Shape {
    Tar(&'static str),
    Zip,
    Single(&'static str),
    Plain,
}

impl Shape {
    pub fn of(name: &str) -> Shape {
        let name = name.to_lowercase();
        let find = |all: &'static [(&str, &str)]| all.iter().find(|(s, _)| name.ends_with(s)).map(|(_, how)| *how);
        if let Some(how) = find(TARS) {
            Shape::Tar(how)
        } else if name.ends_with(".zip") || name.ends_with(".jar") {
            Shape::Zip
        } else {
            find(SINGLES).map_or(Shape::Plain, Shape::Single)
        }
    }
}
