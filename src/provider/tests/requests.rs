//! Single requests: their contents, targets and numbers; redirects, limits, time-outs, refusals.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::model::{Collector, ContainerId, FailureKind, Group, SiteId};
use crate::provider::error::{ErrorKind, Why};
use crate::provider::hosts::RequestTiming;
use crate::provider::{ApiError, CallLimit};

use super::server::{Reply, Server};
use super::{client, client_with, settings, settings_at, timing};

const NO_VMS: &str = r#"{"count": 0, "next": null, "previous": null, "results": []}"#;

fn vm_page(bytes: usize) -> String {
    format!(r#"{{"count": 0, "next": null, "results": [], "pad": "{}"}}"#, "x".repeat(bytes))
}

#[tokio::test]
async fn every_read_is_one_get_with_the_credentials_of_its_group() {
    let server = Server::start(|_, _| Reply::json("{}")).await;
    let (client, _) = client(&server);
    let date = "2026-03-01".parse().unwrap();
    // None of the answers fits; only the requests matter.
    let _ = client.containers().await;
    let _ = client.counted(Collector::Databases, Some(SiteId::new(2))).await;
    let _ = client.sites(ContainerId::new(3)).await;
    let _ = client.counted(Collector::CronJobs, Some(SiteId::new(6))).await;
    let _ = client.vms().await;
    let _ = client.counted(Collector::SshKeys, None).await;
    let _ = client.ips().await;
    let _ = client.expected_balance(date).await;
    let _ = client.charges().await;
    let hosting = "Bearer hosting-secret";
    let vm = "Token vm-secret";
    let billing = "Basic dXNlcjpiaWxsaW5nLXNlY3JldA==";
    let want = [
        ("/api/v1/hosting/containers/?offset=0&limit=100", hosting),
        ("/api/v1/hosting/dbms/2/databases/?offset=0&limit=100", hosting),
        ("/api/v2/hosting/containers/3/virtualhosts/?offset=0&limit=100", hosting),
        ("/api/v2/hosting/virtualhosts/6/cron/?offset=0&limit=100", hosting),
        ("/api/cvds/v1/vms/", vm),
        ("/api/cvds/v1/ssh-keys/", vm),
        ("/api/cvds/v1/ips/", vm),
        ("/api/v1/expected_balance/2026-03-01/", billing),
        ("/api/v1/charge/", billing),
    ];
    let requests = server.requests();
    assert_eq!(requests.len(), want.len(), "{:?}", server.targets());
    for (request, (target, authorization)) in requests.iter().zip(want) {
        assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", target));
        assert_eq!(request.headers["authorization"], [authorization], "{target}");
        assert_eq!(request.header("accept"), Some("application/json"));
        assert_eq!(request.header("accept-encoding"), Some("gzip"));
        assert_eq!(request.header("cache-control"), Some("no-cache"));
        let agent = request.header("user-agent").unwrap();
        assert_eq!(agent, concat!("hostwatch/", env!("CARGO_PKG_VERSION")));
    }
}

#[tokio::test]
async fn a_token_without_a_scheme_goes_alone() {
    let server = Server::start(|_, _| Reply::json("{}")).await;
    let mut settings = settings_at(&server);
    settings.hosting.as_mut().unwrap().scheme = String::new();
    let client = client(&server).0.renewed(settings).unwrap();
    let _ = client.containers().await;
    assert_eq!(server.requests()[0].headers["authorization"], ["hosting-secret"]);
}

#[tokio::test]
async fn a_group_that_is_off_is_not_asked_and_a_bad_credential_is_not_shown() {
    let server = Server::start(|_, _| Reply::json(NO_VMS)).await;
    let (client, _) = client(&server);
    let off = client
        .renewed(crate::provider::ProviderSettings { vm_api_key: None, ..settings_at(&server) })
        .unwrap();
    assert_eq!(off.vms().await.unwrap_err().kind, ErrorKind::Off);
    assert_eq!(server.requests().len(), 0);
    let mut settings = settings();
    settings.vm_api_key = Some("line\nbreak".to_owned().into());
    let error = client.renewed(settings).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Setup(_)) && error.group() == Group::Vm);
    assert!(!format!("{error} {error:?}").contains("break"));
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_target_hears_nothing() {
    let foreign = Server::start(|_, _| Reply::json(NO_VMS)).await;
    let target = format!("{}api/cvds/v1/vms/?token=secret", foreign.url);
    for status in [301, 302, 303, 307, 308] {
        let target = target.clone();
        let server = Server::start(move |_, _| Reply::status(status).with("Location", target.as_str())).await;
        let (client, log) = client(&server);
        let error = client.vms().await.unwrap_err();
        let to = format!("{}api/cvds/v1/vms/", foreign.url);
        assert_eq!(error.kind, ErrorKind::Redirect { status, to }, "without the query");
        assert_eq!(log.codes(), [status.to_string()]);
    }
    assert_eq!(foreign.requests().len(), 0);
}

