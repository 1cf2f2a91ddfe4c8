//! The real binary's web side: TLS and passwords from a file that changes, sockets from systemd, IPv6.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;
use crate::common::certificates;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use certificates::Authority;
use common::smtp::SmtpServer;
use common::{Daemon, Provider, SCENARIO, outcome, until};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A request over a connection. Returns status and the whole answer; `None` if the connection broke.
fn ask(mut stream: impl Read + Write, path: &str, user: Option<&str>) -> Option<(u16, String)> {
    let user =
        user.map(|pair| format!("Authorization: Basic {}\r\n", STANDARD.encode(pair))).unwrap_or_default();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{user}\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    Some((answer.split(' ').nth(1)?.parse().ok()?, answer))
}

/// The same over TLS.
fn ask_tls(
    address: SocketAddr,
    trusted: &Authority,
    path: &str,
    user: Option<&str>,
) -> Option<(u16, String)> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), ServerName::try_from("127.0.0.1").unwrap()).unwrap();
    ask(StreamOwned::new(client, TcpStream::connect(address).unwrap()), path, user)
}

fn status(answer: Option<(u16, String)>) -> Option<u16> {
    answer.map(|(status, _)| status)
}

/// Writes `web.yml` and its certificates beside the daemon's configuration.
fn write_web_config(daemon: &Daemon, authority: &Authority, users: &[(&str, &str)]) -> PathBuf {
    let directory = daemon.directory.path();
    let issued = authority.issue(&["127.0.0.1"], |_| {});
    std::fs::write(directory.join("server.crt"), issued.certificate.pem()).unwrap();
    std::fs::write(directory.join("server.key"), issued.key.serialize_pem()).unwrap();
    write_users(&directory.join("web.yml"), users)
}

fn write_users(path: &Path, users: &[(&str, &str)]) -> PathBuf {
    let mut text =
        "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\nbasic_auth_users:\n".to_owned();
    for (name, password) in users {
        text.push_str(&format!("  {name}: {}\n", bcrypt::hash(password, 4).unwrap()));
    }
    std::fs::write(path, text).unwrap();
    path.to_owned()
}

#[test]
fn tls_and_passwords_follow_their_file() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let authority = Authority::new("ca");
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    let path = write_web_config(&daemon, &authority, &[("alice", "hunter-one")]);
    let flag = format!("--web.config.file={}", path.display());
    daemon.run_with(&["--web.listen-address=127.0.0.1:0", &flag, "--log.level=debug"]);
    let line = daemon.log.wait("serving metrics");
    assert!(line.contains("tls=true") && line.contains("passwords=true"), "{line}");

    let get = |path: &str, user| ask_tls(daemon.address, &authority, path, user);
    for path in ["/metrics", "/sd/sites", "/sd/vms", "/", "/-/healthy"] {
        until(path, || status(get(path, Some("alice:hunter-one"))) != Some(503));
        assert_eq!(status(get(path, None)), Some(401), "{path}");
        assert_eq!(status(get(path, Some("alice:hunter-two"))), Some(401), "{path}");
        assert_eq!(status(get(path, Some("bob:hunter-one"))), Some(401), "{path}");
        assert_eq!(status(get(path, Some("alice:hunter-one"))), Some(200), "{path}");
    }
    until("metrics", || {
        get("/metrics", Some("alice:hunter-one")).is_some_and(|(_, page)| page.contains("hosting_vm_state{"))
    });
    assert_eq!(
        status(ask(TcpStream::connect(daemon.address).unwrap(), "/metrics", None)),
        None,
        "without TLS"
    );

    // A new user gets in. A removed user does not, although the password was remembered.
    write_users(&path, &[("bob", "hunter-three")]);
    let (code, _, error) = daemon.command(&["reload"]);
    assert_eq!(code, 0, "{error}");
    assert_eq!(status(get("/", Some("bob:hunter-three"))), Some(200));
    assert_eq!(status(get("/", Some("alice:hunter-one"))), Some(401));
    // It counts beside a broken configuration, too.
    std::fs::write(daemon.config(), "nonsense = true\n").unwrap();
    write_users(&path, &[("carol", "hunter-four")]);
    until("carol gets in", || status(get("/", Some("carol:hunter-four"))) == Some(200));
    assert_eq!(daemon.stop(), 0);
    let secrets = ["hunter", "$2b$", "PRIVATE", &STANDARD.encode("alice:hunter-one"), "Authorization"];
    for secret in secrets {
        assert_eq!(daemon.log.count(secret), 0, "{secret} in {:#?}", daemon.log.lines());
    }
}

