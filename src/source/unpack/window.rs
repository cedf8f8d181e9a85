//! The part of a file that a splitter looks at.

use std::io::{self, Read};

use crate::source::tap::Tapped;

/// The file is read on in parts of this size.
const PART: usize = 256 << 10;

pub(super) struct Window {
    file: Tapped,
    bytes: Vec<u8>,
    /// Where in the file `bytes` begin.
    base: u64,
    ended: bool,
}

impl Window {
    pub(super) fn new(file: Tapped) -> Self {
        Window { file, bytes: Vec::new(), base: 0, ended: false }
    }

    /// What the file has from `at` on, at most `most` bytes; less at its end only. What lies before `at` is let go of.
    pub(super) fn from(&mut self, at: u64, most: usize) -> io::Result<&[u8]> {
        let start = at.saturating_sub(self.base) as usize;
        while self.bytes.len() < start + most && !self.ended {
            self.read_on()?;
        }
        let start = start.min(self.bytes.len());
        // seldom, since it moves the rest
        if start >= 4 * PART {
            self.bytes.drain(..start);
            self.base = at;
            return Ok(&self.bytes[..most.min(self.bytes.len())]);
        }
        Ok(&self.bytes[start..(start + most).min(self.bytes.len())])
    }

    fn read_on(&mut self) -> io::Result<()> {
        let read = (&mut self.file).take(PART as u64).read_to_end(&mut self.bytes)?;
        self.ended = read == 0;
        Ok(())
    }

    pub(super) fn into_file(self) -> Tapped {
        self.file
    }
}