#[tokio::test]
async fn a_passing_failure_is_tried_three_times_in_all() {
    for status in [500, 502, 503, 429] {
        let server = Server::start(move |_, before| match before {
            0 | 1 => Reply::status(status),
            _ => Reply::json(NO_VMS),
        })
        .await;
        let (client, log) = client(&server);
        let started = Instant::now();
        assert!(client.vms().await.unwrap().shows_all);
        assert!(started.elapsed() >= Duration::from_millis(80), "both pauses were kept");
        assert_eq!(log.codes(), [status.to_string(), status.to_string(), "200".into()]);
    }
    let server = Server::start(|_, _| Reply::status(500)).await;
    let error = client(&server).0.vms().await.unwrap_err();
    assert_eq!((error.kind, server.requests().len()), (ErrorKind::Status(500, ": no".into()), 3));
}

#[tokio::test]
async fn a_connection_that_fails_is_tried_again() {
    let server = Server::start(|_, before| match before {
        0 => Reply::Cut(Vec::new()),
        _ => Reply::json(NO_VMS),
    })
    .await;
    let (cut, log) = client(&server);
    assert!(cut.vms().await.is_ok());
    assert_eq!(log.codes(), ["closed", "200"]);

    let (gone, log) = client(&server);
    drop(server);
    tokio::task::yield_now().await;
    let error = gone.vms().await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Connect(_)), "{error}");
    assert_eq!(log.codes(), ["connect"; 3]);
}

#[tokio::test]
async fn retry_after_is_waited_out_and_a_long_one_by_the_whole_group() {
    let server = Server::start(|_, before| match before {
        0 => Reply::status(429).with("Retry-After", "1"),
        _ => Reply::json(NO_VMS),
    })
    .await;
    let started = Instant::now();
    client(&server).0.vms().await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));

    // The end of a used-up limit of a rate is a Retry-After, too.
    for (name, is_kept) in [("RateLimit", true), ("X-RateLimit", true), ("Other", false)] {
        let [left, reset] = ["Remaining", "Reset"].map(|what| &*format!("{name}-{what}").leak());
        let server = Server::start(|_, _| Reply::status(429).with(left, "0").with(reset, "3600")).await;
        let kind = client(&server).0.vms().await.unwrap_err().kind;
        assert_eq!(
            matches!(kind, ErrorKind::NotAsked { why: Why::AskedToWait, .. }),
            is_kept,
            "{name}: {kind}"
        );
    }

    // Of a whole day an hour is kept, and the error says so.
    let server = Server::start(|_, _| Reply::status(503).with("Retry-After", "86400")).await;
    let (client, _) = client(&server);
    let hour = Duration::from_secs(3600);
    let asked = ErrorKind::NotAsked { why: Why::AskedToWait, retry_in: hour };
    assert_eq!(client.vms().await.unwrap_err().kind, asked);
    let kind = client.ips().await.unwrap_err().kind;
    let ErrorKind::NotAsked { why: Why::AskedToWait, retry_in } = kind else { panic!("{kind}") };
    assert!(retry_in <= hour && retry_in > hour / 2, "{retry_in:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_unreadable_retry_after_slows_the_group_down_as_none_does() {
    for (header, is_slowed) in [(None, true), (Some("soon"), true), (Some("-1"), true), (Some("0"), false)] {
        let server = Server::start(move |_, before| match (before, header) {
            (0, Some(text)) => Reply::status(429).with("Retry-After", text),
            (0, None) => Reply::status(429),
            _ => Reply::json(NO_VMS),
        })
        .await;
        let mut settings = settings_at(&server);
        settings.limits[CallLimit::VmList as usize] = 2;
        let client = client(&server).0.renewed(settings).unwrap();
        // Half of the pace is one call in a minute.
        let read = tokio::time::timeout(Duration::from_secs(1), client.vms()).await;
        assert_eq!(read.is_err(), is_slowed, "{header:?}");
    }
}

