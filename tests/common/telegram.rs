//! A stand-in for Telegram's Bot API, written from its public documentation
//! (https://core.telegram.org/bots/api). It has one bot, its chats, the messages, edits and presses there, and
//! faults as a test says.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

use super::hook::read_request;
use super::until;

pub const TOKEN: &str = "123456789:AAHhunter2-secret_token";
pub const CHAT: i64 = -1001;

/// A fault in place of a call's usual answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// An answer with this status and description.
    Says(u16, &'static str),
    /// 429 with these seconds.
    Busy(u64),
    /// The call is carried out, and its answer is lost.
    Lost,
}

/// A message in a chat.
#[derive(Clone, Debug)]
pub struct Post {
    pub number: i64,
    pub chat: i64,
    pub thread: Option<i64>,
    pub text: String,
    pub is_silent: bool,
    /// Label and data.
    pub buttons: Vec<(String, String)>,
    /// The message as it was sent.
    pub raw: Vec<u8>,
    /// Whether the sender got an answer.
    pub is_answered: bool,
    pub edits: usize,
}

impl Post {
    pub fn subject(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }
}

#[derive(Default)]
struct State {
    posts: Vec<Post>,
    /// The methods that were called.
    calls: Vec<String>,
    /// The present number of each chat that the bot is in.
    chats: BTreeMap<i64, i64>,
    next: VecDeque<Trouble>,
    /// The same for `editMessageText`.
    next_edits: VecDeque<Trouble>,
    usual: Option<Trouble>,
    /// The presses that are not confirmed: update_id, and the rest.
    updates: Vec<(i64, Value)>,
    last_update: i64,
    /// Another program reads the updates.
    is_taken: bool,
    /// No call is held until a button is pressed.
    is_hasty: bool,
    /// The number of readers now, and the highest number.
    readers: (usize, usize),
    /// A callback and the words of its answer.
    answers: Vec<(String, String)>,
}

/// Listens on threads of its own until the test ends.
pub struct Telegram {
    pub address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Telegram {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state =
            State { chats: BTreeMap::from([(CHAT, CHAT)]), last_update: 700_000_000, ..State::default() };
        let server = Self {
            address: listener.local_addr().unwrap(),
            state: Arc::new((Mutex::new(state), Condvar::new())),
        };
        let state = Arc::clone(&server.state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&state);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap()
    }

    /// Gives these faults to the next calls of `sendMessage`, once each.
    pub fn first_troubles(&self, troubles: &[Trouble]) {
        self.state().next.extend(troubles.iter().cloned());
    }

    /// Gives these faults to the next calls of `editMessageText`, once each.
    pub fn first_troubles_of_edits(&self, troubles: &[Trouble]) {
        self.state().next_edits.extend(troubles.iter().cloned());
    }

    /// Gives this fault to all other calls.
    pub fn trouble(&self, trouble: Option<Trouble>) {
        self.state().usual = trouble;
    }

    /// Adds the bot to this chat.
    pub fn enters(&self, chat: i64) {
        self.state().chats.insert(chat, chat);
    }

    /// Removes the bot from this chat.
    pub fn leaves(&self, chat: i64) {
        self.state().chats.remove(&chat);
    }

    /// Turns a group into a supergroup.
    pub fn migrates(&self, from: i64, to: i64) {
        self.state().chats.extend([(from, to), (to, to)]);
    }

    /// Lets another program read the presses.
    pub fn is_read_by_another(&self, is_taken: bool) {
        self.state().is_taken = is_taken;
    }

    /// Answers `getUpdates` at once, as a server does that holds no call.
    pub fn holds_no_call(&self) {
        self.state().is_hasty = true;
    }

    /// All sent messages, even those whose answer was lost.
    pub fn posts(&self) -> Vec<Post> {
        self.state().posts.clone()
    }

    pub fn subjects(&self) -> Vec<String> {
        self.posts().iter().map(|post| post.subject().to_owned()).collect()
    }

    /// The number of calls so far.
    pub fn calls(&self, method: &str) -> usize {
        self.state().calls.iter().filter(|call| *call == method).count()
    }

    pub fn answers(&self) -> Vec<String> {
        self.state().answers.iter().map(|(_, text)| text.clone()).collect()
    }

    /// Waits for a message whose first line has this, and whose sender got an answer.
    pub fn wait_for(&self, subject: &str) -> Post {
        let mut found = None;
        until(&format!("a message with {subject:?}"), || {
            found =
                self.posts().into_iter().find(|post| post.is_answered && post.subject().contains(subject));
            found.is_some()
        });
        found.unwrap()
    }

    /// The message in its present state.
    pub fn now(&self, post: &Post) -> Post {
        self.posts().into_iter().find(|one| one.number == post.number).unwrap()
    }

    /// Presses a button, as a person does whose client waits for the answer.
    pub fn press(&self, post: &Post, label: &str) -> i64 {
        let post = self.now(post);
        let (_, data) = post.buttons.iter().find(|(name, _)| name == label).unwrap();
        self.press_data(post.number, post.chat, data)
    }

