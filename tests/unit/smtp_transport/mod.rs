//! The reaction of the SMTP transport to everything that a server may do at each stage.
#![allow(clippy::unwrap_used)]

use super::certificates;
use super::smtp;
mod tls;

use std::time::Duration;

use crate::mail::smtp::{self as transport, Blame, End, SendError, Timing, Transport};
use crate::mail::{MailServer, Security};
use tokio::time::Instant;

use smtp::{Act, Setup, SmtpServer, Stage};

const FROM: &str = "hostwatch@example.com";
const TO: &str = "ops@example.com";
const MAIL: &[u8] = b"Subject: x\r\n\r\nhello\r\n";

fn settings(server: &SmtpServer, security: Security) -> MailServer {
    let port = server.address.port();
    let host = "127.0.0.1".to_owned();
    MailServer { host, port, security, login: None, authorities: None, helo_name: None }
}

fn plain(server: &SmtpServer) -> Transport {
    Transport::new(&settings(server, Security::Plain)).unwrap()
}

/// Limits that a stalled server reaches soon, and that a test under load does not reach.
fn short(step: Duration) -> Timing {
    Timing { reply: step, content: step, ..Timing::default() }
}

async fn send(transport: &Transport) -> Result<(), SendError> {
    transport.send(transport.take(), FROM, TO, MAIL).await
}

fn kind(error: &SendError) -> &'static str {
    use transport::Stage::{Connection, Content, Login, Recipient, Sender};
    match (error.stage, error.end) {
        (_, End::ReplyLost) => "reply lost",
        (Connection, _) => "connection",
        (_, End::Broken) => "interrupted",
        (Login, _) => "login",
        (Sender, _) => "sender",
        (Recipient, _) => "recipient",
        (Content, _) => "message",
    }
}

/// The server refused it with 5xx.
fn is_for_good(error: &SendError) -> bool {
    matches!(error.end, End::Refused(blame) if blame != Blame::Later)
}

/// MAIL was never sent: the failure is that of the server, not of the mail.
fn is_connection(error: &SendError) -> bool {
    matches!(kind(error), "connection" | "login")
}

#[tokio::test]
async fn a_mail_arrives_as_it_was_rendered() {
    let server = SmtpServer::plain();
    let table: [(&[u8], &[u8]); 3] = [
        (MAIL, MAIL),
        (b"a: b\n\n.\nMAIL FROM:<x@y>\n.", b"a: b\r\n\r\n.\r\nMAIL FROM:<x@y>\r\n.\r\n"),
        ("a: b\r\n\r\nПлатёж\r\n".as_bytes(), "a: b\r\n\r\nПлатёж\r\n".as_bytes()),
    ];
    let transport = plain(&server);
    for (k, (raw, arrives)) in table.iter().enumerate() {
        transport.send(transport.take(), FROM, TO, raw).await.unwrap();
        let mail = server.seen().mails[k].clone();
        assert_eq!(String::from_utf8_lossy(&mail.raw), String::from_utf8_lossy(arrives));
        assert_eq!((mail.from.as_str(), mail.to.as_slice()), (FROM, &[TO.to_owned()][..]));
    }
    assert_eq!(server.seen().closed, 0, "the next mail may come");
    transport.rest();
    let seen = server.seen_when(|seen| seen.closed == 1).await;
    assert_eq!((seen.mails.len(), seen.connections), (table.len(), 1));
    assert_eq!(seen.commands.iter().filter(|line| line.ends_with(" QUIT")).count(), 1);
    let hello = seen.commands[0].strip_prefix("1 EHLO ").unwrap();
    assert!(hello == "[127.0.0.1]" || hello.contains('.'), "{hello}");
}

/// For each mail that the server took, the number of its connection.
fn connections(server: &SmtpServer) -> Vec<usize> {
    server.seen().accepted().iter().map(|mail| mail.connection).collect()
}

#[tokio::test]
async fn mails_in_a_row_share_a_connection_even_if_one_is_refused() {
    let server = SmtpServer::plain();
    let transport = plain(&server);
    for (stage, code) in [(Stage::Rcpt, "550"), (Stage::Rcpt, "451"), (Stage::Dot, "554")] {
        send(&transport).await.unwrap();
        server.once(stage, Act::reply(&format!("{code} no")));
        send(&transport).await.unwrap_err();
    }
    send(&transport).await.unwrap();
    assert_eq!(connections(&server), [1; 4]);
}