/// The error of a command that must fail at once.
fn refused(daemon: &Daemon, command: &mut Command) -> String {
    let (code, _, error) = outcome(command.env_clear().current_dir(daemon.directory.path()));
    assert_eq!(code, 1, "{error}");
    error
}

#[test]
fn a_wrong_web_configuration_is_named() {
    let provider = Provider::start(SCENARIO);
    let daemon = Daemon::prepare(&provider, ([127, 0, 0, 1], 1).into(), "");
    let path = daemon.directory.path().join("web.yml");
    std::fs::write(&path, "tls_server_config: {cert_file: no.crt, key_file: no.key}\n").unwrap();
    let want = [
        format!(
            "{}: tls_server_config.cert_file: {}/no.crt cannot be read: No such file",
            path.display(),
            daemon.directory.path().display()
        ),
        format!("{}: tls_server_config.key_file: ", path.display()),
    ];
    let flag = format!("--web.config.file={}", path.display());
    for command in ["run", "check-config"] {
        let said = refused(
            &daemon,
            Command::new(env!("CARGO_BIN_EXE_hostwatch"))
                .args([command, &flag, "--config.file"])
                .arg(daemon.config()),
        );
        for want in &want {
            assert!(said.lines().any(|line| line.starts_with(want)), "{command}: {want}\nis not in\n{said}");
        }
    }
    write_web_config(&daemon, &Authority::new("ca"), &[("alice", "one")]);
    let (code, out, _) = daemon.command(&["check-config", &flag]);
    assert_eq!(code, 0);
    assert!(out.contains("web.yml: OK; TLS on, passwords on"), "{out}");
}

/// A shell that passes its standard input and output on as the sockets 3 and 4, as systemd does.
fn activated(inputs: [Stdio; 2], count: u32) -> Command {
    let script = "exec 3<&0 4<&1 0</dev/null 1>&2; export LISTEN_PID=$$; exec \"$0\" \"$@\"";
    let mut command = Command::new("/bin/sh");
    let [first, second] = inputs;
    command.args([
        "-c",
        &format!("export LISTEN_FDS={count}; {script}"),
        env!("CARGO_BIN_EXE_hostwatch"),
        "run",
    ]);
    command.arg("--web.systemd-socket").stdin(first).stdout(second);
    command
}

#[test]
fn sockets_from_systemd_are_served() {
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let addresses = sockets.each_ref().map(|socket| socket.local_addr().unwrap());
    daemon.run_as(activated(sockets.map(|socket| Stdio::from(OwnedFd::from(socket))), 2));
    assert_eq!(daemon.address, addresses[0]);
    for address in addresses {
        assert_eq!(status(ask(TcpStream::connect(address).unwrap(), "/-/healthy", None)), Some(200));
    }
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn it_needs_a_socket_to_start() {
    let provider = Provider::start(SCENARIO);
    let daemon = Daemon::prepare(&provider, ([127, 0, 0, 1], 1).into(), "");
    let flags = ["run", "--web.systemd-socket"];
    let with_config = |mut command: Command| {
        command.arg("--config.file").arg(daemon.config());
        refused(&daemon, &mut command)
    };
    let mut none = Command::new(env!("CARGO_BIN_EXE_hostwatch"));
    none.args(flags);
    let said = with_config(none);
    assert!(said.contains("systemd passed no socket; start hostwatch by its socket unit"), "{said}");

    let said = with_config(activated([Stdio::null(), Stdio::null()], 1));
    assert!(said.contains("socket 1 from systemd is no TCP socket"), "{said}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let said = with_config(activated([OwnedFd::from(connection).into(), Stdio::null()], 1));
    assert!(
        said.contains("socket 1 from systemd is a connection, not a listener; write Accept=no"),
        "{said}"
    );
}

#[test]
fn several_addresses_and_ipv6() {
    if TcpListener::bind("[::1]:0").is_err() {
        println!("skipped: this machine has no IPv6");
        return;
    }
    let provider = Provider::start(SCENARIO);
    let smtp = SmtpServer::plain();
    let mut daemon = Daemon::prepare(&provider, smtp.address, "");
    daemon.run_with(&["--web.listen-address=[::1]:0", "--web.listen-address=127.0.0.1:0"]);
    assert!(daemon.address.is_ipv6());
    assert_eq!(daemon.request("GET", "/-/healthy").0, 200);
    let line = daemon.log.wait("address=127.0.0.1:");
    let other = line.split("address=").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(status(ask(TcpStream::connect(other).unwrap(), "/-/healthy", None)), Some(200));
}
