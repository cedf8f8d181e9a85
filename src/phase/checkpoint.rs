//! The two FIFOs by which the prelude stops between its steps until the runner has done its part.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::state::ANSWER;

#[derive(Debug)]
pub struct Checkpoint {
    pub tell: File,
    answer: File,
}

impl Checkpoint {
    /// Makes the FIFOs in `ctl`. Both ends are held, so that neither side ever sees an end of file.
    pub fn create(ctl: &Path) -> io::Result<Checkpoint> {
        let fifo = |name: &str| -> io::Result<File> {
            let path = ctl.join(name);
            rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
            OpenOptions::new().read(true).write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
        };
        Ok(Checkpoint { tell: fifo("tell")?, answer: fifo(ANSWER)? })
    }

    /// The step that the prelude has reached, where it said so.
    pub fn hear(&mut self) -> Option<String> {
        let mut buffer = [0; 256];
        match self.tell.read(&mut buffer) {
            Ok(n @ 1..) => Some(String::from_utf8_lossy(&buffer[..n]).trim().to_owned()),
            _ => None,
        }
    }

    pub fn answer(&mut self, go_on: bool) -> io::Result<()> {
        self.answer.write_all(if go_on { b"go\n" } else { b"stop\n" })
    }
}