#[tokio::test]
async fn a_kept_connection_that_the_server_leaves_is_no_failure() {
    for stage in [Stage::Rset, Stage::Mail, Stage::Rcpt, Stage::Data, Stage::Dot] {
        for act in [Act::reply("421 4.7.0 too many messages"), Act::Drop] {
            let server = SmtpServer::plain();
            let transport = plain(&server);
            send(&transport).await.unwrap();
            server.once(stage, act.clone());
            let sent = send(&transport).await;
            if stage == Stage::Dot && act == Act::Drop {
                // The whole mail was sent: it may have arrived.
                assert_eq!(kind(&sent.unwrap_err()), "reply lost");
                assert_eq!(connections(&server), [1]);
                continue;
            }
            sent.unwrap();
            assert_eq!(connections(&server), [1, 2], "{stage:?} {act:?}");
        }
    }
    for refusal in ["554 5.7.1 too many mails in one session", "452 4.5.3 later"] {
        let server = SmtpServer::plain();
        let transport = plain(&server);
        send(&transport).await.unwrap();
        server.once(Stage::Mail, Act::reply(refusal));
        send(&transport).await.unwrap();
        assert_eq!(connections(&server), [1, 2], "{refusal}");
    }
    // Once only: if a new connection does not help, it is a failure.
    let server = SmtpServer::plain();
    let transport = plain(&server);
    send(&transport).await.unwrap();
    server.on(Stage::Mail, Act::reply("421 4.7.0 too many messages"));
    assert_eq!(kind(&send(&transport).await.unwrap_err()), "sender");
    assert_eq!(server.seen().connections, 2);
}

#[tokio::test]
async fn refusals_are_told_apart_by_stage() {
    let table = [
        (Stage::Greeting, "connection"),
        (Stage::Ehlo, "connection"),
        (Stage::Mail, "sender"),
        (Stage::Rcpt, "recipient"),
        (Stage::Data, "message"),
        (Stage::Dot, "message"),
    ];
    for (stage, want) in table {
        for (code, permanent) in [("421", false), ("451", false), ("550", true)] {
            let server = SmtpServer::plain();
            server.on(stage, Act::reply(&format!("{code}-4.3.2 not\n{code} 4.3.2 now, mate")));
            let transport = plain(&server);
            let error = send(&transport).await.unwrap_err();
            transport.rest();
            assert_eq!(kind(&error), want, "{stage:?} {code}: {error}");
            assert_eq!(is_connection(&error), want == "connection", "{stage:?} {code}");
            assert_eq!(is_for_good(&error), permanent, "{stage:?} {code}");
            assert!(error.to_string().contains(&format!("{code} 4.3.2 not")), "{error}");
            assert!(error.to_string().contains("now, mate"), "{error}");
            let seen = server.seen_when(|seen| seen.closed == 1).await;
            assert!(seen.accepted().is_empty());
            let is_left = code == "421" || matches!(stage, Stage::Greeting | Stage::Ehlo);
            assert!(seen.has_command("QUIT") || is_left, "{stage:?}: {seen:?}");
        }
    }
}

/// The meaning of a missing reply at each stage: closed connection, garbage, an unrelated reply, silence.
#[tokio::test]
async fn breaks_are_told_apart_by_stage() {
    let table = [
        (Stage::Greeting, "connection"),
        (Stage::Ehlo, "connection"),
        (Stage::Mail, "interrupted"),
        (Stage::Rcpt, "interrupted"),
        (Stage::Data, "interrupted"),
        (Stage::Dot, "reply lost"),
    ];
    let acts = [
        Act::Drop,
        Act::Stall,
        Act::reply("HTTP/1.1 400 Bad Request\n\n<html>"),
        Act::reply("250-one\n550 other"),
    ];
    // All at the same time, since the stalls are slow.
    let mut cases = tokio::task::JoinSet::new();
    for (stage, want) in table {
        for act in acts.clone() {
            cases.spawn(broken(stage, act, want));
        }
    }
    while let Some(case) = cases.join_next().await {
        case.unwrap();
    }
    // A positive reply of the wrong kind.
    for (stage, reply, want) in
        [(Stage::Data, "250 ok", "interrupted"), (Stage::Dot, "354 go on", "reply lost")]
    {
        let server = SmtpServer::plain();
        server.on(stage, Act::reply(reply));
        let error = send(&plain(&server)).await.unwrap_err();
        assert_eq!(kind(&error), want, "{stage:?}");
        assert!(!error.to_string().contains("broke"), "the connection is well: {error}");
    }
}

async fn broken(stage: Stage, act: Act, want: &str) {
    let server = SmtpServer::plain();
    server.on(stage, act.clone());
    let stalls = matches!(act, Act::Stall);
    let limit = Duration::from_secs(if stalls { 1 } else { 30 });
    let transport = Transport::with_timing(&settings(&server, Security::Plain), short(limit)).unwrap();
    let mut error = send(&transport).await.unwrap_err();
    // A machine that stands still may run out of time a step earlier.
    for _ in 0..10 {
        if stalls && kind(&error) != want {
            error = send(&transport).await.unwrap_err();
        }
    }
    assert_eq!(kind(&error), want, "{stage:?} {act:?}: {error}");
    assert!(!is_for_good(&error), "{error}");
    assert!(error.to_string().chars().all(|c| !c.is_control()), "{error:?}");
    assert!(error.to_string().len() < 1_000, "{error}");
    assert_eq!(error.to_string().contains("nothing within 1s"), stalls, "{error}");
}