#[tokio::test]
async fn a_stall_times_out_and_is_not_tried_again() {
    let begun = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"count\"".to_vec();
    for bytes in [Vec::new(), begun] {
        let server = Server::start(move |_, _| Reply::Stall(bytes.clone())).await;
        let quick = RequestTiming { whole: Duration::from_millis(150), ..timing() };
        let (client, log) = client_with(&server, quick);
        let error = client.vms().await.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Timeout(_)), "{error}");
        assert_eq!((log.codes(), server.requests().len()), (vec!["timeout".to_owned()], 1));
    }
}

#[tokio::test]
async fn a_body_over_the_cap_is_refused_packed_or_not() {
    let cap = RequestTiming { page_bytes: 100_000, ..timing() };
    let server = Server::start(|_, _| Reply::json(vm_page(90_000))).await;
    assert!(client_with(&server, cap.clone()).0.vms().await.is_ok());

    let server = Server::start(|_, _| Reply::json(vm_page(110_000))).await;
    let (client, log) = client_with(&server, cap.clone());
    let too_large = ErrorKind::TooLarge { limit: 100_000, unit: "bytes" };
    assert_eq!(client.vms().await.unwrap_err().kind, too_large);
    assert_eq!(log.codes(), ["too_large"]);

    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(vm_page(10 << 20).as_bytes()).unwrap();
    let bomb = packer.finish().unwrap();
    assert!(bomb.len() < 50_000, "small on the wire");
    let server = Server::start(move |_, _| {
        let headers = vec![("Content-Encoding", "gzip".to_owned())];
        Reply::Answer { status: 200, headers, body: bomb.clone() }
    })
    .await;
    assert_eq!(client_with(&server, cap).0.vms().await.unwrap_err().kind, too_large);
}

