//! TLS as the exporter toolkit's file asks for it: versions, suites, client certificates, and all of it read anew.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account;
use super::certificates;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::server::{Answer, LONG, Server, ask};
use crate::http::{ConnectionLimits, Guard, Listener, WebConfig};
use account::full;
use certificates::{Authority, Issued};
use rcgen::SanType;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const BOTH: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
const ONLY_12: &[&SupportedProtocolVersion] = &[&TLS12];
const ONLY_13: &[&SupportedProtocolVersion] = &[&TLS13];

/// A directory with certificates, and a server once it was started.
struct Place {
    directory: TempDir,
    authority: Authority,
    /// Issues clients' certificates.
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
        // The key last: what is read in between does not fit together and changes nothing.
        self.write("server.crt", &certificate.pem());
        self.write("server.key", &key.serialize_pem());
    }

    /// Writes the file; `tls` is what stands in `tls_server_config` beside the certificate.
    fn config(&self, tls: &str, rest: &str) -> PathBuf {
        let pair = "cert_file: server.crt, key_file: server.key";
        self.write("web.yml", &format!("tls_server_config: {{{pair}, {tls}}}\n{rest}\n"))
    }

    fn read(&self, tls: &str) -> Result<WebConfig, String> {
        WebConfig::read(&self.config(tls, "")).map_err(|problems| problems.to_string())
    }

    async fn serve(&self, tls: &str, rest: &str) -> Server {
        let path = self.config(tls, rest);
        let guard = Arc::new(Guard::new(Some((&path, WebConfig::read(&path).unwrap())), 40));
        let guarded = |listener: Listener| listener.guarded(guard);
        Server::start_with(&[&full("main")], false, ConnectionLimits::default(), guarded).await
    }

    /// A client that trusts the servers' authority.
    fn client(&self) -> Client<'_> {
        Client { authority: &self.authority, versions: BOTH, identity: None, suite: None }
    }
}

/// How a client comes.
struct Client<'a> {
    authority: &'a Authority,
    versions: &'static [&'static SupportedProtocolVersion],
    identity: Option<Issued>,
    suite: Option<rustls::CipherSuite>,
}

impl Client<'_> {
    async fn connect(self, server: &Server) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.pem().as_bytes()).unwrap()).unwrap();
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        if let Some(suite) = self.suite {
            provider.cipher_suites.retain(|known| known.suite() == suite);
        }
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

    /// Asks for the health; in TLS 1.3 a certificate is refused after the client's handshake is over.
    async fn ask(self, server: &Server) -> io::Result<(Answer, Option<ProtocolVersion>)> {
        let mut stream = self.connect(server).await?;
        let version = stream.get_ref().1.protocol_version();
        stream.write_all(b"GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").await?;
        let mut start = [0; 12];
        timeout(LONG, stream.read_exact(&mut start)).await.expect("an answer in time")?;
        let status = std::str::from_utf8(&start[9..]).unwrap().parse().unwrap();
        Ok((Answer { status, head: String::new(), body: Vec::new() }, version))
    }

    async fn enters(self, server: &Server) -> bool {
        self.ask(server).await.is_ok_and(|(answer, _)| answer.status == 200)
    }
}

