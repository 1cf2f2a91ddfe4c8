//! A web server that takes posts, and answers as a test says.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::until;

/// The server's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Status(u16),
    /// 200 with this JSON.
    Json(Arc<str>),
    /// 200 with a long body in JSON that says no.
    Denial,
    /// Takes the whole request and closes without an answer.
    Nothing,
    /// Takes the whole request and stays silent as long as the test lasts.
    Silence,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Post {
    /// `POST /hook HTTP/1.1`.
    pub line: String,
    /// The headers as they came, one a line.
    pub headers: Vec<String>,
    pub raw: Vec<u8>,
    pub answer: Answer,
}

impl Post {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.raw).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.iter().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    /// `key event` of each alert; for a notice its name.
    pub fn told(&self) -> Vec<String> {
        if self.raw.is_empty() {
            return Vec::new();
        }
        let json = self.json();
        let alerts = json["alerts"].as_array().unwrap();
        let of = |alert: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let incident = alert["labels"].get("incident").unwrap_or(&alert["labels"]["alertname"]);
            format!("{} {}", text(incident), text(&alert["annotations"]["event"]))
        };
        alerts.iter().map(of).collect()
    }

    fn is_taken(&self) -> bool {
        matches!(self.answer, Answer::Status(200..=299))
    }
}

/// Listens on a thread of its own until the test ends.
pub struct Hook {
    pub address: SocketAddr,
    posts: Arc<Mutex<Vec<Post>>>,
    /// The next answers, before the usual one.
    next: Arc<Mutex<VecDeque<Answer>>>,
    usual: Arc<Mutex<Answer>>,
}

impl Hook {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let hook = Self {
            address: listener.local_addr().unwrap(),
            posts: Arc::default(),
            next: Arc::default(),
            usual: Arc::new(Mutex::new(Answer::Status(200))),
        };
        let (posts, next, usual) = (Arc::clone(&hook.posts), Arc::clone(&hook.next), Arc::clone(&hook.usual));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let planned = next.lock().unwrap().pop_front();
                let answer = planned.unwrap_or_else(|| usual.lock().unwrap().clone());
                if let Some(post) = read(&stream, answer.clone()) {
                    posts.lock().unwrap().push(post);
                    reply(stream, &answer);
                }
            }
        });
        hook
    }

    /// The address, with a path that is a secret.
    pub fn url(&self) -> String {
        format!("http://{}/hook/hunter2-secret?token=hunter3-secret", self.address)
    }

    /// Gives this answer from now on.
    pub fn answers(&self, answer: Answer) {
        *self.usual.lock().unwrap() = answer;
    }

    /// Gives these answers once each, before the usual one.
    pub fn first_answers(&self, answers: &[Answer]) {
        self.next.lock().unwrap().extend(answers.iter().cloned());
    }

    pub fn posts(&self) -> Vec<Post> {
        self.posts.lock().unwrap().clone()
    }

    /// The events that it took, in order.
    pub fn told(&self) -> Vec<String> {
        self.posts().iter().filter(|post| post.is_taken()).flat_map(Post::told).collect()
    }

    /// Waits for a post that has this event and was taken.
    pub fn wait_for(&self, told: &str) -> Post {
        let mut found = None;
        until(&format!("a post with {told}"), || {
            let mut posts = self.posts().into_iter();
            found = posts.find(|post| post.is_taken() && post.told().iter().any(|one| one == told));
            found.is_some()
        });
        found.unwrap()
    }
}

/// The lines of a request's head, and its body.
pub fn read_request(stream: &TcpStream) -> Option<(Vec<String>, Vec<u8>)> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let length = |line: &String| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok();
    let mut raw = vec![0; head.iter().find_map(length).unwrap_or(0)];
    reader.read_exact(&mut raw).ok()?;
    Some((head, raw))
}

fn read(stream: &TcpStream, answer: Answer) -> Option<Post> {
    let (mut head, raw) = read_request(stream)?;
    if head.is_empty() {
        return None;
    }
    let line = head.remove(0);
    Some(Post { line, headers: head, raw, answer })
}

fn reply(mut stream: TcpStream, answer: &Answer) {
    let mut said = String::new();
    let status = match answer {
        Answer::Status(status) => *status,
        Answer::Json(text) => {
            said = text.to_string();
            200
        }
        Answer::Denial => {
            said = format!(r#"{{"ok": false, "error": "no channel", "echo": "{}"}}"#, "x".repeat(10_000));
            200
        }
        Answer::Nothing => return,
        Answer::Silence => return std::mem::forget(stream),
    };
    // A client that follows this comes back here.
    let location = if status / 100 == 3 { "Location: /elsewhere\r\n" } else { "" };
    let length = said.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} So\r\n{location}Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{said}"
    );
}
