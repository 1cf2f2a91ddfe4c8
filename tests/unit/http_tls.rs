//! TLS as in the exporter toolkit's file: versions, suites, client certificates, and reloading of all of them.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;
use super::certificates;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::server::{LONG, Server};
use crate::http::{ConnectionLimits, Guard, Listener, WebConfig};
use account::full;
use certificates::{Authority, Issued};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const BOTH: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
const ONLY_12: &[&SupportedProtocolVersion] = &[&TLS12];
const ONLY_13: &[&SupportedProtocolVersion] = &[&TLS13];

/// A directory with certificates, and a server after its start.
struct Place {
    directory: TempDir,
    authority: Authority,
    /// The authority that issues clients' certificates.
    clients: Authority,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            directory: tempfile::tempdir().unwrap(),
            authority: Authority::new("servers"),
            clients: Authority::new("clients"),
        };
        place.write_server(&place.authority);
        place.write("clients.crt", &place.clients.pem());
        place
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn write_server(&self, authority: &Authority) {
        let Issued { certificate, key } = authority.issue(&["127.0.0.1"], |_| {});
        // The key is written last. If it is read in between, the files do not fit together and nothing changes.
        self.write("server.crt", &certificate.pem());
        self.write("server.key", &key.serialize_pem());
    }

    /// Writes the file. `tls` is the text in `tls_server_config` beside the certificate.
    fn config(&self, tls: &str) -> PathBuf {
        let pair = "cert_file: server.crt, key_file: server.key";
        self.write("web.yml", &format!("tls_server_config: {{{pair}, {tls}}}\n"))
    }

    fn read(&self, tls: &str) -> Result<WebConfig, String> {
        WebConfig::read(&self.config(tls)).map_err(|problems| problems.to_string())
    }

    async fn serve(&self, tls: &str) -> (Server, Arc<Guard>) {
        let path = self.config(tls);
        let guard = Arc::new(Guard::new(Some((&path, WebConfig::read(&path).unwrap()))));
        let guarded = |listener: Listener| listener.guarded(Arc::clone(&guard));
        let server = Server::start_with(&[&full("main")], false, ConnectionLimits::default(), guarded).await;
        (server, guard)
    }

    /// A client that trusts the servers' authority.
    fn client(&self) -> Client<'_> {
        Client { authority: &self.authority, versions: BOTH, identity: None }
    }
}

/// The client's certificate and versions.
struct Client<'a> {
    authority: &'a Authority,
    versions: &'static [&'static SupportedProtocolVersion],
    identity: Option<Issued>,
}

impl Client<'_> {
    async fn connect(self, server: &Server) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.pem().as_bytes()).unwrap()).unwrap();
        let provider = rustls::crypto::ring::default_provider();
        let builder = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(Issued { certificate, key }) => {
                let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
                builder.with_client_auth_cert(vec![certificate.der().clone()], key).unwrap()
            }
        };
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = TcpStream::connect(server.address).await.unwrap();
        let shaken = TlsConnector::from(Arc::new(config)).connect(name, stream);
        timeout(LONG, shaken).await.expect("a handshake in time")
    }

    /// Whether it is answered. In TLS 1.3 a certificate is refused only after the client's handshake.
    async fn enters(self, server: &Server) -> bool {
        let Ok(mut stream) = self.connect(server).await else { return false };
        let request = b"GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
        let mut start = [0; 12];
        let asked = async {
            stream.write_all(request).await?;
            stream.read_exact(&mut start).await
        };
        let is_answered = timeout(LONG, asked).await.expect("an answer in time").is_ok();
        is_answered && start.ends_with(b" 200")
    }
}