#[tokio::test]
async fn metrics_over_tls_and_nothing_without() {
    let place = Place::new();
    let server = place.serve("", "").await;
    let stream = place.client().connect(&server).await.unwrap();
    assert_eq!(stream.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    assert_eq!(stream.get_ref().1.alpn_protocol(), None);
    let answer = ask(stream, "GET", "/metrics", "").await;
    assert!(answer.status == 200 && answer.text().contains("hosting_vm_state{"), "{}", answer.head);

    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain.write_all(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(LONG, plain.read_to_end(&mut answer)).await.unwrap();
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
}

#[tokio::test]
async fn versions_are_those_that_are_allowed() {
    let place = Place::new();
    let table = [
        ("", [true, true]),
        ("min_version: TLS12", [true, true]),
        ("min_version: TLS13", [false, true]),
        ("max_version: TLS12", [true, false]),
        ("min_version: TLS12, max_version: TLS12", [true, false]),
        // Older ones are not spoken at all.
        ("min_version: TLS10", [true, true]),
    ];
    for (tls, want) in table {
        let server = place.serve(tls, "").await;
        let mut got = [false, false];
        for (index, versions) in [ONLY_12, ONLY_13].into_iter().enumerate() {
            got[index] = Client { versions, ..place.client() }.enters(&server).await;
        }
        assert_eq!(got, want, "{tls}");
    }
}

#[tokio::test]
async fn suites_and_curves_are_those_that_are_listed() {
    use rustls::CipherSuite;
    let place = Place::new();
    let tls = "cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA], \
               curve_preferences: [CurveP256], prefer_server_cipher_suites: false";
    let server = place.serve(tls, "").await;
    let with = |suite| Client { versions: ONLY_12, suite: Some(suite), ..place.client() };
    assert!(with(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384).enters(&server).await);
    assert!(!with(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256).enters(&server).await);
    assert!(Client { versions: ONLY_13, ..place.client() }.enters(&server).await, "TLS 1.3 is as it was");
    let stream = place.client().connect(&server).await.unwrap();
    let group = stream.get_ref().1.negotiated_key_exchange_group().unwrap().name();
    assert_eq!(group, rustls::NamedGroup::secp256r1);
}

#[tokio::test]
async fn client_certificates_as_their_type_says() {
    let place = Place::new();
    let strangers = Authority::new("strangers");
    let ca = "client_ca_file: clients.crt";
    // Without a certificate, with one of ours, with one of strangers.
    let table = [
        ("NoClientCert", "", [true, true, true]),
        ("RequestClientCert", "", [true, true, true]),
        ("RequireAnyClientCert", "", [false, true, true]),
        ("RequireClientCert", "", [false, true, true]),
        ("VerifyClientCertIfGiven", ca, [true, true, false]),
        ("RequireAndVerifyClientCert", ca, [false, true, false]),
    ];
    for (kind, ca, want) in table {
        let server = place.serve(&format!("client_auth_type: {kind}, {ca}"), "").await;
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
async fn a_client_must_have_one_of_the_names() {
    let place = Place::new();
    let names =
        "[prometheus.example.com, 192.0.2.7, '2001:db8::7', ops@example.com, 'spiffe://example.com/p']";
    let tls = "client_auth_type: RequireAndVerifyClientCert, client_ca_file: clients.crt";
    let server = place.serve(&format!("{tls}, client_allowed_sans: {names}"), "").await;
    let with = async |names: &[&str], more: Option<SanType>| {
        let identity = place.clients.issue(names, |params| params.subject_alt_names.extend(more));
        Client { identity: Some(identity), ..place.client() }.enters(&server).await
    };
    for allowed in ["prometheus.example.com", "192.0.2.7", "2001:db8::7"] {
        assert!(with(&["other.example.com", allowed], None).await, "{allowed}");
    }
    assert!(with(&[], Some(SanType::Rfc822Name("ops@example.com".try_into().unwrap()))).await);
    assert!(with(&[], Some(SanType::URI("spiffe://example.com/p".try_into().unwrap()))).await);
    for refused in ["example.com", "*.example.com", "a.prometheus.example.com", "192.0.2.8"] {
        assert!(!with(&[refused], None).await, "{refused}");
    }
    assert!(!with(&[], None).await, "no name at all");
}

#[tokio::test]
async fn certificates_and_clients_are_read_anew() {
    let place = Place::new();
    let tls = "client_auth_type: RequireAndVerifyClientCert, client_ca_file: clients.crt";
    let server = place.serve(tls, "").await;
    let ours = || Some(place.clients.issue(&["prometheus"], |_| {}));
    // One that stays, as Prometheus's does.
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
    let seen = async {
        while !(Client { authority: &renewed, identity: theirs(), ..place.client() }).enters(&server).await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(LONG, seen).await.expect("the new certificates are in force");
    assert!(!Client { authority: &renewed, identity: ours(), ..place.client() }.enters(&server).await);
    assert!(
        !health().await.is_ok_and(|answer| answer.contains("200 OK")),
        "who came in before has to come anew"
    );

    // A broken file, and TLS turned off: what is in force stays.
    for text in ["nonsense: 1\n", "basic_auth_users: {}\n"] {
        place.write("web.yml", text);
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let client = Client { authority: &renewed, identity: theirs(), ..place.client() };
        assert!(client.enters(&server).await, "{text}");
    }
}

#[test]
fn what_is_wrong_with_it_is_said() {
    let place = Place::new();
    place.write("empty.crt", "");
    let other = Authority::new("x").issue(&["127.0.0.1"], |_| {});
    place.write("other.key", &other.key.serialize_pem());
    let whole = |text: &str| {
        let path = place.write("web.yml", text);
        WebConfig::read(&path).map(|_| ()).map_err(|problems| problems.to_string())
    };
    let table = [
        ("{min_version: TLS13}", "tls_server_config: names no certificate; add cert_file and key_file"),
        ("{cert_file: server.crt}", "tls_server_config.key_file: is missing; name a PEM file"),
        ("{key_file: server.key}", "tls_server_config.cert_file: is missing; name a PEM file"),
        ("{cert_file: no.crt, key_file: server.key}", "no.crt cannot be read: No such file"),
        (
            "{cert_file: empty.crt, key_file: server.key}",
            "tls_server_config.cert_file: holds no certificate in PEM",
        ),
        (
            "{cert_file: server.crt, key_file: server.crt}",
            "tls_server_config.key_file: holds no private key in PEM",
        ),
        ("{cert_file: server.crt, key_file: other.key}", "tls_server_config: cannot be used: "),
        (
            "{cert_file: server.crt, cert: x, key_file: server.key}",
            "is there beside cert; keep one of the two",
        ),
    ];
    for (tls, want) in table {
        let wrong = whole(&format!("tls_server_config: {tls}")).unwrap_err();
        assert!(wrong.contains(want), "{tls}: {wrong}");
    }
    let verify = "client_auth_type: RequireAndVerifyClientCert";
    let table = [
        ("min_version: SSL30", "min_version: no such version; did you mean TLS"),
        ("min_version: TLS13, max_version: TLS12", "max_version: leaves no version"),
        ("max_version: TLS11", "max_version: leaves no version"),
        (
            "cipher_suites: [TLS_RSA_WITH_NULL]",
            "no such cipher suite: 'TLS_RSA_WITH_NULL'; did you mean TLS_",
        ),
        ("max_version: TLS12, cipher_suites: [TLS_AES_128_GCM_SHA256]", "leaves none for TLS 1.2"),
        ("curve_preferences: [P256]", "no such curve: 'P256'; did you mean CurveP256?"),
        ("curve_preferences: [CurveP521]", "curve_preferences: leaves none"),
        ("client_auth_type: RequireClientCrt", "no such type; did you mean RequireClientCert?"),
        ("client_ca_file: clients.crt", "a client CA is named and no client is asked"),
        (verify, "client_ca_file: is missing; name a PEM file"),
        (
            "client_auth_type: RequestClientCert, client_allowed_sans: [x]",
            "client_allowed_sans needs Require",
        ),
        ("client_auth_type: RequireAnyClientCert, client_allowed_sans: []", "client_allowed_sans: is empty"),
    ];
    for (tls, want) in table {
        let wrong = place.read(tls).unwrap_err();
        assert!(wrong.contains(want), "{tls}: {wrong}");
    }
}

#[test]
fn pairs_may_stand_in_the_file_itself() {
    let place = Place::new();
    let Issued { certificate, key } = place.authority.issue(&["127.0.0.1"], |_| {});
    let block = |pem: &str| pem.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let (certificate, key) = (block(&certificate.pem()), block(&key.serialize_pem()));
    let path =
        place.write("web.yml", &format!("tls_server_config:\n  cert: |\n{certificate}  key: |\n{key}"));
    let config = WebConfig::read(&path).unwrap();
    assert!(config.has_tls() && !format!("{config:?}").contains("BEGIN"));
}

#[test]
fn what_is_allowed_and_unwise_is_noted() {
    let place = Place::new();
    let table = [
        ("", 0),
        ("min_version: TLS10", 1),
        ("client_auth_type: RequireAnyClientCert", 1),
        ("cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]", 1),
        ("cipher_suites: [TLS_AES_128_GCM_SHA256]", 1),
        ("curve_preferences: [X25519, CurveP521]", 1),
        ("client_auth_type: RequireAndVerifyClientCert, client_ca_file: clients.crt", 0),
    ];
    for (tls, notes) in table {
        assert_eq!(place.read(tls).unwrap().notes().len(), notes, "{tls}");
    }
}

/// config/web.yml, once its examples are no comments any more.
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
    assert!(config.has_tls() && config.has_users() && config.notes().is_empty());
    for table in ["tls_server_config", "basic_auth_users", "http_server_config", "rate_limit"] {
        assert!(text.contains(&format!("{table}:\n")), "{text}");
    }
}
