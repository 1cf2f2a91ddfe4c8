//! The mail catcher from both ends: mail comes in over SMTP, pages come out over HTTP.
#![allow(clippy::unwrap_used)]

use crate::support::http_client;
use hostwatch_sim::mailbox::Mailbox;
use lettre::message::{Attachment, MultiPart, SinglePart, header::ContentType};
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(60);

struct Post {
    mailbox: Arc<Mailbox>,
    smtp: u16,
    web: String,
    stop: CancellationToken,
    servers: Vec<tokio::task::JoinHandle<()>>,
}

async fn open() -> Post {
    let (mailbox, stop) = (Mailbox::new(), CancellationToken::new());
    let smtp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let web = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, url) = (smtp.local_addr().unwrap().port(), format!("http://{}", web.local_addr().unwrap()));
    let servers = vec![
        tokio::spawn(Arc::clone(&mailbox).serve_smtp(smtp, stop.clone())),
        tokio::spawn(Arc::clone(&mailbox).serve_web(web, stop.clone())),
    ];
    Post { mailbox, smtp: port, web: url, stop, servers }
}

impl Post {
    async fn send(&self, mail: Message) {
        let to = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous("127.0.0.1").port(self.smtp);
        tokio::time::timeout(PATIENCE, to.build().send(mail)).await.unwrap().unwrap();
    }

    async fn page(&self, path: &str) -> (u16, String, Vec<u8>) {
        let client = http_client().timeout(PATIENCE).build().unwrap();
        let reply = client.get(format!("{}{path}", self.web)).send().await.unwrap();
        let policy = reply.headers().get("content-security-policy").map(|v| v.to_str().unwrap().to_owned());
        (reply.status().as_u16(), policy.unwrap_or_default(), reply.bytes().await.unwrap().to_vec())
    }

    async fn text(&self, path: &str) -> String {
        String::from_utf8(self.page(path).await.2).unwrap()
    }
}

fn a_mail(subject: &str) -> Message {
    let png = Attachment::new_inline("chart@x".to_owned())
        .body(vec![1_u8, 2, 3], ContentType::parse("image/png").unwrap());
    let html =
        SinglePart::html("<h1>Balance</h1><script>alert(1)</script><img src=\"cid:chart@x\">".to_owned());
    Message::builder()
        .from("hostwatch <hw@example.com>".parse().unwrap())
        .to("ops@example.com".parse().unwrap())
        .subject(subject)
        .multipart(
            MultiPart::alternative()
                .singlepart(SinglePart::plain("Pay 300 < 400 & be online.\r\n.a line with a dot".to_owned()))
                .multipart(MultiPart::related().singlepart(html).singlepart(png)),
        )
        .unwrap()
}

#[tokio::test]
async fn a_mail_is_caught_told_of_and_shown() {
    let post = open().await;
    let mut told = post.mailbox.subscribe();
    post.send(a_mail("[CRITICAL] Отключение <b>скоро</b>")).await;
    tokio::time::timeout(PATIENCE, told.changed()).await.unwrap().unwrap();
    let caught = told.borrow_and_update().clone().unwrap();
    assert_eq!((caught.number, caught.subject.as_str()), (1, "[CRITICAL] Отключение <b>скоро</b>"));
    assert_eq!(
        (caught.from.as_str(), caught.to.as_slice()),
        ("hw@example.com", &["ops@example.com".to_owned()][..])
    );
    post.send(a_mail("second")).await;
    assert_eq!(post.mailbox.count(), 2);

    let index = post.text("/").await;
    assert!(index.contains("Отключение &lt;b&gt;скоро&lt;/b&gt;") && !index.contains("<b>"));
    assert!(index.find("Отключение").unwrap() < index.find("second").unwrap(), "newest last");
    assert!(index.contains("<a href=\"/mail/1/raw\">"));
    let raw = post.text("/mail/1/raw").await;
    assert!(raw.contains("Content-Type: multipart/alternative") && raw.contains("\n.a line with a dot"));
}

#[tokio::test]
async fn html_runs_nothing_and_shows_its_own_pictures() {
    let post = open().await;
    post.send(a_mail("x")).await;
    let (status, policy, body) = post.page("/mail/1").await;
    let html = String::from_utf8(body).unwrap();
    assert_eq!(status, 200);
    assert!(
        policy.starts_with("sandbox;") && policy.contains("default-src 'none'") && !policy.contains("script")
    );
    let (_, rest) = html.split_once("src=\"").unwrap();
    let picture = rest.split_once('"').unwrap().0;
    assert_eq!(picture, "data:image/png;base64,AQID");
    for nothing in ["/mail/2", "/mail/1/part/0", "/mail/x", "/etc/passwd"] {
        assert_eq!(post.page(nothing).await.0, 404, "{nothing}");
    }
}

#[tokio::test]
async fn a_stop_ends_both_servers() {
    let post = open().await;
    let idle = tokio::net::TcpStream::connect(("127.0.0.1", post.smtp)).await.unwrap();
    post.stop.cancel();
    for server in post.servers {
        tokio::time::timeout(PATIENCE, server).await.expect("bounded").unwrap();
    }
    drop(idle);
}
