//! A scripted SMTP server for tests: it replies, stalls and drops as told at every stage, and records what it
//! sees. It runs on a thread of its own, so that a test may block. It accepts any client and checks nothing;
//! the test does.
//!
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "a server of tests; a panic fails them")]

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The longest wait for something that must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// The client's last action.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// It connected; with TLS from the first byte, after the handshake.
    Greeting,
    /// It sent EHLO or HELO.
    Ehlo,
    StartTls,
    /// It sent AUTH, or an answer to a challenge.
    Auth,
    Mail,
    Rcpt,
    Data,
    /// It sent the mail and its dot.
    Dot,
    Rset,
    Quit,
}

/// The server's reaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Writes these bytes. At the dot, the mail is accepted if they begin with 2.
    Reply(Vec<u8>),
    /// Closes the connection without a reply. At the dot, the mail is read and dropped.
    Drop,
    /// At the dot: accepts the mail, then closes without a reply.
    AcceptAndDrop,
    /// At the dot: closes after the first line of the mail.
    DropEarly,
    /// Stays silent until the client leaves.
    Stall,
    /// Stays silent until the rules are forgotten, then replies as usual.
    Wait,
}

impl Act {
    /// A reply of one line or more, each given its CRLF.
    pub fn reply(text: &str) -> Self {
        Self::Reply(format!("{}\r\n", text.replace('\n', "\r\n")).into_bytes())
    }
}

/// The settings of a server.
#[derive(Clone, Default)]
pub struct Setup {
    /// 0: any that is free.
    pub port: u16,
    pub protection: Protection,
    /// User and password that AUTH accepts.
    pub login: Option<(String, String)>,
    /// The mechanisms that are offered, also without TLS; "PLAIN LOGIN" if empty.
    pub mechanisms: String,
    /// Further lines of the reply to EHLO, such as "8BITMIME".
    pub extensions: Vec<String>,
}

#[derive(Clone, Default)]
pub enum Protection {
    #[default]
    Plain,
    StartTls(Arc<rustls::ServerConfig>),
    Implicit(Arc<rustls::ServerConfig>),
}

/// A mail that the server read to its dot.
#[derive(Clone, Debug)]
pub struct Mail {
    /// The number of its connection, from 1.
    pub connection: usize,
    pub from: String,
    pub to: Vec<String>,
    /// Without dot stuffing, every line with its CRLF.
    pub raw: Vec<u8>,
    /// Whether the server has it, even if it did not say so.
    pub accepted: bool,
    /// Whether a reply to the dot is sent.
    pub answered: bool,
    /// Whether everything that the server says of it was sent.
    pub settled: bool,
    pub encrypted: bool,
    pub user: Option<String>,
    pub at: Instant,
}

/// The server's record.
#[derive(Clone, Default, Debug)]
pub struct Seen {
    pub connections: usize,
    /// The number of connections that are over.
    pub closed: usize,
    /// The commands, as "NUMBER COMMAND", with " (TLS)" behind those that came encrypted. Contents of mails are
    /// left out.
    pub commands: Vec<String>,
    /// The mails in the order of their dots, including refused ones.
    pub mails: Vec<Mail>,
    /// How often a rule acted, by stage and first digit of the reply, or the act's name.
    pub acts: BTreeMap<String, usize>,
}

impl Seen {
    /// Mails that the server took.
    pub fn accepted(&self) -> Vec<&Mail> {
        self.mails.iter().filter(|mail| mail.accepted).collect()
    }

    /// Whether a command began with this.
    pub fn has_command(&self, start: &str) -> bool {
        self.commands.iter().any(|line| line.split_once(' ').is_some_and(|(_, said)| said.starts_with(start)))
    }
}

/// A running server; dropped, it closes its port and all connections.
pub struct SmtpServer {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    runtime: Handle,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    setup: Setup,
    rules: Mutex<Vec<Rule>>,
    seen: watch::Sender<Seen>,
}

struct Rule {
    stage: Stage,
    /// The rule applies only to a command with this text.
    with: String,
    /// How often it still applies.
    times: usize,
    act: Act,
}

