//! One request: a GET that goes on where the partial file ends.

use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderMap, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig};

use super::part::Part;
use super::{Fault, FetchOptions};

pub(super) struct Http {
    agent: Agent,
}

impl Http {
    pub(super) fn new(options: &FetchOptions) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_resolve(Some(options.connect_timeout))
            .timeout_connect(Some(options.connect_timeout))
            .timeout_recv_response(Some(options.connect_timeout.max(options.stall_timeout)))
            .timeout_per_read(Some(options.stall_timeout))
            .user_agent(concat!("ebaudit/", env!("CARGO_PKG_VERSION")))
            // A server that compresses on the way would break every size and offset.
            .accept_encoding("identity");
        let config = match own_certificates() {
            Some(roots) => config.tls_config(TlsConfig::builder().root_certs(roots).build()),
            None => config,
        };
        Http { agent: config.build().new_agent() }
    }

    pub(super) fn get(
        &self,
        uri: &str,
        size: Option<u64>,
        part: &mut Part,
        tell: &mut dyn FnMut(u64),
    ) -> Result<(), Fault> {
        let have = part.len();
        if size == Some(have) {
            return Ok(());
        }
        let mut request = self.agent.get(uri);
        if have > 0 {
            request = request.header(header::RANGE, format!("bytes={have}-"));
        }
        let mut response = request.call().map_err(fault)?;
        match response.status().as_u16() {
            206 if have > 0 && continues(response.headers(), have, size) => {}
            200 => {
                part.clear()?;
                let length = number(response.headers(), header::CONTENT_LENGTH);
                if let (Some(length), Some(size)) = (length, size)
                    && length != size
                {
                    return Err(Fault::Lasting(format!("size is {length}, the Manifest says {size}")));
                }
            }
            // Part of another file, or a server that cannot go on: once more from the beginning.
            206 | 416 if have > 0 => {
                part.clear()?;
                let why = "the server cannot go on with the partial file".to_owned();
                return Err(Fault::Passing(why, Some(Duration::ZERO)));
            }
            status @ (408 | 429 | 500..=599) => {
                let asked = number(response.headers(), header::RETRY_AFTER);
                return Err(Fault::Passing(format!("HTTP status {status}"), asked.map(Duration::from_secs)));
            }
            status => return Err(Fault::Lasting(format!("HTTP status {status}"))),
        }
        part.take_all(&mut response.body_mut().as_reader(), size, tell)
    }
}

/// Whether `Content-Range: bytes FROM-TO/TOTAL` goes on where the partial file ends, in a file of the right size.
fn continues(headers: &HeaderMap, have: u64, size: Option<u64>) -> bool {
    let range = || {
        let text = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
        let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
        let from: u64 = range.split_once('-')?.0.trim().parse().ok()?;
        Some((from, total.trim().parse::<u64>().ok()))
    };
    range().is_some_and(|(from, total)| from == have && (total.is_none() || size.is_none() || total == size))
}

fn number(headers: &HeaderMap, name: header::HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

fn fault(error: ureq::Error) -> Fault {
    use ureq::Error;
    let text = error.to_string();
    match error {
        // A certificate that does not hold will not hold a second later.
        Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => Fault::Lasting(text),
        Error::Io(_) | Error::Timeout(_) | Error::ConnectionFailed | Error::Protocol(_) | Error::HostNotFound => {
            Fault::Passing(text, None)
        }
        _ => Fault::Lasting(text),
    }
}

/// The certificates of `SSL_CERT_FILE`, trusted in place of the built-in ones, for those who sit behind a proxy that shows its own.
fn own_certificates() -> Option<RootCerts> {
    let path = std::env::var_os("SSL_CERT_FILE")?;
    let pem = std::fs::read(path).ok()?;
    let certificates: Vec<_> = ureq::tls::parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    (!certificates.is_empty()).then(|| RootCerts::new_with_certs(&certificates))
}
