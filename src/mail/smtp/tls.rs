//! TLS to the SMTP server: trusted certificates, the handshake, and its errors in words.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::chat::Wire;
use super::error::TransportError;
use crate::mail::{MailServer, Security};

/// A TLS client that always checks the server's certificate for its name.
#[derive(Clone)]
pub(super) struct TlsClient {
    /// The configured protection.
    pub security: Security,
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl TlsClient {
    /// Trusts the system's roots and those in `ca_file`. Reads files, which blocks for some milliseconds.
    pub(super) fn new(server: &MailServer) -> Result<Self, TransportError> {
        let name = ServerName::try_from(server.host.clone())
            .map_err(|_| TransportError::Host { host: server.host.clone() })?;
        let setup = |error: rustls::Error| TransportError::Tls { reason: error.to_string() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let (roots, named) = roots(server.ca_file.as_deref())?;
        let inner =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        let inner = inner.map_err(|error| TransportError::Tls { reason: error.to_string() })?;
        let verifier = Verifier { inner, named };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(setup)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self { security: server.security, connector: TlsConnector::from(Arc::new(config)), name })
    }

    /// The handshake, and the version agreed on as people write it; the error says how to correct it.
    pub(super) async fn handshake(
        &self,
        stream: Box<dyn Wire>,
    ) -> Result<(TlsStream<Box<dyn Wire>>, &'static str), String> {
        let stream = self.connector.connect(self.name.clone(), stream).await;
        let stream = stream.map_err(|error| in_words(&error, self.security))?;
        let is_newest = stream.get_ref().1.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
        // The configuration allows no other version.
        Ok((stream, if is_newest { "TLS 1.3" } else { "TLS 1.2" }))
    }
}

/// The usual checks. A server that shows a certificate of `ca_file` itself is known by it; only name and time are
/// checked then, as `openssl req -x509` makes certificates that are no server's.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if !self.named.iter().any(|named| named.as_ref() == end_entity.as_ref()) {
            return self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        let invalid = |problem| rustls::Error::InvalidCertificate(problem);
        let (_, parsed) = x509_parser::parse_x509_certificate(end_entity)
            .map_err(|_| invalid(CertificateError::BadEncoding))?;
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        match parsed.validity() {
            validity if seconds < validity.not_before.timestamp() => {
                Err(invalid(CertificateError::NotValidYet))
            }
            validity if seconds > validity.not_after.timestamp() => Err(invalid(CertificateError::Expired)),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// All trusted authorities, and the certificates of `ca_file` alone.
fn roots(ca_file: Option<&Path>) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TransportError> {
    let (mut roots, mut named) = (RootCertStore::empty(), Vec::new());
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    if let Some(path) = ca_file {
        let problem = |reason: String| TransportError::CaFile { path: path.to_owned(), reason };
        let pem = std::fs::read(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
        let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let certificates = certificates.map_err(|error| problem(format!("is not PEM: {error}")))?;
        if certificates.is_empty() {
            return Err(problem("holds no certificate".to_owned()));
        }
        named.clone_from(&certificates);
        for certificate in certificates {
            roots.add(certificate).map_err(|error| problem(format!("holds a bad certificate: {error}")))?;
        }
    }
    if roots.is_empty() {
        let reason = system.errors.first().map_or_else(|| "none found".to_owned(), ToString::to_string);
        return Err(TransportError::NoRoots { reason });
    }
    Ok((roots, named))
}

fn in_words(error: &std::io::Error, security: Security) -> String {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    if let Some(rustls::Error::InvalidCertificate(problem)) = cause {
        return format!("its certificate is not accepted: {}", certificate(problem));
    }
    let garbled = matches!(cause, Some(rustls::Error::InvalidMessage(_)));
    match security {
        Security::Tls if garbled => {
            "it does not speak TLS there; write smtp:// for STARTTLS (usually port 587) or correct the port \
             in email.smtp_url"
                .to_owned()
        }
        Security::Tls | Security::StartTls | Security::Plain => format!("TLS handshake: {error}"),
    }
}

fn names_nobody(problem: &CertificateError) -> bool {
    matches!(problem, CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty())
}

fn certificate(problem: &CertificateError) -> String {
    let text = problem.to_string();
    let remedy = if matches!(problem, CertificateError::UnknownIssuer) {
        "its issuer is unknown here; name the issuer's CA file in email.ca_file"
    } else if text.contains("subjectAltName") || names_nobody(problem) {
        "it names no host (it has no subjectAltName); have it issued with one, for the name in email.smtp_url"
    } else if matches!(
        problem,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
    ) {
        "write the name it is made for into email.smtp_url"
    } else if matches!(problem, CertificateError::Expired | CertificateError::ExpiredContext { .. }) {
        "it has expired; renew it, or correct this machine's clock"
    } else if matches!(problem, CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) {
        "it is not valid yet; correct this machine's clock"
    } else if text.contains("CaUsedAsEndEntity") {
        "the server shows a CA's own certificate; give it one that is not a CA's (CA:FALSE)"
    } else {
        "the server's operator must mend it"
    };
    format!("{remedy} ({text})")
}