#[tokio::test]
async fn only_allowed_versions_are_accepted() {
    let place = Place::new();
    let table =
        [("", [true, true]), ("min_version: TLS12", [true, true]), ("min_version: TLS13", [false, true])];
    for (tls, want) in table {
        let (server, _) = place.serve(tls).await;
        let mut got = [false, false];
        for (index, versions) in [ONLY_12, ONLY_13].into_iter().enumerate() {
            got[index] = Client { versions, ..place.client() }.enters(&server).await;
        }
        let mut plain = TcpStream::connect(server.address).await.unwrap();
        plain.write_all(b"GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.unwrap();
        let mut said = Vec::new();
        let _ = timeout(LONG, plain.read_to_end(&mut said)).await.expect("an end in time");
        assert!(!String::from_utf8_lossy(&said).contains("200 OK"), "{tls}: without TLS");
        assert_eq!(got, want, "{tls}");
    }
}

#[tokio::test]
async fn lists_of_suites_and_curves_change_nothing() {
    let place = Place::new();
    let tls = "cipher_suites: [TLS_RSA_WITH_NULL], curve_preferences: [CurveP521], prefer_server_cipher_suites: false";
    let (server, _) = place.serve(tls).await;
    for versions in [ONLY_12, ONLY_13] {
        assert!(Client { versions, ..place.client() }.enters(&server).await);
    }
    let notes = place.read(tls).unwrap().notes.join("\n");
    for key in ["cipher_suites", "curve_preferences", "prefer_server_cipher_suites"] {
        assert!(notes.contains(&format!("tls_server_config.{key}: has no effect")), "{notes}");
    }
}

#[tokio::test]
async fn client_certificates_as_their_type_says() {
    let place = Place::new();
    let strangers = Authority::new("strangers");
    let ca = "client_ca_file: clients.crt";
    // Without a certificate, with one of ours, and with one of an unknown authority.
    let table = [
        ("NoClientCert", "", [true, true, true]),
        ("VerifyClientCertIfGiven", ca, [true, true, false]),
        ("RequireAndVerifyClientCert", ca, [false, true, false]),
    ];
    for (kind, ca, want) in table {
        let (server, _) = place.serve(&format!("client_auth_type: {kind}, {ca}")).await;
        for versions in [ONLY_12, ONLY_13] {
            let with = |identity| Client { identity, versions, ..place.client() };
            let ours = place.clients.issue(&["prometheus"], |_| {});
            let strange = strangers.issue(&["prometheus"], |_| {});
            let got = [
                with(None).enters(&server).await,
                with(Some(ours)).enters(&server).await,
                with(Some(strange)).enters(&server).await,
            ];
            assert_eq!(got, want, "{kind} {versions:?}");
        }
    }
}

#[tokio::test]
async fn certificates_and_clients_are_read_anew() {
    let place = Place::new();
    let tls = "client_auth_type: RequireAndVerifyClientCert, client_ca_file: clients.crt";
    let (server, guard) = place.serve(tls).await;
    let ours = || Some(place.clients.issue(&["prometheus"], |_| {}));
    // A connection that stays open, like that of Prometheus.
    let mut kept = Client { identity: ours(), ..place.client() }.connect(&server).await.unwrap();
    let mut health = async || {
        kept.write_all(b"GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await?;
        let mut answer = [0; 1024];
        let read = timeout(LONG, kept.read(&mut answer)).await.unwrap()?;
        io::Result::Ok(String::from_utf8_lossy(&answer[..read]).into_owned())
    };
    assert!(health().await.unwrap().starts_with("HTTP/1.1 200"));

    let (renewed, others) = (Authority::new("renewed"), Authority::new("others"));
    place.write_server(&renewed);
    place.write("clients.crt", &others.pem());
    let theirs = || Some(others.issue(&["prometheus"], |_| {}));
    guard.renew(guard.read_again().unwrap().expect("the files changed"));
    assert!(guard.read_again().unwrap().is_none(), "nothing changed since");
    assert!(Client { authority: &renewed, identity: theirs(), ..place.client() }.enters(&server).await);
    assert!(!Client { authority: &renewed, identity: ours(), ..place.client() }.enters(&server).await);
    assert!(
        !health().await.is_ok_and(|answer| answer.contains("200 OK")),
        "who came in before has to come anew"
    );

    // After a broken file, or one without TLS, the settings in force stay.
    for (text, why) in [("nonsense: 1\n", "unknown key"), ("basic_auth_users: {}\n", "takes a restart")] {
        place.write("web.yml", text);
        let refused = guard.read_again().unwrap_err();
        assert!(refused.contains(why), "{refused}");
        let client = Client { authority: &renewed, identity: theirs(), ..place.client() };
        assert!(client.enters(&server).await, "{text}");
    }
}

/// The whole `tls_server_config`.
const WRONG_PAIRS: [&str; 7] = [
    "{min_version: TLS13}",
    "{cert_file: server.crt}",
    "{key_file: server.key}",
    "{cert_file: no.crt, key_file: server.key}",
    "{cert_file: empty.crt, key_file: server.key}",
    "{cert_file: server.crt, key_file: server.crt}",
    "{cert_file: server.crt, key_file: other.key}",
];

/// Keys beside a valid pair.
const WRONG_KEYS: [&str; 10] = [
    "min_version: SSL30",
    "min_version: TLS11",
    "client_auth_type: RequireClientCrt",
    "client_auth_type: RequireAnyClientCert, client_ca_file: clients.crt",
    "client_auth_type: RequestClientCert",
    "client_auth_type: NoClientCert, client_ca_file: clients.crt",
    "client_ca_file: clients.crt",
    "client_auth_type: RequireAndVerifyClientCert",
    "client_auth_type: RequireAndVerifyClientCert, client_ca_file: empty.crt",
    "client_auth_type: RequireAndVerifyClientCert, client_ca_file: clients.crt, client_allowed_sans: [x]",
];

#[test]
fn errors_in_the_file_are_named() {
    let place = Place::new();
    place.write("empty.crt", "");
    let other = Authority::new("x").issue(&["127.0.0.1"], |_| {});
    place.write("other.key", &other.key.serialize_pem());
    let folder = format!("{}/", place.directory.path().display());
    let said = |what: &str, read: Result<WebConfig, String>| {
        format!("{what}\n  {}\n", read.unwrap_err().replace(&folder, ""))
    };
    let pairs = WRONG_PAIRS.map(|tls| {
        let path = place.write("web.yml", &format!("tls_server_config: {tls}"));
        said(tls, WebConfig::read(&path).map_err(|problems| problems.to_string()))
    });
    let keys = WRONG_KEYS.map(|tls| said(tls, place.read(tls)));
    insta::assert_snapshot!("tls_mistakes", pairs.concat() + &keys.concat());
}

/// config/web.yml, with its examples uncommented.
#[test]
fn the_example_is_valid() {
    let place = Place::new();
    let example = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/config/web.yml")).unwrap();
    let path = place.write("web.yml", &example);
    let as_it_is = WebConfig::read(&path).unwrap();
    assert!(!as_it_is.has_tls() && !as_it_is.has_users());

    let key = |line: &&str| line.starts_with("# ") && line.contains(':') && !line.contains(". ");
    let lines: Vec<&str> = example.lines().filter(key).map(|line| &line[2..]).collect();
    let first = lines.iter().position(|line| line.starts_with("tls_server_config")).unwrap();
    let text = lines[first..].join("\n").replace("$2y$10$...", &bcrypt::hash("one", 4).unwrap());
    let path = place.write("web.yml", &text);
    let config = WebConfig::read(&path).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    assert!(config.has_tls() && config.has_users() && config.notes.is_empty());
    for table in ["tls_server_config", "basic_auth_users", "http_server_config"] {
        assert!(text.contains(&format!("{table}:\n")), "{text}");
    }
}