impl SmtpServer {
    /// A server on a free port of 127.0.0.1 that accepts everything.
    pub fn plain() -> Self {
        Self::start(Setup::default())
    }

    pub fn start(setup: Setup) -> Self {
        // A port that was ours may be in use for a moment.
        let end = Instant::now() + Duration::from_secs(30);
        let listener = loop {
            match std::net::TcpListener::bind(("127.0.0.1", setup.port)) {
                Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
                bound => break bound.unwrap(),
            }
        };
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let shared =
            Arc::new(Shared { setup, rules: Mutex::default(), seen: watch::Sender::new(Seen::default()) });
        let stop = CancellationToken::new();
        let handle = runtime.handle().clone();
        let serving = serve(listener, Arc::clone(&shared), stop.clone());
        let thread = std::thread::spawn(move || runtime.block_on(serving));
        Self { address, shared, runtime: handle, stop, thread: Some(thread) }
    }

    /// Acts so from now on at this stage. The first rule that fits applies.
    pub fn on(&self, stage: Stage, act: Act) {
        self.on_times(stage, "", usize::MAX, act);
    }

    /// Acts so the next time at this stage.
    pub fn once(&self, stage: Stage, act: Act) {
        self.on_times(stage, "", 1, act);
    }

    /// Acts so at a command with the text `with`, such as an address, this many times.
    pub fn on_times(&self, stage: Stage, with: &str, times: usize, act: Act) {
        self.shared.rules().push(Rule { stage, with: with.to_owned(), times, act });
    }

    /// Accepts everything again.
    pub fn forget_rules(&self) {
        self.shared.rules().clear();
    }

    pub fn seen(&self) -> Seen {
        self.shared.seen.borrow().clone()
    }

    /// Ends the server. Returns its record up to the end of the last connection.
    pub fn close(mut self) -> Seen {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        self.seen()
    }

    /// The record once `enough` accepts it; panics with it after 20 s.
    pub async fn seen_when(&self, enough: impl Fn(&Seen) -> bool) -> Seen {
        let mut receiver = self.shared.seen.subscribe();
        let waited = tokio::time::timeout(PATIENCE, receiver.wait_for(enough)).await;
        let Ok(seen) = waited else { panic!("not within {PATIENCE:?}; seen so far: {:#?}", self.seen()) };
        seen.unwrap().clone()
    }

    /// The same for tests without a runtime.
    pub fn seen_when_blocking(&self, enough: impl Fn(&Seen) -> bool) -> Seen {
        self.runtime.block_on(self.seen_when(enough))
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the SMTP server panicked");
        }
    }
}

impl Shared {
    fn rules(&self) -> MutexGuard<'_, Vec<Rule>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn act(&self, stage: Stage, line: &str) -> Option<Act> {
        let mut rules = self.rules();
        let rule = rules
            .iter_mut()
            .find(|rule| rule.stage == stage && rule.times > 0 && line.contains(&rule.with))?;
        rule.times -= 1;
        let act = rule.act.clone();
        let what = match &act {
            Act::Reply(reply) => String::from_utf8_lossy(&reply[..reply.len().min(3)]).into_owned(),
            Act::Drop | Act::AcceptAndDrop | Act::DropEarly | Act::Stall | Act::Wait => {
                format!("{act:?}")
            }
        };
        self.seen.send_modify(|seen| *seen.acts.entry(format!("{stage:?} {what}")).or_default() += 1);
        Some(act)
    }
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let listener = TcpListener::from_std(listener).unwrap();
    let mut sessions = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Some(ended) = sessions.join_next() => ended.unwrap(),
            accepted = listener.accept() => {
                let (stream, _) = accepted.unwrap();
                let mut number = 0;
                shared.seen.send_modify(|seen| {
                    seen.connections += 1;
                    number = seen.connections;
                });
                let shared = Arc::clone(&shared);
                sessions.spawn(async move {
                    // A client that leaves early is a case like any other.
                    let _ = Session::run(stream, Arc::clone(&shared), number).await;
                    shared.seen.send_modify(|seen| seen.closed += 1);
                });
            }
        }
    }
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Io for S {}

struct Session {
    shared: Arc<Shared>,
    number: usize,
    stream: BufReader<Box<dyn Io>>,
    encrypted: bool,
    user: Option<String>,
    from: String,
    to: Vec<String>,
}

