//! The way to a web server: authorities of a file, a proxy, and the words about a certificate.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::certificates::Authority;
use crate::model::Via;
use crate::provider::probe;

/// A web server that answers everybody alike; the other end has the first line of each request.
async fn served(
    tls: Option<Arc<rustls::ServerConfig>>,
) -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (told, lines) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream: Box<dyn Both> = match &tls {
                None => Box::new(stream),
                Some(tls) => match TlsAcceptor::from(Arc::clone(tls)).accept(stream).await {
                    Ok(stream) => Box::new(stream),
                    // A client that refused the certificate.
                    Err(_) => continue,
                },
            };
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let _ = told.send(request.lines().next().unwrap_or_default().to_owned());
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await;
            let _ = stream.shutdown().await;
        }
    });
    (address, lines)
}

trait Both: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send> Both for T {}

fn trusting(pem: &str) -> Via {
    Via { authorities: Some(pem.as_bytes().into()), ..Via::default() }
}

#[tokio::test]
async fn a_file_of_authorities_is_trusted_and_words_name_the_remedy() {
    let authority = Authority::new("Our CA");
    let old = |params: &mut CertificateParams| {
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    };
    let own = |names: &[&str], is_ca| {
        let key = KeyPair::generate().unwrap();
        let mut params =
            CertificateParams::new(names.iter().map(|&name| name.into()).collect::<Vec<_>>()).unwrap();
        params.is_ca = is_ca;
        let own = params.self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap());
        (Arc::new(server.unwrap()), own.pem())
    };
    let (by_itself, own_pem) = own(&["127.0.0.1"], IsCa::NoCa);
    // As `openssl req -x509` makes it.
    let (of_openssl, openssl_pem) = own(&["127.0.0.1"], IsCa::Ca(BasicConstraints::Unconstrained));
    let (nameless, nameless_pem) = own(&[], IsCa::Ca(BasicConstraints::Unconstrained));
    let (ours, other) = (authority.pem(), Authority::new("Another CA").pem());
    let table = [
        (authority.server(&["127.0.0.1"]), &ours, ""),
        (by_itself.clone(), &own_pem, ""),
        (of_openssl.clone(), &openssl_pem, ""),
        (
            authority.server(&["127.0.0.1"]),
            &other,
            "CN=Our CA, is unknown here, and the server sends no intermediate",
        ),
        (authority.server(&["127.0.0.1"]), &other, "name the issuer's CA file in the key ca_file"),
        (by_itself, &other, "it is signed by itself; name the certificate's file in the key ca_file"),
        (of_openssl, &other, "it is signed by itself; name the certificate's file in the key ca_file"),
        (nameless, &nameless_pem, "it names no host (it has no subjectAltName)"),
        (authority.server(&[]), &ours, "it names no host (it has no subjectAltName)"),
        (authority.server(&["panel.example.com"]), &ours, "write the name it is made for into the address"),
        (authority.server_with(&["127.0.0.1"], old), &ours, "it has expired; renew it"),
    ];
    for (server, pem, want) in table {
        let (address, _lines) = served(Some(server)).await;
        let probed = probe(&format!("https://{address}/").parse().unwrap(), &trusting(pem)).await;
        match probed {
            Ok(_) => assert_eq!(want, ""),
            Err(said) => assert!(!want.is_empty() && said.contains(want), "{want}: {said}"),
        }
    }
}

/// The alerts of servers with RSA key exchange alone and with TLS 1.0 alone, and the hello of a server of TLS 1.1.
#[tokio::test]
async fn outdated_tls_is_told_with_its_remedy() {
    let mut hello = vec![22, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2];
    hello.extend([7; 32]);
    hello.extend([0, 0xc0, 0x13, 0]);
    let table = [
        (vec![21, 3, 3, 0, 2, 2, 40], "HandshakeFailure"),
        (vec![21, 3, 1, 0, 2, 2, 70], "ProtocolVersion"),
        (hello, ""),
    ];
    for (answer, of) in table {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        });
        let trusted = trusting(&Authority::new("Our CA").pem());
        let said = probe(&format!("https://{address}/").parse().unwrap(), &trusted).await.unwrap_err();
        assert!(
            said.contains("TLS 1.2 with an ECDHE key exchange; renew its TLS (") && said.contains(of),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_proxy_has_the_whole_address() {
    let (address, mut lines) = served(None).await;
    let proxy = Some(SecretString::from(format!("http://{address}")));
    let via = Via { proxy, ..Via::default() };
    probe(&"http://panel.invalid/".parse().unwrap(), &via).await.unwrap();
    assert_eq!(lines.recv().await.unwrap(), "GET http://panel.invalid/ HTTP/1.1");
    assert!(probe(&"http://panel.invalid/".parse().unwrap(), &Via::default()).await.is_err());
}
