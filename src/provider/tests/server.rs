//! A server that answers as a test says, byte by byte if need be, and records its requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path with the query.
    pub(super) target: String,
    /// The headers, by names in lower case.
    pub(super) headers: BTreeMap<String, Vec<String>>,
    pub(super) body: String,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.first().map(String::as_str)
    }

    /// A number in the query.
    pub(super) fn query(&self, name: &str) -> Option<u64> {
        let url = Url::parse("http://x").unwrap().join(&self.target).unwrap();
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.parse().unwrap())
    }
}

/// The server's reaction to a request.
#[derive(Clone)]
pub(super) enum Reply {
    /// An ordinary answer.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// These bytes, and then silence for as long as the client waits.
    Stall(Vec<u8>),
    /// These bytes, and then the end of the connection.
    Cut(Vec<u8>),
}

impl Reply {
    pub(super) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::Answer { status: 200, headers: Vec::new(), body: body.into() }
    }

    pub(super) fn status(status: u16) -> Self {
        Self::Answer { status, headers: Vec::new(), body: b"no".to_vec() }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Answer { status, headers, body } => {
                let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
                for (name, value) in headers {
                    head += &format!("{name}: {value}\r\n");
                }
                [head.as_bytes(), b"Connection: close\r\n\r\n", body].concat()
            }
            Self::Stall(bytes) | Self::Cut(bytes) => bytes.clone(),
        }
    }
}

/// A server that answers until it is dropped.
pub(super) struct Server {
    pub(super) url: Url,
    requests: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// `answer` gets each request and the number of requests before it.
    pub(super) async fn start(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&requests), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                tokio::spawn(async move { serve(stream, &kept, &*answer).await });
            }
        });
        Self { url, requests, task }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub(super) fn targets(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.target).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    kept: &Mutex<Vec<Request>>,
    answer: &(impl Fn(&Request, usize) -> Reply + Send + Sync),
) -> Option<()> {
    let request = read_request(&mut stream).await?;
    let reply = {
        let mut kept = kept.lock().unwrap();
        kept.push(request.clone());
        let before = kept.len() - 1;
        drop(kept);
        answer(&request, before)
    };
    stream.write_all(&reply.bytes()).await.ok()?;
    if let Reply::Stall(_) = reply {
        // It waits until the client disconnects, but no test lasts this long.
        let _ = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut [0; 64])).await;
    }
    stream.shutdown().await.ok()
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        headers.entry(name.to_ascii_lowercase()).or_default().push(value.to_owned());
    }
    let announced = headers.get("content-length").map_or(0, |values| values[0].parse().unwrap());
    let mut body = vec![0; announced];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { method, target, headers, body: String::from_utf8(body).ok()? })
}
