//! Decompressing one file: `foo.txt.gz` becomes `foo.txt`.

use std::io::BufRead;

use super::decode::{self, Remarks};
use super::error::{Fault, Outcome};
use super::kind::Codec;
use super::member::Member;
use super::pipe;
use super::tree::Tree;
use crate::source::tap::Tapped;

pub(super) fn unpack(codec: Codec, file: Tapped, name: &[u8], tree: &mut Tree, remarks: &Remarks) -> Outcome<()> {
    let base = name.rsplit(|b| *b == b'/').next().unwrap_or_default();
    let stem = match memchr::memrchr(b'.', base) {
        Some(dot) => &base[..dot],
        None => base,
    };
    let at = Member::new(stem)?;
    if at.is_root() {
        return Err(Fault::failed("nothing is left of the name without its suffix"));
    }
    let source = decode::decoder(codec, file, remarks)?;
    let meter = tree.budget().meter();
    // The shell's redirection makes the file, so it is as old as the unpacking.
    tree.file(&at, 0o644, None, |contents| {
        pipe::read_ahead(source, meter, |input| {
            loop {
                let data = input.fill_buf()?;
                let n = data.len();
                if n == 0 {
                    return Ok(());
                }
                contents.write(data)?;
                input.consume(n);
            }
        })
    })
}