/// Whether to go on.
type Next = io::Result<bool>;

impl Session {
    async fn run(stream: TcpStream, shared: Arc<Shared>, number: usize) -> io::Result<()> {
        let (stream, encrypted): (Box<dyn Io>, bool) = match &shared.setup.protection {
            Protection::Implicit(tls) => {
                (Box::new(TlsAcceptor::from(Arc::clone(tls)).accept(stream).await?), true)
            }
            Protection::Plain | Protection::StartTls(_) => (Box::new(stream), false),
        };
        let (from, to) = (String::new(), Vec::new());
        let stream = BufReader::new(stream);
        let mut session = Self { shared, number, stream, encrypted, user: None, from, to };
        if !session.answer(Stage::Greeting, "", "220 scripted ESMTP").await? {
            return Ok(());
        }
        while let Some(line) = session.line().await? {
            let line = String::from_utf8_lossy(&line).into_owned();
            session.note(&line);
            if !session.command(&line).await? {
                break;
            }
        }
        session.stream.shutdown().await
    }

    async fn command(&mut self, line: &str) -> Next {
        let word = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        match word.as_str() {
            "EHLO" | "HELO" => {
                let reply = self.ehlo();
                self.answer(Stage::Ehlo, line, &reply).await
            }
            "STARTTLS" => self.start_tls(line).await,
            "AUTH" => self.auth(line).await,
            "MAIL" => {
                self.from = address(line);
                self.to.clear();
                self.answer(Stage::Mail, line, "250 2.1.0 ok").await
            }
            "RCPT" => {
                let act = self.shared.act(Stage::Rcpt, line);
                if act.is_none() || matches!(&act, Some(Act::Reply(reply)) if reply.starts_with(b"2")) {
                    self.to.push(address(line));
                }
                self.do_act(act, "250 2.1.5 ok").await
            }
            "DATA" => self.data(line).await,
            "RSET" => self.answer(Stage::Rset, line, "250 ok").await,
            "QUIT" => {
                self.answer(Stage::Quit, line, "221 bye").await?;
                Ok(false)
            }
            _ => self.write(b"502 not known here\r\n").await,
        }
    }

    fn ehlo(&self) -> String {
        let setup = &self.shared.setup;
        let mut lines = vec!["scripted.test".to_owned()];
        if matches!(setup.protection, Protection::StartTls(_)) && !self.encrypted {
            lines.push("STARTTLS".to_owned());
        }
        if setup.login.is_some() {
            let mechanisms = Some(setup.mechanisms.as_str()).filter(|text| !text.is_empty());
            lines.push(format!("AUTH {}", mechanisms.unwrap_or("PLAIN LOGIN")));
        }
        lines.extend(setup.extensions.iter().cloned());
        let last = lines.len() - 1;
        let numbered = lines.iter().enumerate();
        let numbered = numbered.map(|(k, line)| format!("250{}{line}", if k == last { ' ' } else { '-' }));
        numbered.collect::<Vec<_>>().join("\n")
    }

    async fn start_tls(&mut self, line: &str) -> Next {
        let Protection::StartTls(tls) = self.shared.setup.protection.clone() else {
            return self.answer(Stage::StartTls, line, "502 no TLS here").await;
        };
        if !self.answer(Stage::StartTls, line, "220 go ahead").await? {
            return Ok(false);
        }
        let (nothing, _) = tokio::io::duplex(1);
        let open = std::mem::replace(&mut self.stream, BufReader::new(Box::new(nothing)));
        let encrypted = TlsAcceptor::from(tls).accept(open.into_inner()).await?;
        self.stream = BufReader::new(Box::new(encrypted));
        self.encrypted = true;
        Ok(true)
    }

