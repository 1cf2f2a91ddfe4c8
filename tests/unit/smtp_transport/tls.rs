//! TLS and logins: the checks, the bytes sent without encryption, and the errors.

use std::time::Duration;

use crate::mail::smtp::Transport;
use crate::mail::{Login, MailServer, Security};
use secrecy::SecretString;

use super::certificates::Authority;
use super::smtp::{Act, Protection, Seen, Setup, SmtpServer, Stage};
use super::{FROM, is_connection, is_for_good, kind, send, settings, short};

const PASSWORD: &str = "hunter2-secret";

/// A server with TLS and a login, and the settings for it.
struct Guarded {
    server: SmtpServer,
    settings: MailServer,
}

fn guarded(security: Security, names: &[&str], mechanisms: &str) -> Guarded {
    let authority = Authority::new("a test's own");
    let tls = authority.server(names);
    let protection = match security {
        Security::Tls => Protection::Implicit(tls),
        Security::StartTls => Protection::StartTls(tls),
        Security::Plain => Protection::Plain,
    };
    let server = SmtpServer::start(Setup {
        protection,
        login: Some(("u@example.com".to_owned(), PASSWORD.to_owned())),
        mechanisms: mechanisms.to_owned(),
        ..Setup::default()
    });
    let settings = MailServer {
        login: Some(Login { username: "u@example.com".to_owned(), password: SecretString::from(PASSWORD) }),
        authorities: Some(authority.pem().as_bytes().into()),
        ..settings(&server, security)
    };
    Guarded { server, settings }
}

fn in_the_open(seen: &Seen) -> Vec<&str> {
    let open = seen.commands.iter().filter(|line| !line.ends_with(" (TLS)"));
    open.map(|line| line.split(' ').nth(1).unwrap()).collect()
}

#[tokio::test]
async fn a_login_goes_over_tls_only() {
    for (security, open) in [(Security::Tls, &[][..]), (Security::StartTls, &["EHLO", "STARTTLS"])] {
        for (mechanisms, used) in [("PLAIN LOGIN", "PLAIN"), ("LOGIN", "LOGIN"), ("XOAUTH2 PLAIN", "PLAIN")] {
            let guarded = guarded(security, &["127.0.0.1"], mechanisms);
            let transport = Transport::new(&guarded.settings).unwrap();
            send(&transport).await.unwrap();
            send(&transport).await.unwrap();
            transport.rest();
            let seen = guarded.server.seen_when(|seen| seen.closed == 1).await;
            assert_eq!(in_the_open(&seen), open);
            let logins = seen.commands.iter().filter(|line| line.contains(&format!(" AUTH {used}")));
            assert_eq!((logins.count(), seen.mails.len()), (1, 2), "one login for both mails");
            assert!(seen.mails[0].encrypted && seen.mails[0].user.as_deref() == Some("u@example.com"));

            let capabilities = transport.probe(FROM, &[]).await.unwrap();
            assert_eq!((capabilities.tls_version, capabilities.login), (Some("TLS 1.3"), Some(used)));
        }
    }
}

#[tokio::test]
async fn no_tls_no_login_no_mail() {
    // A login offered without encryption, which a careless client would use.
    let Guarded { server, settings } = guarded(Security::Plain, &[], "");
    let wanting = MailServer { security: Security::StartTls, ..settings.clone() };
    let error = send(&Transport::new(&wanting).unwrap()).await.unwrap_err();
    assert!(is_connection(&error), "{error}");
    assert!(error.to_string().contains("no STARTTLS") && error.to_string().contains("smtps://"), "{error}");
    let seen = server.seen_when(|seen| seen.closed == 1).await;
    assert!(!seen.has_command("AUTH") && !seen.has_command("MAIL"), "{seen:?}");

    // A server with STARTTLS, used with TLS from the first byte.
    let error = send(&Transport::new(&MailServer { security: Security::Tls, ..settings }).unwrap()).await;
    let error = error.unwrap_err();
    assert!(is_connection(&error) && error.to_string().contains("does not speak TLS there"), "{error}");
}

#[tokio::test]
async fn starttls_refused_or_tampered_with_ends_there() {
    for act in [
        Act::reply("454 TLS not available"),
        Act::reply("501 no"),
        Act::Drop,
        // A reply of an attacker, sent before the handshake.
        Act::reply("220 go ahead\n250-evil\n250 AUTH PLAIN"),
    ] {
        let guarded = guarded(Security::StartTls, &["127.0.0.1"], "");
        guarded.server.on(Stage::StartTls, act.clone());
        let error = send(&Transport::new(&guarded.settings).unwrap()).await.unwrap_err();
        assert!(is_connection(&error), "{act:?}: {error}");
        let seen = guarded.server.seen_when(|seen| seen.closed == 1).await;
        assert_eq!(in_the_open(&seen), ["EHLO", "STARTTLS"], "{act:?}");
        assert_eq!(seen.commands.len(), 2, "{act:?}: {seen:?}");
    }
}

