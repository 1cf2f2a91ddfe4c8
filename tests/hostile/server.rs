//! A provider that attacks. It passes each request on to the simulated provider, but answers attacked endpoints
//! itself, byte by byte. It uses threads and sockets of the standard library, and shares no code with the
//! client.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::bodies::{Answer, Endpoint};
use super::common::hook::read_request;

/// The parts of a request that an answer may need.
pub struct Request {
    pub path: String,
    /// The text behind the `?`.
    pub query: String,
    pub host: String,
}

#[derive(Default)]
struct Script {
    answers: HashMap<Endpoint, Answer>,
    /// Of listings below a container or a site only one is attacked: the first that is asked for.
    chosen: HashMap<Endpoint, String>,
    /// The number of requests that were attacked, each to its end.
    attacked: HashMap<Endpoint, usize>,
}

pub struct Hostile {
    pub address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

impl Hostile {
    /// A server in front of a well-meaning provider.
    pub fn before(provider: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Mutex::new(Script::default()));
        let shared = Arc::clone(&script);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = Arc::clone(&shared);
                // An error means that the client disconnected, which is the result of most attacks.
                std::thread::spawn(move || drop(serve(&stream, provider, &script)));
            }
        });
        Self { address, script }
    }

    /// Answers the requests of an endpoint like this from now on.
    pub fn attack(&self, endpoint: Endpoint, answer: Answer) {
        self.script.lock().unwrap().answers.insert(endpoint, answer);
    }

    /// Becomes a proxy again.
    pub fn relent(&self) {
        let mut script = self.script.lock().unwrap();
        script.answers.clear();
        script.attacked.clear();
    }

    /// The number of attack answers that the client has taken or refused.
    pub fn attacked(&self, endpoint: Endpoint) -> usize {
        self.script.lock().unwrap().attacked.get(&endpoint).copied().unwrap_or(0)
    }
}

fn serve(stream: &TcpStream, provider: SocketAddr, script: &Mutex<Script>) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.set_write_timeout(Some(Duration::from_secs(60)))?;
    stream.set_nodelay(true)?;
    let Some((lines, _)) = read_request(stream) else { return Ok(()) };
    let Some(target) = lines.first().and_then(|line| line.split(' ').nth(1)) else { return Ok(()) };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let host = lines.iter().find_map(|line| line.strip_prefix("host: ")).unwrap_or("");
    let request = Request { path: path.to_owned(), query: query.to_owned(), host: host.to_owned() };
    let under_attack = {
        let mut script = script.lock().unwrap();
        Endpoint::of(path).filter(|endpoint| {
            let chosen = script.chosen.entry(*endpoint).or_insert_with(|| path.to_owned());
            !endpoint.is_below() || chosen == path
        })
    };
    let answer = under_attack.and_then(|endpoint| script.lock().unwrap().answers.get(&endpoint).cloned());
    match (under_attack, answer) {
        (Some(endpoint), Some(answer)) => {
            let mut out = BufWriter::with_capacity(1 << 16, stream);
            let result = answer(&request, &mut out).and_then(|()| out.flush());
            let _ = out.into_parts();
            let _ = stream.shutdown(std::net::Shutdown::Write);
            *script.lock().unwrap().attacked.entry(endpoint).or_default() += 1;
            result
        }
        _ => forward(stream, provider, &lines),
    }
}

fn forward(mut stream: &TcpStream, provider: SocketAddr, lines: &[String]) -> io::Result<()> {
    let mut behind = TcpStream::connect(provider)?;
    behind.set_read_timeout(Some(Duration::from_secs(60)))?;
    behind.write_all((lines.join("\r\n") + "\r\nconnection: close\r\n\r\n").as_bytes())?;
    io::copy(&mut behind, &mut stream)?;
    stream.shutdown(std::net::Shutdown::Both)
}
