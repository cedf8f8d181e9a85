//! The format of compress(1), suffix `.Z`: LZW with codes of 9 to 16 bits, packed from the lowest bit up.

use std::io::{self, BufRead, Read};

const CLEAR: usize = 256;
const FIRST_BITS: u32 = 9;

/// Decompresses what compress(1) wrote.
pub(super) struct LzwReader<R> {
    input: R,
    max_bits: u32,
    /// Whether code 256 empties the table.
    block_mode: bool,
    bits: u32,
    /// Codes come in groups of eight; a change of width drops the rest of a group.
    group: [u8; 16],
    group_len: usize,
    group_at: usize,
    prefix: Vec<u16>,
    suffix: Vec<u8>,
    old: Option<usize>,
    first: u8,
    /// Decoded bytes not yet handed out, last one first.
    pending: Vec<u8>,
}

fn bad(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl<R: BufRead> LzwReader<R> {
    pub(super) fn new(mut input: R) -> io::Result<Self> {
        let mut head = [0; 3];
        input.read_exact(&mut head)?;
        let max_bits = u32::from(head[2] & 0x1f);
        if head[..2] != [0x1f, 0x9d] || !(FIRST_BITS..=16).contains(&max_bits) {
            return Err(bad("no compress(1) data"));
        }
        let block_mode = head[2] & 0x80 != 0;
        let mut reader = LzwReader {
            input,
            max_bits,
            block_mode,
            bits: FIRST_BITS,
            group: [0; 16],
            group_len: 0,
            group_at: 0,
            prefix: Vec::new(),
            suffix: Vec::new(),
            old: None,
            first: 0,
            pending: Vec::new(),
        };
        reader.empty_table();
        Ok(reader)
    }

    fn empty_table(&mut self) {
        let first_free = if self.block_mode { CLEAR + 1 } else { CLEAR };
        self.prefix.resize(first_free, 0);
        self.suffix.clear();
        self.suffix.extend(0..=255);
        self.suffix.resize(first_free, 0);
    }

    /// The next code, or `None` at the end of the input.
    fn code(&mut self) -> io::Result<Option<usize>> {
        let bits = self.bits as usize;
        if (self.group_at + 1) * bits > self.group_len * 8 {
            self.group_len = read_up_to(&mut self.input, &mut self.group[..bits])?;
            self.group_at = 0;
            if self.group_len * 8 < bits {
                return Ok(None);
            }
        }
        let start = self.group_at * bits;
        let mut window = [0; 4];
        let from = start / 8;
        let upto = self.group.len().min(from + 4);
        window[..upto - from].copy_from_slice(&self.group[from..upto]);
        let code = (u32::from_le_bytes(window) >> (start % 8)) & ((1 << bits) - 1);
        self.group_at += 1;
        Ok(Some(code as usize))
    }

    fn set_bits(&mut self, bits: u32) {
        self.bits = bits;
        self.group_len = 0;
        self.group_at = 0;
    }

    /// Decodes one code into `pending`; false at the end.
    fn step(&mut self) -> io::Result<bool> {
        // compress(1) widens when the table outgrows what the width can name.
        if self.prefix.len() > (1 << self.bits) - 1 && self.bits < self.max_bits {
            self.set_bits(self.bits + 1);
        }
        let Some(code) = self.code()? else {
            return Ok(false);
        };
        if self.block_mode && code == CLEAR {
            self.empty_table();
            self.set_bits(FIRST_BITS);
            self.old = None;
            return Ok(true);
        }
        let Some(old) = self.old else {
            let byte = u8::try_from(code).map_err(|_| bad("damaged compress(1) data"))?;
            self.first = byte;
            self.old = Some(code);
            self.pending.push(byte);
            return Ok(true);
        };
        let mut at = code;
        if code >= self.prefix.len() {
            if code > self.prefix.len() {
                return Err(bad("damaged compress(1) data"));
            }
            self.pending.push(self.first);
            at = old;
        }
        while at >= CLEAR {
            self.pending.push(self.suffix[at]);
            at = usize::from(self.prefix[at]);
        }
        self.first = at as u8;
        self.pending.push(self.first);
        if self.prefix.len() < 1 << self.max_bits {
            // Below 1 << 16, so it fits.
            self.prefix.push(old as u16);
            self.suffix.push(self.first);
        }
        self.old = Some(code);
        Ok(true)
    }
}

fn read_up_to(input: &mut impl Read, buf: &mut [u8]) -> io::Result<usize> {
    let mut have = 0;
    while have < buf.len() {
        match input.read(&mut buf[have..]) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(have)
}

impl<R: BufRead> Read for LzwReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < buf.len() {
            match self.pending.pop() {
                Some(byte) => {
                    buf[written] = byte;
                    written += 1;
                }
                None => {
                    if !self.step()? {
                        break;
                    }
                }
            }
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// compress(1)'s output for a text, written by hand from the format: 9-bit codes of the bytes alone.
    fn literal(text: &[u8]) -> Vec<u8> {
        let mut out = vec![0x1f, 0x9d, 0x90];
        let mut bits: u64 = 0;
        let mut held = 0;
        for byte in text {
            bits |= u64::from(*byte) << held;
            held += 9;
            while held >= 8 {
                out.push(bits as u8);
                bits >>= 8;
                held -= 8;
            }
        }
        if held > 0 {
            out.push(bits as u8);
        }
        out
    }

    fn decode(data: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        LzwReader::new(data)?.take(1 << 20).read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn codes_of_single_bytes() {
        assert_eq!(decode(&literal(b"hello, world")).unwrap(), b"hello, world");
    }

    #[test]
    fn a_code_that_is_being_defined() {
        // "aaa" is the code of a and then the code that only this step defines (257).
        let data = [0x1f, 0x9d, 0x90, 0x61, 0x02, 0x02];
        assert_eq!(decode(&data).unwrap(), b"aaa");
    }

    proptest! {
        #[test]
        fn no_input_breaks_it(tail: Vec<u8>, flags: u8) {
            let mut data = vec![0x1f, 0x9d, flags];
            data.extend(tail);
            let _ = decode(&data);
        }
    }
}
