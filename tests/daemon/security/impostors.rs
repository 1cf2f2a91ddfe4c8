//! Servers in the provider's place: only a server that proves to be the provider gets a credential.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::CertificateParams;

use super::*;

/// The server's behaviour on a connection.
#[derive(Clone)]
enum Face {
    Tls(Arc<rustls::ServerConfig>),
    /// No TLS, although the client wants it.
    Plain,
    /// Chooses TLS 1.1 in its first message.
    Old,
}

/// The bytes that a server received, decrypted if possible.
#[derive(Default)]
struct Heard {
    connections: AtomicUsize,
    text: Mutex<Vec<u8>>,
}

fn start(face: Face) -> (SocketAddr, Arc<Heard>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Arc::<Heard>::default();
    let notes = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (face, notes) = (face.clone(), Arc::clone(&notes));
            notes.connections.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || talk(stream, face, &notes.text));
        }
    });
    (address, heard)
}

fn talk(mut stream: TcpStream, face: Face, notes: &Mutex<Vec<u8>>) -> Option<()> {
    match face {
        Face::Plain => answer(&mut stream, notes),
        Face::Tls(config) => {
            let connection = rustls::ServerConnection::new(config).ok()?;
            answer(&mut rustls::StreamOwned::new(connection, stream), notes)
        }
        Face::Old => {
            let mut bytes = [0; 4096];
            let size = stream.read(&mut bytes).ok()?;
            notes.lock().unwrap().extend_from_slice(&bytes[..size]);
            // ServerHello of TLS 1.1 with TLS_RSA_WITH_AES_128_CBC_SHA.
            let mut hello = vec![0x16, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2];
            hello.extend_from_slice(&[7; 32]);
            hello.extend_from_slice(&[0, 0, 0x2f, 0]);
            stream.write_all(&hello).ok()?;
            while let Ok(size @ 1..) = stream.read(&mut bytes) {
                notes.lock().unwrap().extend_from_slice(&bytes[..size]);
            }
            None
        }
    }
}

/// Records requests and answers each with an empty listing.
fn answer(stream: &mut (impl Read + Write), notes: &Mutex<Vec<u8>>) -> Option<()> {
    let mut bytes = [0; 4096];
    loop {
        let size = stream.read(&mut bytes).ok().filter(|&size| size > 0)?;
        notes.lock().unwrap().extend_from_slice(&bytes[..size]);
        let body = "{\"count\": 0, \"next\": null, \"results\": []}";
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).ok()?;
        stream.flush().ok()?;
    }
}

#[test]
fn only_a_proven_provider_gets_credentials() {
    let (trusted, other) = (Authority::new("trusted"), Authority::new("other"));
    let expired = |params: &mut CertificateParams| {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    };
    // A description, the behaviour, the error.
    let table = [
        ("the provider", Face::Tls(trusted.server(&["127.0.0.1"])), None),
        ("another host", Face::Tls(trusted.server(&["panel.example.com"])), Some("not valid for name")),
        ("another authority", Face::Tls(other.server(&["127.0.0.1"])), Some("CA file in the key ca_file")),
        ("an ended certificate", Face::Tls(trusted.server_with(&["127.0.0.1"], expired)), Some("expired")),
        ("no TLS", Face::Plain, Some("no connection")),
        ("old TLS", Face::Old, Some("no connection")),
    ];
    each(
        &table,
        |(name, _, _)| (*name).to_owned(),
        |(name, face, error)| {
            let (address, heard) = start(face.clone());
            let (provider, _smtp, mut daemon) = guarded("");
            let roots = daemon.directory.path().join("roots.pem");
            std::fs::write(&roots, trusted.pem()).unwrap();
            daemon.environment.push(("SSL_CERT_FILE", roots.display().to_string()));
            daemon.configure(&format!("http://{}", provider.address), &format!("https://{address}"));
            daemon.run_with(&["--web.listen-address=127.0.0.1:0", "--log.level=debug"]);
            let success = u8::from(error.is_none());
            daemon.shows(&format!(
                "hostwatch_collector_success{{account=\"main\",collector=\"vms\"}} {success}"
            ));
            if let Some(error) = error {
                let says = |line: &String| line.contains("reading the VMs") && line.contains(error);
                until(name, || daemon.log.lines().iter().any(says));
            }
            assert_eq!(daemon.stop(), 0);
            log_is_clean(&daemon);
            assert!(heard.connections.load(Ordering::Relaxed) > 0, "{name}: it was asked");
            let heard = String::from_utf8_lossy(&heard.text.lock().unwrap()).into_owned();
            let told = planted().iter().any(|secret| heard.contains(secret));
            assert_eq!(told, error.is_none(), "{name}: heard {heard:?}");
            assert_eq!(heard.contains("authorization"), error.is_none(), "{name}");
        },
    );
}
