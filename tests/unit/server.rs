//! A server on loopback that serves accounts as they are, and a client that speaks plain HTTP.

use std::sync::Arc;
use std::time::Duration;

use crate::alert::{History, Past};
use crate::http::{
    AllowedHosts, Answering, BuildInfo, ConnectionLimits, Context, Control, Listener, Reload, Remember,
    WebSettings, serve,
};
use crate::metrics::{Encoder, MetricsSettings, Own};
use crate::model::{Collector, KnownAccount};
use crate::state::Shared;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::account::{read_at, snapshot};

/// Nothing here takes this long.
pub const LONG: Duration = Duration::from_secs(20);

/// A server on loopback.
pub struct Server {
    pub address: std::net::SocketAddr,
    pub context: Arc<Context>,
    pub stop: CancellationToken,
    pub running: JoinHandle<()>,
    pub reloads: mpsc::Receiver<Reload>,
    /// What it remembers, for whoever asks for the past.
    pub history: Arc<Mutex<History>>,
}

/// Answers what it was told.
#[derive(Debug)]
struct Told(Arc<Mutex<History>>);

impl Remember for Told {
    fn history(&self, _: &Past) -> Result<History, String> {
        Ok(self.0.lock().clone())
    }
}

/// Answers no command.
#[derive(Debug)]
struct Deaf;

impl Control for Deaf {
    fn answer<'a>(&'a self, _: &'a str) -> Answering<'a> {
        Box::pin(async { None })
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

    /// The same with limits, and a change to its listener.
    pub async fn start_with(
        books: &[&KnownAccount],
        lifecycle: bool,
        limits: ConnectionLimits,
        change: impl FnOnce(Listener) -> Listener,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listeners = vec![change(listener.into())];
        let mut encoder = Encoder::new(MetricsSettings::default());
        for book in books {
            encoder.refresh(book.state(), &Collector::ALL, read_at());
        }
        let (reload, reloads) = mpsc::channel(1);
        let history = Arc::default();
        let context = Arc::new(Context {
            snapshot: Shared::new(snapshot(books.iter().copied())),
            page: Shared::new(encoder.page()),
            targets: Shared::new(encoder.new_targets().unwrap()),
            own: Arc::new(Own::new("0.2.0", "abcdef")),
            alerting: Shared::default(),
            memory: Arc::new(Told(Arc::clone(&history))),
            control: Arc::new(Deaf),
            telemetry_path: "/metrics".into(),
            calendar_domain: Shared::new("example.com".to_owned()),
            store: "/var/lib/hostwatch/hostwatch.db".to_owned(),
            hosts: Shared::new(AllowedHosts::new(&WebSettings::default(), [])),
            lifecycle,
            reload,
            build: BuildInfo { version: "0.2.0", commit: "abcdef" },
            started_at: read_at(),
            clock: crate::clock::Clock::by(read_at),
        });
        let stop = CancellationToken::new();
        let running = tokio::spawn(serve(listeners, limits, Arc::clone(&context), stop.clone()));
        Self { address, context, stop, running, reloads, history }
    }

    /// One request, to the end of the connection.
    pub async fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        ask(TcpStream::connect(self.address).await.unwrap(), method, path, headers).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "").await
    }
}

/// One request over a connection, to its end.
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
