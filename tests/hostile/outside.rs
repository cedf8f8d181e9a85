//! What lies outside of the walls: a canary tree, a home with a key, sockets that listen, and the processes of a run.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use crate::support::overlay::{Place, put};
use crate::support::processes::mark;

/// Stands in the key, in the environment and in other files that nobody may read.
pub const SECRET: &str = "canary-secret-5f3a";

pub struct Outside {
    root: PathBuf,
    tcp: TcpListener,
    udp: UdpSocket,
    path: UnixListener,
    named: UnixListener,
    name: String,
}

impl Outside {
    pub fn lay(place: &Place) -> Outside {
        let root = place.path().join("canary");
        put(&root.join("file"), "canary\n");
        put(&root.join("secret"), format!("{SECRET}\n"));
        put(&root.join("patch"), format!("--- a/{SECRET}\n+++ b/{SECRET}\n@@ -1 +1 @@\n-a\n+b\n"));
        put(&root.join("dir/inner"), "inner\n");
        put(&root.join("home/.ssh/id_rsa"), format!("{SECRET}\n"));
        put(&root.join("names").join(SECRET), "");
        fs::set_permissions(root.join("home/.ssh/id_rsa"), fs::Permissions::from_mode(0o600)).unwrap();
        put(&place.path().join("report/other"), "other\n");
        let name = format!("ebaudit-hostile-{}", place.path().file_name().unwrap().to_string_lossy());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let outside = Outside {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            path: UnixListener::bind(root.join("socket")).unwrap(),
            named: UnixListener::bind_addr(&address).unwrap(),
            name,
            root,
        };
        outside.tcp.set_nonblocking(true).unwrap();
        outside.udp.set_nonblocking(true).unwrap();
        outside.path.set_nonblocking(true).unwrap();
        outside.named.set_nonblocking(true).unwrap();
        outside
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The text with the words that stand for this place.
    pub fn fill(&self, text: &str, place: &Place) -> String {
        text.replace("@CANARY@", &self.root.display().to_string())
            .replace("@PLACE@", &place.path().display().to_string())
            .replace("@SECRET@", &SECRET.replacen("se", "s.", 1))
            .replace("@TCP@", &self.tcp.local_addr().unwrap().port().to_string())
            .replace("@UDP@", &self.udp.local_addr().unwrap().port().to_string())
            .replace("@ABSTRACT@", &self.name)
            .replace("@MARK@", &mark(place))
            .replace("@PROGRAM@", env!("CARGO_BIN_EXE_ebaudit"))
            .replace("@PID@", &std::process::id().to_string())
    }

    /// What reached one of the sockets.
    pub fn heard(&self) -> Option<String> {
        let mut text = String::new();
        if let Ok((mut stream, _)) = self.tcp.accept() {
            let _ = stream.read_to_string(&mut text);
            return Some(format!("TCP {text}"));
        }
        let mut buffer = [0; 512];
        if let Ok(n) = self.udp.recv(&mut buffer) {
            return Some(format!("UDP {}", String::from_utf8_lossy(&buffer[..n])));
        }
        if self.path.accept().is_ok() {
            return Some("a socket by its path".to_owned());
        }
        self.named.accept().is_ok().then(|| "an abstract socket".to_owned())
    }

    /// One line an entry of all that must stay as it is: kind, mode, owner, time and contents.
    pub fn fingerprint(&self, place: &Place) -> String {
        let mut lines = Vec::new();
        let parts = [self.root.clone(), place.repo(), place.dist(), place.path().join("report/other")];
        for part in parts {
            for item in walkdir::WalkDir::new(part).into_iter().map(|i| i.unwrap()) {
                let meta = item.metadata().unwrap();
                let contents = if meta.is_file() { fs::read(item.path()).unwrap() } else { Vec::new() };
                let link = fs::read_link(item.path()).unwrap_or_default();
                lines.push(format!(
                    "{} {:o} {}:{} {}.{} {} {:x}",
                    item.path().display(),
                    meta.mode(),
                    meta.uid(),
                    meta.gid(),
                    meta.mtime(),
                    meta.mtime_nsec(),
                    link.display(),
                    md5::compute(contents)
                ));
            }
        }
        let program = fs::metadata(env!("CARGO_BIN_EXE_ebaudit")).unwrap();
        lines.push(format!("program {} {:o} {}", program.len(), program.mode(), program.mtime()));
        lines.push(fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default());
        lines.push(fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default());
        lines.push(fs::read_to_string("/proc/self/limits").unwrap_or_default());
        lines.sort();
        lines.join("\n")
    }
}

pub fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let gone = old.iter().filter(|l| !new.contains(l)).map(|l| format!("- {l}"));
    let come = new.iter().filter(|l| !old.contains(l)).map(|l| format!("+ {l}"));
    gone.chain(come).collect::<Vec<_>>().join("\n")
}

/// A file that an input may try to make among the shared memory of the machine.
pub fn in_shared_memory(place: &Place) -> PathBuf {
    Path::new("/dev/shm").join(mark(place))
}