    async fn auth(&mut self, line: &str) -> Next {
        let mut words = line.split_whitespace().skip(1);
        let given = match (words.next(), words.next()) {
            (Some("PLAIN"), Some(token)) => plain(token),
            (Some("LOGIN"), None) => {
                self.write(b"334 VXNlcm5hbWU6\r\n").await?;
                let user = self.line().await?.unwrap_or_default();
                self.write(b"334 UGFzc3dvcmQ6\r\n").await?;
                let password = self.line().await?.unwrap_or_default();
                decode(&user).zip(decode(&password))
            }
            _ => None,
        };
        let right = given.is_some() && given == self.shared.setup.login;
        self.user = given.filter(|_| right).map(|(user, _)| user);
        let reply = if right { "235 2.7.0 welcome" } else { "535 5.7.8 bad credentials" };
        self.answer(Stage::Auth, line, reply).await
    }

    async fn data(&mut self, line: &str) -> Next {
        let act = self.shared.act(Stage::Data, line);
        let goes_on = match &act {
            None => true,
            Some(Act::Reply(reply)) => reply.starts_with(b"354"),
            Some(_) => false,
        };
        if !self.do_act(act, "354 end with a dot").await? {
            return Ok(false);
        }
        if goes_on { self.content().await } else { Ok(true) }
    }

    async fn content(&mut self) -> Next {
        let envelope = format!("{} {}", self.from, self.to.join(" "));
        let act = self.shared.act(Stage::Dot, &envelope);
        let mut raw = Vec::new();
        loop {
            let Some(line) = self.line().await? else { return Ok(false) };
            if matches!(act, Some(Act::DropEarly)) {
                return Ok(false);
            }
            if line == b"." {
                break;
            }
            raw.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
            raw.extend_from_slice(b"\r\n");
        }
        let accepted = match &act {
            None | Some(Act::AcceptAndDrop | Act::Wait) => true,
            Some(Act::Reply(reply)) => reply.starts_with(b"2"),
            Some(Act::Drop | Act::DropEarly | Act::Stall) => false,
        };
        let mail = Mail {
            connection: self.number,
            from: std::mem::take(&mut self.from),
            to: std::mem::take(&mut self.to),
            raw,
            accepted,
            answered: matches!(act, None | Some(Act::Reply(_) | Act::Wait)),
            settled: false,
            encrypted: self.encrypted,
            user: self.user.clone(),
            at: Instant::now(),
        };
        let mut index = 0;
        self.shared.seen.send_modify(|seen| {
            index = seen.mails.len();
            seen.mails.push(mail);
        });
        let next = self.do_act(act, "250 2.0.0 taken").await;
        self.shared.seen.send_modify(|seen| seen.mails[index].settled = true);
        next
    }

    /// Replies as a rule says, or as usual.
    async fn answer(&mut self, stage: Stage, line: &str, usual: &str) -> Next {
        let act = self.shared.act(stage, line);
        self.do_act(act, usual).await
    }

    async fn do_act(&mut self, act: Option<Act>, usual: &str) -> Next {
        match act.unwrap_or_else(|| Act::reply(usual)) {
            Act::Reply(bytes) => self.write(&bytes).await,
            Act::Drop | Act::AcceptAndDrop | Act::DropEarly => Ok(false),
            Act::Stall => {
                while self.line().await?.is_some() {}
                Ok(false)
            }
            Act::Wait => {
                while !self.shared.rules().is_empty() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                self.write(format!("{usual}\r\n").as_bytes()).await
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Next {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await?;
        Ok(true)
    }

    /// A line without its CRLF. A bare LF does not end one.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        while self.stream.read_until(b'\n', &mut line).await? > 0 {
            if line.ends_with(b"\r\n") {
                line.truncate(line.len() - 2);
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    fn note(&self, line: &str) {
        let tls = if self.encrypted { " (TLS)" } else { "" };
        let text = format!("{} {line}{tls}", self.number);
        self.shared.seen.send_modify(|seen| seen.commands.push(text));
    }
}

/// The text between < and >.
fn address(line: &str) -> String {
    let inner = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    inner.map_or_else(String::new, |(address, _)| address.to_owned())
}

fn decode(token: &[u8]) -> Option<String> {
    String::from_utf8(BASE64.decode(token).ok()?).ok()
}

fn plain(token: &str) -> Option<(String, String)> {
    let text = decode(token.as_bytes())?;
    let (user, password) = text.strip_prefix('\0')?.split_once('\0')?;
    Some((user.to_owned(), password.to_owned()))
}
