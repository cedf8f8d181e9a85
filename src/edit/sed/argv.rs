//! STUB until the branch is merged
pub struct Invocation {
    pub in_place: Option<Vec<u8>>,
    files: Vec<(usize, Vec<u8>)>,
    pub scripts: Vec<(usize, Vec<u8>)>,
}
impl Invocation {
    pub fn parse(argv: &[Vec<u8>], _posix: bool) -> Result<Invocation, ()> {
        let (mut in_place, mut files, mut scripts, mut e) = (None, vec![], vec![], false);
        let mut i = 1;
        while i < argv.len() {
            let w = &argv[i];
            if w == b"-e" {
                e = true;
                i += 2;
                continue;
            }
            if w == b"-f" {
                e = true;
                scripts.push((i + 1, argv.get(i + 1).cloned().unwrap_or_default()));
                i += 2;
                continue;
            }
            if w.starts_with(b"-i") {
                in_place = Some(w[2..].to_vec());
            } else if w.starts_with(b"-e") {
                e = true;
            } else if !w.starts_with(b"-") {
                files.push((i, w.clone()));
            }
            i += 1;
        }
        if !e && !files.is_empty() {
            files.remove(0);
        }
        Ok(Invocation { in_place, files, scripts })
    }
    pub fn script_files(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.scripts.iter().map(|(i, n)| (*i, n.as_slice()))
    }
    pub fn files(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.files.iter().map(|(i, n)| (*i, n.as_slice()))
    }
}
impl Invocation { pub fn backup_path(&self, p: &std::path::Path) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::*; let s = self.in_place.clone()?; let mut n = p.as_os_str().to_owned(); n.push(std::ffi::OsString::from_vec(s)); Some(n.into()) } }