#[tokio::test]
async fn an_invalid_listing_is_an_error_that_says_so() {
    let json = |text: &'static str| async move {
        let server = Server::start(move |_, _| Reply::json(text)).await;
        client(&server).0.vms().await.unwrap_err()
    };
    for text in ["<html>Sign in</html>", "", r#"{"count": 1, "results": [{"id": 1"#, "{} {}"] {
        assert!(matches!(json(text).await.kind, ErrorKind::NotJson(_)), "{text}");
    }
    let page = json("<html><title>Sign in, vm-secret</title></html>").await;
    assert!(
        page.failure()
            .message
            .ends_with("the answer is not JSON, a web page: Sign in, [hidden]; check panel_url"),
        "{page}"
    );
    for text in ["[]", "null", "7", r#"{"detail": "no"}"#, r#"{"results": {"a": 1}}"#, r#"{"entities": []}"#]
    {
        assert!(matches!(json(text).await.kind, ErrorKind::WrongShape(_)), "{text}");
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"count\": 0, \"results\": []}";
    let server = Server::start(move |_, _| Reply::Cut(head.into())).await;
    let (client, log) = client(&server);
    assert!(matches!(client.vms().await.unwrap_err().kind, ErrorKind::Closed(_)));
    assert_eq!(log.codes(), ["closed"]);
}

#[tokio::test]
async fn five_refused_polls_hold_the_group_until_its_credentials_change() {
    let server = Server::start(|request, _| {
        let good = request.header("authorization") == Some("Token better");
        if good { Reply::json(NO_VMS) } else { Reply::status(401) }
    })
    .await;
    let (client, _) = client(&server);
    for _ in 0..5 {
        let error = client.begin_poll(Group::Vm).unwrap().vms().await.unwrap_err();
        assert_eq!(error.failure().kind, FailureKind::Credentials);
    }
    let held: ApiError = client.begin_poll(Group::Vm).unwrap_err();
    assert!(matches!(held.kind, ErrorKind::NotAsked { why: Why::Rejected, .. }), "{held}");
    assert_eq!(held.failure().kind, FailureKind::Credentials);
    assert!(client.begin_poll(Group::Hosting).is_ok(), "another group is not concerned");
    // The same settings change nothing; another key does.
    let same = client.renewed(settings_at(&server)).unwrap();
    assert!(same.begin_poll(Group::Vm).is_err());
    let mut better = settings_at(&server);
    better.vm_api_key = Some("better".to_owned().into());
    let better = client.renewed(better).unwrap();
    assert!(better.begin_poll(Group::Vm).unwrap().vms().await.is_ok());
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn a_poll_that_is_only_refused_asks_no_more() {
    let server = Server::start(|_, _| Reply::status(403)).await;
    let (client, _) = client(&server);
    let poll = client.begin_poll(Group::Hosting).unwrap();
    let mut kinds = Vec::new();
    for container in 1..=5 {
        kinds.push(poll.sites(ContainerId::new(container)).await.unwrap_err().kind);
    }
    assert_eq!(kinds[..3], [403, 403, 403].map(|status| ErrorKind::Rejected(status, ": no".into())));
    assert!(
        kinds[3..].iter().all(|kind| matches!(kind, ErrorKind::NotAsked { why: Why::Rejected, .. })),
        "{kinds:?}"
    );
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_refusal_after_a_success_is_no_matter_of_credentials_and_is_quoted() {
    let server = Server::start(|_, before| match before {
        0 => Reply::json(NO_VMS),
        _ => Reply::Answer {
            status: 403,
            headers: vec![("Retry-After", "60".to_owned())],
            body: br#"{"detail": "vm-secret: rate limit exceeded"}"#.to_vec(),
        },
    })
    .await;
    let (client, _) = client(&server);
    client.vms().await.unwrap();
    let error = client.vms().await.unwrap_err();
    assert_eq!(error.failure().kind, FailureKind::Refused);
    assert!(error.to_string().ends_with("HTTP 403: [hidden]: rate limit exceeded"), "{error}");
    let held = client.vms().await.unwrap_err();
    assert!(matches!(held.kind, ErrorKind::NotAsked { why: Why::AskedToWait, .. }), "{held}");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn headers_that_browsers_take_are_taken() {
    let many = (0..150).map(|n| format!("X-{n}: 1\r\n")).collect::<String>();
    for odd in ["X-Cache : MISS\r\n", "X-Note: one\r\n two\r\n", "X Y: 1\r\n", &many] {
        let reply = format!("HTTP/1.1 200 OK\r\n{odd}Content-Length: {}\r\n\r\n{NO_VMS}", NO_VMS.len());
        let server = Server::start(move |_, _| Reply::Cut(reply.clone().into())).await;
        assert!(client(&server).0.vms().await.is_ok(), "{odd}");
    }
}

#[tokio::test]
async fn an_error_shows_neither_credentials_nor_query() {
    let server = Server::start(|_, _| Reply::status(500)).await;
    let mut settings = settings_at(&server);
    let mut url = server.url.clone();
    url.set_username("someone").unwrap();
    url.set_password(Some("url-secret")).unwrap();
    url.set_query(Some("key=query-secret"));
    settings.base_url = Some(url);
    let client = client(&server).0.renewed(settings).unwrap();
    let error = client.sites(ContainerId::new(3)).await.unwrap_err();
    let shown = format!("{error} {error:?} {client:?}");
    assert!(!shown.contains("secret"), "{shown}");
    assert!(error.to_string().contains("/api/v2/hosting/containers/3/virtualhosts/"), "{error}");
    assert_eq!(server.requests()[0].headers["authorization"], ["Bearer hosting-secret"]);
}