#[tokio::test]
async fn certificates_are_checked_and_the_remedy_named() {
    let authority = Authority::new("right");
    let (right, wrong) = (authority.pem(), Authority::new("wrong").pem());
    let good = authority.server(&["127.0.0.1"]);
    let other = authority.server(&["mail.example.com"]);
    let early = authority.server_with(&["127.0.0.1"], |params| {
        params.not_before = rcgen::date_time_ymd(3001, 1, 1);
        params.not_after = rcgen::date_time_ymd(3002, 1, 1);
    });
    let table = [
        (&good, Some(&right), None),
        (&good, Some(&wrong), Some("email.ca_file")),
        (&good, None, Some("email.ca_file")),
        (&other, Some(&right), Some("into email.smtp_url")),
        (&early, Some(&right), Some("not valid yet")),
    ];
    for (tls, ca, want) in table {
        for security in [Security::Tls, Security::StartTls] {
            let tls = tls.clone();
            let protection = match security {
                Security::Tls => Protection::Implicit(tls),
                Security::StartTls | Security::Plain => Protection::StartTls(tls),
            };
            let server = SmtpServer::start(Setup { protection, ..Setup::default() });
            let authorities = ca.map(|pem| pem.as_bytes().into());
            let transport = match Transport::new(&MailServer { authorities, ..settings(&server, security) }) {
                Ok(transport) => transport,
                // The error of a machine without root certificates says so, and names the remedy.
                Err(error) if ca.is_none() && error.contains("in the key ca_file") => continue,
                Err(error) => panic!("{error}"),
            };
            let sent = send(&transport).await;
            match want {
                None => sent.unwrap(),
                Some(remedy) => {
                    let error = sent.unwrap_err();
                    assert!(is_connection(&error) && error.to_string().contains(remedy), "{error}");
                    assert!(server.seen().mails.is_empty());
                }
            }
        }
    }
}

#[tokio::test]
async fn a_host_that_is_none_is_named() {
    let server = SmtpServer::plain();
    let error = Transport::new(&MailServer { host: "a b".into(), ..settings(&server, Security::Tls) });
    assert!(error.err().unwrap().contains("\"a b\" is neither a host name nor an address"));
}

#[tokio::test]
async fn login_failures_are_told_apart_and_hold_no_password() {
    use base64::Engine as _;
    let encode = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    let token = encode(format!("\0u@example.com\0{PASSWORD}"));
    let echo = format!("535 5.7.8 bad: AUTH PLAIN {token} ({PASSWORD}, {})", encode(PASSWORD.to_owned()));
    let table = [
        (Act::reply(&echo), "login", true),
        (Act::reply("535 5.7.8 no"), "login", true),
        (Act::reply("454 4.7.0 later"), "login", false),
        (Act::reply("421 4.7.0 too many"), "login", false),
        (Act::reply("334 c29tZXRoaW5n"), "login", true),
        (Act::Drop, "connection", false),
        (Act::reply(&format!("what is {token}?")), "connection", false),
        (Act::Stall, "connection", false),
    ];
    for (act, want, permanent) in table {
        let guarded = guarded(Security::Tls, &["127.0.0.1"], "");
        guarded.server.on(Stage::Auth, act.clone());
        let limit = Duration::from_secs(if matches!(act, Act::Stall) { 1 } else { 30 });
        let transport = Transport::with_timing(&guarded.settings, short(limit)).unwrap();
        for error in [send(&transport).await.unwrap_err(), transport.probe(FROM, &[]).await.unwrap_err()] {
            assert_eq!(kind(&error), want, "{act:?}: {error}");
            assert_eq!(is_for_good(&error), permanent, "{act:?}: {error}");
            assert!(is_connection(&error), "{error}");
            for said in [error.to_string(), format!("{error:?}")] {
                assert!(!said.contains(PASSWORD) && !said.contains(&token), "{said}");
            }
        }
        assert!(guarded.server.seen().mails.is_empty());
    }
    let guarded = guarded(Security::Tls, &["127.0.0.1"], "CRAM-MD5 XOAUTH2");
    let error = send(&Transport::new(&guarded.settings).unwrap()).await.unwrap_err();
    assert_eq!((super::kind(&error), super::is_for_good(&error)), ("login", true), "{error}");
    assert!(
        error
            .to_string()
            .contains("it offers AUTH CRAM-MD5 XOAUTH2; hostwatch can log in by PLAIN and LOGIN"),
        "{error}"
    );
    assert!(!guarded.server.seen().has_command("AUTH"));
}