    /// Presses a button in any chat, with any data.
    pub fn press_data(&self, number: i64, chat: i64, data: &str) -> i64 {
        let mut state = self.state();
        // An update without a person, as some servers of this interface send.
        let odd = state.last_update + 1;
        state.updates.push((odd, json!({"update_id": odd, "callback_query": {"id": "odd", "data": data}})));
        state.last_update += 2;
        let update = state.last_update;
        let from = json!({"id": 77, "is_bot": false, "first_name": "Ann\n", "last_name": "<b>Smith", "username": "ann"});
        let message = json!({"message_id": number, "date": 0, "chat": {"id": chat, "type": "supergroup", "title": "Team"}});
        let callback = json!({"id": format!("c{update}"), "from": from, "message": message, "chat_instance": "1", "data": data});
        state.updates.push((update, json!({"update_id": update, "callback_query": callback})));
        drop(state);
        self.state.1.notify_all();
        update
    }

    /// Waits until this many presses were answered.
    pub fn answered(&self, count: usize) -> String {
        until(&format!("{count} answers"), || self.answers().len() >= count);
        self.answers()[count - 1].clone()
    }

    /// The highest number of readers at one time.
    pub fn most_readers(&self) -> usize {
        self.state().readers.1
    }

    /// Waits until a sent message names this, and its sender got an answer.
    pub fn hears_of(&self, name: &str) {
        until(&format!("a message about {name}"), || {
            self.posts().iter().any(|post| post.is_answered && post.text.contains(name))
        });
    }

    /// The number of presses that no reader confirmed.
    pub fn unconfirmed(&self) -> usize {
        let presses = |(_, update): &&(i64, Value)| update["callback_query"]["message"].is_object();
        self.state().updates.iter().filter(presses).count()
    }
}

fn serve(stream: TcpStream, state: &(Mutex<State>, Condvar)) {
    let Some((line, raw)) = read(&stream) else { return };
    let path = line.split(' ').nth(1).unwrap_or_default();
    // Through a proxy the request has the whole address.
    let path =
        path.strip_prefix("http://").and_then(|rest| rest.split_once('/')).map_or(path, |(_, path)| path);
    let path = path.trim_start_matches('/');
    let (token, method) = path.strip_prefix("bot").and_then(|rest| rest.split_once('/')).unwrap_or_default();
    let body: Value = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    let planned = {
        let mut state = state.0.lock().unwrap();
        state.calls.push(method.to_owned());
        let next = match method {
            "sendMessage" => state.next.pop_front(),
            "editMessageText" => state.next_edits.pop_front(),
            _ => None,
        };
        next.or_else(|| state.usual.clone())
    };
    let (status, answer) = match &planned {
        Some(Trouble::Says(status, text)) => error(*status, text, json!({})),
        Some(Trouble::Busy(seconds)) => error(429, "Too Many Requests", json!({"retry_after": seconds})),
        Some(Trouble::Lost) | None if token != TOKEN => error(401, "Unauthorized", json!({})),
        Some(Trouble::Lost) | None => called(method, &body, &raw, planned.is_none(), state),
    };
    match planned {
        Some(Trouble::Lost) => {}
        _ => reply(stream, status, &answer),
    }
}

fn error(status: u16, description: &str, parameters: Value) -> (u16, Value) {
    let mut answer = json!({"ok": false, "error_code": status, "description": description});
    answer["parameters"] = parameters;
    (status, answer)
}

fn called(
    method: &str,
    body: &Value,
    raw: &[u8],
    is_heard: bool,
    shared: &(Mutex<State>, Condvar),
) -> (u16, Value) {
    let done = |result: Value| (200, json!({"ok": true, "result": result}));
    let state = shared.0.lock().unwrap();
    match method {
        "getMe" => {
            done(json!({"id": 123_456_789, "is_bot": true, "first_name": "Watch", "username": "watch_bot"}))
        }
        "getUpdates" => updates(body, state, &shared.1),
        "answerCallbackQuery" => {
            let text = body["text"].as_str().unwrap_or_default().to_owned();
            if text.chars().count() > 200 {
                return error(400, "Bad Request: MESSAGE_TOO_LONG", json!({}));
            }
            let mut state = state;
            state.answers.push((body["callback_query_id"].as_str().unwrap().to_owned(), text));
            done(json!(true))
        }
        "getChat" | "sendMessage" | "editMessageText" => in_chat(method, body, raw, is_heard, state),
        _ => error(404, "Not Found", json!({})),
    }
}

