//! A server on loopback with given accounts, and a client for plain HTTP.

use std::sync::Arc;
use std::time::Duration;

use crate::alert::{History, Past};
use crate::http::{
    AllowedHosts, Answering, ConnectionLimits, Context, Control, Listener, Reload, Remember, WebSettings,
    serve,
};
use crate::metrics::{Encoder, Own, StateSeries};
use crate::model::{Collector, KnownAccount};
use crate::state::Shared;
use crate::view::{About, Alerting, IncidentRow};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::account::{read_at, snapshot};

/// No step of these tests takes this long.
pub const LONG: Duration = Duration::from_secs(60);

/// A server on loopback.
pub struct Server {
    pub address: std::net::SocketAddr,
    pub context: Arc<Context>,
    pub stop: CancellationToken,
    pub running: JoinHandle<()>,
    pub reloads: mpsc::Receiver<Reload>,
    /// The server's answers about the past.
    pub history: Arc<Mutex<History>>,
}

/// Answers with a given history.
#[derive(Debug)]
struct Told(Arc<Mutex<History>>);

impl Remember for Told {
    fn history(&self, _: &Past) -> Result<History, String> {
        Ok(self.0.lock().clone())
    }
}

/// Answers a command with its own question, and refuses commands without one.
#[derive(Debug)]
struct Echo;

impl Control for Echo {
    fn answer<'a>(&'a self, request: &'a str) -> Answering<'a> {
        Box::pin(async { Some(request.to_owned()).filter(|request| !request.is_empty()) })
    }
}

/// A response.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Server {
    pub async fn start(books: &[&KnownAccount], lifecycle: bool) -> Self {
        Self::start_with(books, lifecycle, ConnectionLimits::default(), |listener| listener).await
    }

    /// The same with other limits, and with a changed listener.
    pub async fn start_with(
        books: &[&KnownAccount],
        lifecycle: bool,
        limits: ConnectionLimits,
        change: impl FnOnce(Listener) -> Listener,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listeners = vec![change(listener.into())];
        let mut encoder = Encoder::new(StateSeries::default());
        for book in books {
            encoder.refresh(book.state(), &Collector::ALL, read_at());
        }
        let (reload, reloads) = mpsc::channel(1);
        let history = Arc::default();
        let context = Arc::new(Context {
            snapshot: Shared::new(snapshot(books.iter().copied())),
            page: Shared::new(encoder.page()),
            own: Arc::new(Own::new("0.2.0", "abcdef")),
            alerting: Shared::default(),
            memory: Arc::new(Told(Arc::clone(&history))),
            control: Arc::new(Echo),
            telemetry_path: "/metrics".into(),
            calendar_domain: Shared::new("example.com".to_owned()),
            hosts: Shared::new(AllowedHosts::new(&WebSettings::default(), [])),
            lifecycle,
            reload,
            about: About { version: "0.2.0", commit: "abcdef", started_at: read_at() },
            clock: crate::clock::Clock::by(read_at),
        });
        let stop = CancellationToken::new();
        let running = tokio::spawn(serve(listeners, limits, Arc::clone(&context), stop.clone()));
        Self { address, context, stop, running, reloads, history }
    }

    /// Sends one request and reads until the connection closes.
    pub async fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        ask(TcpStream::connect(self.address).await.unwrap(), method, path, headers).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "").await
    }

    pub async fn json(&self, path: &str) -> serde_json::Value {
        serde_json::from_slice(&self.get(path).await.body).unwrap()
    }

    /// From now on these are the incidents.
    pub fn show(&self, incidents: impl IntoIterator<Item = IncidentRow>) {
        let incidents = incidents.into_iter().collect();
        self.context.alerting.set(Alerting { incidents, ..Alerting::default() });
    }
}

/// Sends one request over a connection and reads until it closes.
pub async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    method: &str,
    path: &str,
    headers: &str,
) -> Answer {
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{headers}\r\n");
    let all = talk(stream, request.as_bytes()).await;
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(all[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head, body: all[end + 4..].to_vec() }
}

/// Sends these bytes and reads until the server closes.
pub async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> Vec<u8> {
    stream.write_all(bytes).await.unwrap();
    let mut all = Vec::new();
    timeout(LONG, stream.read_to_end(&mut all)).await.expect("an answer in time").unwrap();
    all
}
