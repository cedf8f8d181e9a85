//! Against a server of this process.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::*;
use crate::source::testing::distfile;

/// Answers each request by a function of path, `Range` start and the number of the request; hears of all requests.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(answer: impl Fn(&str, Option<u64>, usize, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (heard, count) = (Arc::clone(&requests), AtomicUsize::new(0));
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = count.fetch_add(1, Ordering::Relaxed);
                let (heard, answer) = (Arc::clone(&heard), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut stream = stream;
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    let first = lines.next().unwrap().unwrap();
                    let path = first.split(' ').nth(1).unwrap().to_owned();
                    let mut range = None;
                    for line in lines.map_while(Result::ok).take_while(|l| !l.is_empty()) {
                        let line = line.to_lowercase();
                        if let Some(from) = line.strip_prefix("range: bytes=") {
                            range = from.trim_end_matches('-').parse().ok();
                        }
                    }
                    heard.lock().unwrap().push(match range {
                        Some(from) => format!("{path} {from}-"),
                        None => path.clone(),
                    });
                    answer(&path, range, number, &mut stream);
                });
            }
        });
        Server { address, requests }
    }

    fn uri(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn send(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n");
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

fn whole(stream: &mut TcpStream, body: &[u8]) {
    let length = format!("Content-Length: {}\r\n", body.len());
    send(stream, "200 OK", &length, body);
}

fn from(stream: &mut TcpStream, body: &[u8], from: u64) {
    let headers = format!(
        "Content-Length: {}\r\nContent-Range: bytes {from}-{}/{}\r\n",
        body.len() as u64 - from,
        body.len() - 1,
        body.len()
    );
    send(stream, "206 Partial Content", &headers, &body[from as usize..]);
}

fn quick() -> Fetcher {
    Fetcher::new(FetchOptions {
        connect_timeout: Duration::from_secs(5),
        stall_timeout: Duration::from_millis(500),
        tries: 3,
        backoff: Duration::from_millis(5),
        jobs: 2,
    })
}

fn data() -> Vec<u8> {
    (0..300_000u32).map(|i| i.wrapping_mul(i) as u8).collect()
}

/// Fetches into a directory; afterwards no partial file may be left unless `rest` says so.
fn fetch(dir: &Path, uris: &[String], rest: bool) -> Result<Vec<u8>, Vec<String>> {
    let mut file = distfile("x.tar.gz", &data());
    file.uris = uris.to_vec();
    let result = quick().fetch(&file, dir, &());
    assert_eq!(dir.join("x.tar.gz.ebaudit-part").exists(), rest);
    result.map(|path| std::fs::read(path).unwrap())
}

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn plain_and_by_a_redirect() {
    let server = Server::new(|path, _, _, stream| match path {
        "/old" => send(stream, "302 Found", "Location: /new\r\nContent-Length: 0\r\n", b""),
        _ => whole(stream, &data()),
    });
    for path in ["/x", "/old"] {
        assert_eq!(fetch(dir().path(), &[server.uri(path)], false).unwrap(), data());
    }
    assert_eq!(server.requests(), ["/x", "/old", "/new"]);
}

#[test]
fn goes_on_where_the_partial_file_ends() {
    let server = Server::new(|path, range, _, stream| match (path, range) {
        ("/x", Some(at)) => from(stream, &data(), at),
        ("/416", Some(_)) => send(stream, "416 Range Not Satisfiable", "Content-Length: 0\r\n", b""),
        ("/elsewhere", Some(at)) => from(stream, &data()[..at as usize + 100], at),
        _ => whole(stream, &data()),
    });
    for (path, requests) in [
        ("/x", vec!["/x 1000-"]),
        // These know no ranges, or not this one.
        ("/deaf", vec!["/deaf 1000-"]),
        ("/416", vec!["/416 1000-", "/416"]),
        ("/elsewhere", vec!["/elsewhere 1000-", "/elsewhere"]),
    ] {
        let dir = dir();
        server.requests.lock().unwrap().clear();
        std::fs::write(dir.path().join("x.tar.gz.ebaudit-part"), &data()[..1000]).unwrap();
        assert_eq!(fetch(dir.path(), &[server.uri(path)], false).unwrap(), data());
        assert_eq!(server.requests(), requests);
    }
    // What is complete is not asked for; what is wrong is thrown away.
    let dir = dir();
    let part = dir.path().join("x.tar.gz.ebaudit-part");
    std::fs::write(&part, data()).unwrap();
    server.requests.lock().unwrap().clear();
    fetch(dir.path(), &[server.uri("/x")], false).unwrap();
    assert!(server.requests().is_empty());
    for wrong in [vec![7; 1000], vec![7; 300_000], vec![7; 300_001]] {
        std::fs::write(&part, wrong).unwrap();
        assert_eq!(fetch(dir.path(), &[server.uri("/x")], false).unwrap(), data());
    }
}

#[test]
fn the_next_uri_when_one_fails() {
    let server = Server::new(|path, _, _, stream| match path {
        "/404" => send(stream, "404 Not Found", "Content-Length: 9\r\n", b"not found"),
        "/other" => whole(stream, &vec![b'x'; 300_000]),
        "/short" => whole(stream, b"an error page"),
        "/long" => send(stream, "200 OK", "", &vec![b'x'; 300_002]),
        _ => whole(stream, &data()),
    });
    let mut uris = vec!["ftp://localhost/x".to_owned(), "/no/such/file".to_owned()];
    uris.extend(["/404", "/other", "/short", "/long"].map(|p| server.uri(p)));
    let errors = fetch(dir().path(), &uris, false).unwrap_err();
    for (error, why) in errors.iter().zip([
        "ftp:// is not supported",
        "No such file",
        "HTTP status 404",
        "BLAKE2B is ",
        "size is 13, the Manifest says 300000",
        "more than the expected 300000 bytes",
    ]) {
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(errors.len(), uris.len());
    uris.push(server.uri("/good"));
    assert_eq!(fetch(dir().path(), &uris, false).unwrap(), data());
}

#[test]
fn passing_faults_are_tried_again() {
    let server = Server::new(|path, range, number, stream| match (path, number) {
        ("/busy", 0) => send(stream, "503 Busy", "Retry-After: 0\r\nContent-Length: 0\r\n", b""),
        ("/busy", 1) => send(stream, "429 Slowly", "Content-Length: 0\r\n", b""),
        ("/cut", 3) => send(stream, "200 OK", "Content-Length: 300000\r\n", &data()[..5000]),
        ("/stall", 5) => {
            send(stream, "200 OK", "Content-Length: 300000\r\n", &data()[..7000]);
            std::thread::sleep(Duration::from_secs(2));
        }
        ("/always", _) => send(stream, "500 Broken", "Content-Length: 0\r\n", b""),
        ("/never", _) => send(stream, "200 OK", "Content-Length: 300000\r\n", &data()[..10]),
        _ => match range {
            Some(at) => from(stream, &data(), at),
            None => whole(stream, &data()),
        },
    });
    for path in ["/busy", "/cut", "/stall"] {
        assert_eq!(fetch(dir().path(), &[server.uri(path)], false).unwrap(), data());
    }
    assert_eq!(server.requests(), ["/busy", "/busy", "/busy", "/cut", "/cut 5000-", "/stall", "/stall 7000-"]);
    let errors = fetch(dir().path(), &[server.uri("/always")], false).unwrap_err();
    assert!(errors[0].ends_with("HTTP status 500"), "{errors:?}");
    // What has come is kept for the next run.
    fetch(dir().path(), &[server.uri("/never")], true).unwrap_err();
    assert_eq!(server.requests().len(), 7 + 3 + 3);
}

#[test]
fn nobody_there() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let uris = [format!("http://{free}/x"), "http://".into(), "".into()];
    assert_eq!(fetch(dir().path(), &uris, false).unwrap_err().len(), 3);
    let gone = dir().path().join("gone");
    let errors = fetch(&gone, &[], false).unwrap_err();
    assert!(errors[0].contains("No such file"), "{errors:?}");
}

#[test]
fn files_of_this_machine() {
    let dir = dir();
    let source = dir.path().join("a b.tar");
    std::fs::write(&source, data()).unwrap();
    let uri = format!("file://{}", source.display()).replace(' ', "%20");
    for uri in [uri, source.to_str().unwrap().to_owned()] {
        assert_eq!(fetch(dir.path(), &[uri], false).unwrap(), data());
    }
    let mut other = data();
    other[0] ^= 1;
    std::fs::write(&source, other).unwrap();
    fetch(dir.path(), &[source.to_str().unwrap().to_owned()], false).unwrap_err();
    // What stood there is still there.
    assert_eq!(std::fs::read(dir.path().join("x.tar.gz")).unwrap(), data());
}

#[test]
fn two_at_once_do_no_harm() {
    let server = Server::new(|_, range, _, stream| {
        std::thread::sleep(Duration::from_millis(50));
        match range {
            Some(at) => from(stream, &data(), at),
            None => whole(stream, &data()),
        }
    });
    let dir = dir();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut file = distfile("x.tar.gz", &data());
                file.uris = vec![server.uri("/x")];
                let path = quick().fetch(&file, dir.path(), &()).unwrap();
                assert_eq!(std::fs::read(path).unwrap(), data());
            });
        }
    });
    assert_eq!(server.requests().len(), 1);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn progress_is_told() {
    #[derive(Default)]
    struct Heard(AtomicU64, AtomicU64);
    impl Progress for Heard {
        fn begin(&self, name: &str, total: Option<u64>) {
            assert_eq!((name, total), ("x.tar.gz", Some(300_000)));
        }
        fn advance(&self, _: &str, done: u64) {
            self.0.store(done, Ordering::Relaxed);
        }
        fn end(&self, _: &str, good: bool) {
            self.1.store(u64::from(good), Ordering::Relaxed);
        }
    }
    let server = Server::new(|_, _, _, stream| whole(stream, &data()));
    let mut file = distfile("x.tar.gz", &data());
    file.uris = vec![server.uri("/x")];
    let heard = Heard::default();
    quick().fetch(&file, dir().path(), &heard).unwrap();
    assert_eq!(heard.0.load(Ordering::Relaxed), 300_000);
    assert_eq!(heard.1.load(Ordering::Relaxed), 1);
}