fn in_chat(
    method: &str,
    body: &Value,
    raw: &[u8],
    is_heard: bool,
    mut state: MutexGuard<'_, State>,
) -> (u16, Value) {
    let done = |result: Value| (200, json!({"ok": true, "result": result}));
    let chat = body["chat_id"].as_i64().unwrap_or_default();
    match state.chats.get(&chat) {
        None => return error(400, "Bad Request: chat not found", json!({})),
        Some(now) if *now != chat => {
            let moved = json!({"migrate_to_chat_id": now});
            return error(400, "Bad Request: group chat was upgraded to a supergroup chat", moved);
        }
        Some(_) => {}
    }
    if method == "getChat" {
        return done(json!({"id": chat, "type": "supergroup", "title": "Team \u{202e}<x>"}));
    }
    let text = body["text"].as_str().unwrap_or_default().to_owned();
    assert!(body.get("parse_mode").is_none(), "plain text has no markup to break");
    if text.trim().is_empty() {
        return error(400, "Bad Request: message text is empty", json!({}));
    }
    if text.encode_utf16().count() > 4096 {
        return error(400, "Bad Request: message is too long", json!({}));
    }
    let rows = body["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let buttons: Vec<(String, String)> = rows
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|button| {
            let part = |name: &str| button[name].as_str().unwrap().to_owned();
            (part("text"), part("callback_data"))
        })
        .collect();
    if buttons.iter().any(|(_, data)| data.is_empty() || data.len() > 64) {
        return error(400, "Bad Request: BUTTON_DATA_INVALID", json!({}));
    }
    if method == "editMessageText" {
        let number = body["message_id"].as_i64().unwrap();
        let Some(post) = state.posts.iter_mut().find(|post| post.number == number) else {
            return error(400, "Bad Request: message to edit not found", json!({}));
        };
        if (&post.text, &post.buttons) == (&text, &buttons) {
            return error(400, "Bad Request: message is not modified", json!({}));
        }
        (post.text, post.buttons, post.edits) = (text, buttons, post.edits + 1);
        return done(json!({"message_id": number}));
    }
    let number = 100 + i64::try_from(state.posts.len()).unwrap();
    state.posts.push(Post {
        number,
        chat,
        thread: body["message_thread_id"].as_i64(),
        text,
        is_silent: body["disable_notification"].as_bool().unwrap_or(false),
        buttons,
        raw: raw.to_vec(),
        is_answered: is_heard,
        edits: 0,
    });
    done(json!({"message_id": number, "date": 0, "chat": {"id": chat, "type": "supergroup"}}))
}

/// Confirms updates before the offset, and waits for a new one.
fn updates(body: &Value, mut state: MutexGuard<'_, State>, news: &Condvar) -> (u16, Value) {
    if state.is_taken {
        let text = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
        return error(409, text, json!({}));
    }
    assert_eq!(body["allowed_updates"], json!(["callback_query"]));
    if let Some(offset) = body["offset"].as_i64() {
        state.updates.retain(|(update, _)| *update >= offset);
    }
    state.readers.0 += 1;
    state.readers.1 = state.readers.1.max(state.readers.0);
    let seconds = body["timeout"].as_u64().filter(|_| !state.is_hasty);
    let patience = Duration::from_secs(seconds.unwrap_or(0));
    let (mut state, _) = news.wait_timeout_while(state, patience, |state| state.updates.is_empty()).unwrap();
    state.readers.0 -= 1;
    let limit = usize::try_from(body["limit"].as_u64().unwrap_or(100)).unwrap();
    let all: Vec<Value> = state.updates.iter().take(limit).map(|(_, update)| update.clone()).collect();
    (200, json!({"ok": true, "result": all}))
}

fn read(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let (head, raw) = read_request(stream)?;
    head.into_iter().next().map(|line| (line, raw))
}

fn reply(mut stream: TcpStream, status: u16, answer: &Value) {
    let text = answer.to_string();
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status} So\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes()));
}

/// A SOCKS 5 proxy (RFC 1928) that resolves names itself, and records them.
pub struct Socks {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Socks {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socks = Self { address: listener.local_addr().unwrap(), asked: Arc::default() };
        let asked = Arc::clone(&socks.asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let asked = Arc::clone(&asked);
                std::thread::spawn(move || carry(stream, &asked));
            }
        });
        socks
    }

    /// The names that it was asked for.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn carry(mut stream: TcpStream, asked: &Mutex<Vec<String>>) -> Option<()> {
    let mut take = |count: usize| {
        let mut bytes = vec![0; count];
        stream.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    let greeting = take(2)?;
    take(greeting[1].into())?;
    stream.write_all(&[5, 0]).ok()?;
    let mut take = |count: usize| {
        let mut bytes = vec![0; count];
        stream.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    let request = take(4)?;
    // A name: a client would have looked up an address itself.
    assert_eq!(request[3], 3, "{request:?}");
    let length = take(1)?[0];
    let name = String::from_utf8(take(length.into())?).unwrap();
    let port = take(2)?;
    let port = u16::from_be_bytes([port[0], port[1]]);
    asked.lock().unwrap().push(name);
    let mut there = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 0]).ok()?;
    let (mut back, mut from) = (stream.try_clone().ok()?, there.try_clone().ok()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut back);
        let _ = back.shutdown(std::net::Shutdown::Both);
    });
    let _ = std::io::copy(&mut stream, &mut there);
    Some(())
}
