//! A hosting token that is bought: the purchase, its frequency, and the cost of a refused token or key.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::model::{ContainerId, FailureKind, Group};
use crate::provider::error::ErrorKind;
use crate::provider::hosts::RequestTiming;
use crate::provider::{Client, HostingToken, ProviderSettings, TokenOffer};

use super::server::{Reply, Request, Server};
use super::{client_with, settings_at, timing};

const NO_ROWS: &str = r#"{"count": 0, "entities": []}"#;
const NO_VMS: &str = r#"{"count": 0, "next": null, "previous": null, "results": []}"#;

fn buying(server: &Server) -> ProviderSettings {
    let mut settings = settings_at(server);
    settings.hosting.as_mut().unwrap().token = HostingToken::Bought(TokenOffer {
        url: server.url.join("token/").unwrap(),
        api_key: "the key".into(),
        key_field: "api_key".to_owned(),
        token_field: "token".to_owned(),
    });
    settings
}

/// A client that buys its token at the server, with at least this time between purchases.
fn client(server: &Server, apart: Duration) -> Client {
    let timing = RequestTiming { purchases_apart: apart, ..timing() };
    client_with(server, timing).0.renewed(buying(server)).unwrap()
}

fn purchases(server: &Server) -> usize {
    server.targets().iter().filter(|target| *target == "/token/").count()
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

#[tokio::test]
async fn a_token_is_bought_by_the_one_request_that_is_no_get() {
    let server = Server::start(|request, _| match request.target.as_str() {
        "/token/" => Reply::json(r#"{"token": "bought", "more": 1}"#),
        "/api/cvds/v1/vms/" => Reply::json(NO_VMS),
        _ => Reply::json(NO_ROWS),
    })
    .await;
    let client = client(&server, LONG);
    assert_eq!(client.token_standing(), None, "nothing is bought before it is needed");
    client.vms().await.unwrap();
    assert_eq!(purchases(&server), 0, "another group needs none");
    let reads = (1..=5).map(|container| {
        let client = client.clone();
        tokio::spawn(async move { client.sites(ContainerId::new(container)).await })
    });
    for read in reads.collect::<Vec<_>>() {
        read.await.unwrap().unwrap();
    }
    let (posts, gets): (Vec<Request>, Vec<Request>) =
        server.requests().into_iter().partition(|request| request.method != "GET");
    let [post] = &posts[..] else { panic!("{posts:?}") };
    assert_eq!((post.method.as_str(), post.target.as_str()), ("POST", "/token/"));
    assert_eq!(post.body, "api_key=the+key");
    assert_eq!(post.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(post.header("authorization"), None);
    let hosting = gets.iter().filter(|request| request.target.contains("/hosting/"));
    assert_eq!(hosting.clone().count(), 5);
    assert!(hosting.clone().all(|request| request.header("authorization") == Some("Bearer bought")));
    assert!(gets.iter().all(|request| request.body.is_empty()));
    // A reload that changes other settings keeps the token; another key buys a new one.
    let mut same = buying(&server);
    same.container_states.clear();
    let same = client.renewed(same).unwrap();
    same.containers().await.unwrap();
    assert_eq!(purchases(&server), 1);
    // Another way to the provider is that of the purchase, too.
    let mut by_proxy = buying(&server);
    by_proxy.via.proxy = Some("http://127.0.0.1:1".into());
    let error = same.renewed(by_proxy).unwrap().containers().await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::NoToken { .. }), "{error}");
    assert!(error.to_string().contains("no connection through the proxy"), "{error}");
    assert_eq!(purchases(&server), 1);
    let mut other = buying(&server);
    if let HostingToken::Bought(offer) = &mut other.hosting.as_mut().unwrap().token {
        offer.api_key = "another".into();
    }
    same.renewed(other).unwrap().containers().await.unwrap();
    assert_eq!(purchases(&server), 2);
}

#[tokio::test]
async fn a_token_that_ends_within_a_sweep_costs_one_call() {
    let bought = Arc::new(AtomicUsize::new(0));
    let sold = Arc::clone(&bought);
    let server = Server::start(move |request, before| match request.target.as_str() {
        "/token/" => {
            let number = sold.fetch_add(1, Ordering::Relaxed) + 1;
            Reply::json(format!(r#"{{"token": "number-{number}"}}"#))
        }
        // The first token ends after three reads.
        _ if before > 3 && request.header("authorization") == Some("Bearer number-1") => Reply::status(401),
        _ => Reply::json(NO_ROWS),
    })
    .await;
    let client = client(&server, SHORT);
    let poll = client.begin_poll(Group::Hosting).unwrap();
    for container in 1..=8 {
        poll.sites(ContainerId::new(container)).await.unwrap();
    }
    assert_eq!(bought.load(Ordering::Relaxed), 2);
    assert_eq!(server.requests().len(), 2 + 8 + 1, "{:?}", server.targets());
}

/// Requests that wait for their turn take the token of that moment.
#[tokio::test]
async fn a_token_that_ends_costs_only_the_calls_on_their_way() {
    let server = Server::start(|request, before| match request.target.as_str() {
        "/token/" => {
            Reply::json(if before == 0 { r#"{"token": "first"}"# } else { r#"{"token": "second"}"# })
        }
        _ if before > 1 && request.header("authorization") == Some("Bearer first") => Reply::status(401),
        _ => Reply::json(NO_ROWS),
    })
    .await;
    let client = client(&server, Duration::ZERO);
    client.containers().await.unwrap();
    let reads = (1..=24).map(|container| {
        let client = client.clone();
        tokio::spawn(async move { client.sites(ContainerId::new(container)).await })
    });
    for read in reads.collect::<Vec<_>>() {
        read.await.unwrap().unwrap();
    }
    assert_eq!(purchases(&server), 2);
    // The host takes eight requests at a time.
    let refused = server.requests().len() - 2 - 1 - 24;
    assert!((1..=8).contains(&refused), "{refused}");
}

#[tokio::test]
async fn a_token_that_nobody_ever_accepted_is_refused_credentials() {
    let server = Server::start(|request, _| match request.target.as_str() {
        "/token/" => Reply::json(r#"{"token": "useless"}"#),
        _ => Reply::status(401),
    })
    .await;
    let client = client(&server, LONG);
    let error = client.begin_poll(Group::Hosting).unwrap().containers().await.unwrap_err();
    assert_eq!(
        (error.kind.clone(), error.failure().kind),
        (ErrorKind::Rejected(401, ": no".into()), FailureKind::Credentials)
    );
    assert!(error.to_string().contains("hosting_auth_scheme"), "{error}");
    assert_eq!(server.targets().len(), 2, "nobody waits for another that is no better");
}

#[tokio::test]
async fn a_purchase_that_fails_says_why_and_is_not_made_again_at_once() {
    let said = |status, body: &str| Reply::Answer { status, headers: Vec::new(), body: body.into() };
    let table: [(Reply, &str, bool); 13] = [
        (Reply::status(403), "HTTP 403: no; check hosting_api_key and hosting_token_fields", true),
        (
            said(400, "key revoked 12 Nov"),
            "HTTP 400: key revoked 12 Nov; check hosting_api_key and hosting_token_fields",
            true,
        ),
        (
            said(401, r#"{"detail": "the key is unknown"}"#),
            "HTTP 401: [hidden] is unknown; check hosting_api_key and hosting_token_fields",
            true,
        ),
        (said(402, "pay first"), "HTTP 402: pay first", false),
        (said(404, "<title>Lost</title>"), "HTTP 404, a web page: Lost; check hosting_token_url", false),
        (said(429, "slow down"), "HTTP 429: slow down", false),
        (said(503, ""), "HTTP 503: service unavailable", false),
        (Reply::status(302).with("Location", "https://elsewhere.example/"), "answered 302", false),
        (Reply::json("<html>"), "the answer is not JSON, a web page; check hosting_token_url", false),
        (
            Reply::json(r#"{"access": "x", "the key": 1}"#),
            "it has no text in 'token', but access, [hidden]: set hosting_token_fields",
            false,
        ),
        (
            Reply::json(r#"{"token": null, "error": "account is blocked"}"#),
            "it has no text in 'token': account is blocked",
            false,
        ),
        (
            Reply::json(r#"{"access": "x", "error": {"id": "y", "message": "the key is old"}}"#),
            "it has no text in 'token', but access, error: set hosting_token_fields: [hidden] is old",
            false,
        ),
        (Reply::Cut(Vec::new()), "the connection broke", false),
    ];
    for (reply, says, refused) in table {
        let reply = Arc::new(reply);
        let server = Server::start(move |_, _| Reply::clone(&reply)).await;
        let slow = client(&server, LONG);
        for _ in 0..3 {
            let error = slow.containers().await.unwrap_err();
            assert!(
                error.to_string().ends_with(says) || says.contains("302") || says.contains("broke"),
                "{error}"
            );
            assert!(error.to_string().contains(&format!("no token from {}token/: ", server.url)), "{error}");
            assert_eq!(error.is_credentials(), refused, "{error}");
            assert!(!format!("{error} {error:?} {slow:?}").contains("the key"), "{error:?}");
        }
        assert_eq!(server.targets(), ["/token/"], "{says}");
        let quick = client(&server, Duration::ZERO);
        for _ in 0..2 {
            quick.containers().await.unwrap_err();
        }
        assert_eq!(purchases(&server), 3, "{says}");
    }
}

#[tokio::test]
async fn a_shop_that_sold_a_token_refuses_for_now_with_403() {
    for was_read in [false, true] {
        let server = Server::start(move |request, before| match request.target.as_str() {
            "/token/" if before == 0 && !was_read => Reply::json(r#"{"token": "first"}"#),
            "/token/" => Reply::status(403),
            _ if before > 1 => Reply::status(401),
            _ => Reply::json(NO_ROWS),
        })
        .await;
        let client = client(&server, Duration::ZERO);
        if was_read {
            client.was_accepted();
        } else {
            client.containers().await.unwrap();
        }
        // A reload with the same key knows it, too.
        let error = client.renewed(buying(&server)).unwrap().containers().await.unwrap_err();
        assert!(error.to_string().ends_with("token/: HTTP 403: no"), "{error}");
        assert_eq!(error.failure().kind, FailureKind::Refused, "{was_read}");
    }
}

/// Some servers begin each JSON with a byte order mark.
#[tokio::test]
async fn a_token_is_read_as_tolerantly_as_a_listing() {
    for answer in ["\u{feff}{\"token\": \"bought\"}", "{\"life\": NaN, \"token\": \" bought\\n\"}"] {
        let server = Server::start(move |request, _| match request.target.as_str() {
            "/token/" => Reply::json(answer),
            _ => Reply::json(NO_ROWS),
        })
        .await;
        client(&server, LONG).containers().await.unwrap();
        assert_eq!(server.requests()[1].header("authorization"), Some("Bearer bought"), "{answer}");
    }
}

#[tokio::test]
async fn an_error_that_quotes_a_bought_token_does_not_show_it() {
    let server = Server::start(|request, _| match request.target.as_str() {
        "/token/" => Reply::json(r#"{"token": "bought-secret"}"#),
        _ => Reply::status(302).with("Location", "/somewhere/bought-secret/"),
    })
    .await;
    let error = client(&server, LONG).containers().await.unwrap_err();
    assert!(error.to_string().contains("somewhere/[hidden]/"), "{error}");
}