#[tokio::test]
async fn a_drop_before_the_dot_and_one_after_it_differ() {
    let server = SmtpServer::plain();
    let transport = plain(&server);
    server.once(Stage::Dot, Act::AcceptAndDrop);
    let error = send(&transport).await.unwrap_err();
    assert_eq!(kind(&error), "reply lost", "{error}");
    let mail = server.seen().mails[0].clone();
    assert!(mail.accepted && !mail.answered);

    // So many bytes that some are still unsent when the server closes the connection.
    server.once(Stage::Dot, Act::DropEarly);
    let big = format!("Subject: x\r\n\r\n{}", "0123456789\r\n".repeat(2_000_000));
    let error = transport.send(transport.take(), FROM, TO, big.as_bytes()).await.unwrap_err();
    assert_eq!(kind(&error), "interrupted", "{error}");
    assert_eq!(server.seen().mails.len(), 1);
    send(&transport).await.unwrap();
}

#[tokio::test]
async fn a_server_that_never_speaks_is_left_in_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // A server that takes connections into its backlog and never answers.
    let server = MailServer {
        host: "127.0.0.1".to_owned(),
        port,
        security: Security::Plain,
        login: None,
        authorities: None,
        helo_name: None,
    };
    let timing = Timing { reply: Duration::from_millis(100), ..Timing::default() };
    let began = Instant::now();
    let error = send(&Transport::with_timing(&server, timing).unwrap()).await.unwrap_err();
    assert!(is_connection(&error) && error.to_string().contains("nothing within 100ms"), "{error}");
    assert!(began.elapsed() < Timing::default().reply);
    // Nobody listens on this port, and no other program gets it meanwhile.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let server = MailServer { port: closed.local_addr().unwrap().port(), ..server };
    let error = send(&Transport::new(&server).unwrap()).await.unwrap_err();
    assert!(is_connection(&error), "{error}");
    assert!(error.to_string().contains("refused") && error.to_string().contains("email.smtp_url"), "{error}");
}

#[tokio::test]
async fn the_end_of_the_conversation_changes_nothing_and_delays_nothing() {
    for act in [Act::Drop, Act::Stall, Act::reply("500 what?"), Act::Reply(b"\0\0".to_vec())] {
        let server = SmtpServer::plain();
        server.on(Stage::Quit, act);
        let began = Instant::now();
        let timing = Timing { reply: Duration::from_secs(3600), ..Timing::default() };
        let transport = Transport::with_timing(&settings(&server, Security::Plain), timing).unwrap();
        send(&transport).await.unwrap();
        transport.rest();
        assert!(began.elapsed() < Duration::from_secs(300), "waited for the reply to QUIT");
        assert_eq!(server.seen().accepted().len(), 1);
    }
}

#[tokio::test]
async fn addresses_cannot_carry_commands() {
    let server = SmtpServer::plain();
    let transport = plain(&server);
    for bad in ["", "nobody", "a@b\r\nRCPT TO:<x@y>", "a@b> <c@d", "<a@b>"] {
        let error = transport.send(transport.take(), FROM, bad, MAIL).await.unwrap_err();
        assert_eq!((kind(&error), error.end), ("recipient", End::Refused(Blame::Address)), "{bad:?}");
        let error = transport.send(transport.take(), bad, TO, MAIL).await.unwrap_err();
        assert_eq!((kind(&error), error.end), ("sender", End::Refused(Blame::Server)), "{bad:?}");
    }
    let seen = server.seen();
    assert!(seen.mails.is_empty() && !seen.has_command("MAIL") && !seen.has_command("RCPT"), "{seen:?}");
}

#[tokio::test]
async fn extensions_are_used_where_offered() {
    let body = "a: b\r\n\r\nё\r\n".as_bytes();
    let extensions = vec!["8BITMIME".to_owned(), "SMTPUTF8".to_owned()];
    let server = SmtpServer::start(Setup { extensions, ..Setup::default() });
    plain(&server).send(None, FROM, TO, body).await.unwrap();
    plain(&server).send(None, FROM, TO, MAIL).await.unwrap();
    plain(&server).send(None, FROM, "иван@example.com", MAIL).await.unwrap();
    let both = [TO.to_owned(), "иван@example.com".to_owned()];
    assert!(plain(&server).probe(FROM, &both).await.unwrap().refused.is_empty());
    let seen = server.seen();
    let mails: Vec<_> =
        seen.commands.iter().filter_map(|line| line.split_once(" MAIL ").map(|(_, rest)| rest)).collect();
    let from = format!("FROM:<{FROM}>");
    assert_eq!(
        mails,
        [
            format!("{from} BODY=8BITMIME"),
            from.clone(),
            format!("{from} SMTPUTF8"),
            format!("{from} SMTPUTF8")
        ]
    );

    let bare = SmtpServer::plain();
    let refused = plain(&bare).probe(FROM, &both).await.unwrap().refused;
    assert!(matches!(&refused[..], [(to, why)] if to == &both[1] && why.contains("SMTPUTF8")), "{refused:?}");
    let error = plain(&bare).send(None, FROM, "иван@example.com", MAIL).await.unwrap_err();
    assert_eq!((kind(&error), error.end), ("recipient", End::Refused(Blame::Address)), "{error}");
    assert!(error.to_string().contains("SMTPUTF8"), "{error}");
}

#[tokio::test]
async fn probes_send_nothing() {
    let server = SmtpServer::plain();
    let transport = plain(&server);
    let recipients = [TO.to_owned(), "gone@example.com".to_owned()];
    server.on_times(Stage::Rcpt, "gone@", 1, Act::reply("550 no such user"));
    let capabilities = transport.probe(FROM, &recipients).await.unwrap();
    assert_eq!((capabilities.tls_version, capabilities.login), (None, None));
    let refused: Vec<&str> = capabilities.refused.iter().map(|(to, _)| to.as_str()).collect();
    assert_eq!(
        (refused, capabilities.refused[0].1.contains("550 no such user")),
        (vec!["gone@example.com"], true)
    );
    let seen = server.seen_when(|seen| seen.closed == 1).await;
    let words: Vec<_> = seen.commands.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(words, ["EHLO", "MAIL", "RCPT", "RCPT", "QUIT"]);
    assert!(seen.mails.is_empty());

    // The words of each recipient are kept where the server leaves in between.
    let recipients = ["gone@", "busy@", "last@"].map(|name| format!("{name}example.com"));
    for (act, said) in
        [(Act::reply("421 4.7.0 bye"), "421 4.7.0 bye"), (Act::Drop, "connection lost at RCPT")]
    {
        server.on_times(Stage::Rcpt, "gone@", 1, Act::reply("550 no such user"));
        server.on_times(Stage::Rcpt, "busy@", 1, act);
        let refused = transport.probe(FROM, &recipients).await.unwrap().refused;
        let wanted = ["550 no such user", said, "not asked"];
        assert_eq!(refused.len(), wanted.len(), "{refused:?}");
        for ((to, words), (recipient, wanted)) in refused.iter().zip(recipients.iter().zip(wanted)) {
            assert!(to == recipient && words.contains(wanted), "{to}: {words}");
        }
    }

    server.once(Stage::Mail, Act::reply("550 5.7.1 not you"));
    let error = transport.probe(FROM, &recipients).await.unwrap_err();
    assert_eq!((kind(&error), error.end), ("sender", End::Refused(Blame::Server)), "{error}");
    server.once(Stage::Mail, Act::Drop);
    assert_eq!(kind(&transport.probe(FROM, &recipients).await.unwrap_err()), "interrupted");
}

#[tokio::test]
async fn a_server_of_before_ehlo_is_greeted_with_helo() {
    for code in ["500", "502"] {
        let server = SmtpServer::plain();
        server.once(Stage::Ehlo, Act::reply(&format!("{code} what")));
        send(&plain(&server)).await.unwrap();
        let seen = server.seen();
        assert!(seen.has_command("HELO") && seen.accepted().len() == 1, "{seen:?}");
    }
}

#[tokio::test]
async fn the_greeting_can_be_chosen() {
    let server = SmtpServer::plain();
    let helo_name = Some("monitor.example.com".to_owned());
    let transport = Transport::new(&MailServer { helo_name, ..settings(&server, Security::Plain) }).unwrap();
    send(&transport).await.unwrap();
    assert_eq!(server.seen().commands[0], "1 EHLO monitor.example.com");
}

/// A bare 550 concerns an address once the server took another one.
#[tokio::test]
async fn a_refusal_is_judged_by_what_happened_to_other_mails() {
    let server = SmtpServer::plain();
    let transport = plain(&server);
    server.on_times(Stage::Rcpt, "gone@", usize::MAX, Act::reply("550 no"));
    let blame = async |transport: &Transport| {
        let error = transport.send(transport.take(), FROM, "gone@example.com", MAIL).await.unwrap_err();
        let said = error.to_string();
        assert!(said.contains("550 no; check that this address is right and exists"), "{said}");
        match error.end {
            End::Refused(blame) => blame,
            End::Broken | End::ReplyLost => panic!("{said}"),
        }
    };
    assert_eq!(blame(&transport).await, Blame::Server);
    send(&transport).await.unwrap();
    assert_eq!(blame(&transport).await, Blame::Address);
}
