//! The certificates that are trusted, for mail servers and web servers alike: the system's authorities and those
//! of a configured file. Errors say in words what is wrong with a certificate or with outdated TLS, and the remedy.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore,
    SignatureScheme,
};
use x509_parser::parse_x509_certificate;

/// A client of TLS cannot be set up.
#[derive(thiserror::Error, Debug, Clone, PartialEq, Eq)]
pub(crate) enum TrustError {
    /// The configured file, in words that follow its name.
    #[error("{0}")]
    File(String),
    /// This machine has no authorities.
    #[error(
        "this machine has no usable CA certificates ({0}); install the package ca-certificates, or name a PEM file \
         in the key ca_file"
    )]
    NoRoots(String),
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

impl From<rustls::Error> for TrustError {
    fn from(error: rustls::Error) -> Self {
        Self::Tls(error.to_string())
    }
}

/// A client that always checks the server's certificate for its name. It trusts the system's authorities and the
/// certificates in `pem`. Reads files, which blocks for some milliseconds.
pub(crate) fn client(pem: Option<&[u8]>) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let (roots, named) = roots(pem)?;
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let inner = inner.map_err(|error| TrustError::Tls(error.to_string()))?;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { inner, named }))
        .with_no_client_auth())
}

/// A client that accepts no certificate.
pub(crate) fn of_nobody() -> ClientConfig {
    ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
}

/// The certificates of a file in PEM form, each fit to be an authority.
///
/// # Errors
/// The problem, in words that follow the file's name.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let all = all.map_err(|error| format!("is not PEM: {error}"))?;
    let mut roots = RootCertStore::empty();
    for certificate in &all {
        roots.add(certificate.clone()).map_err(|error| format!("holds a bad certificate: {error}"))?;
    }
    if all.is_empty() { Err("holds no certificate in PEM form".to_owned()) } else { Ok(all) }
}

/// All trusted authorities, and the certificates of `pem` alone.
fn roots(pem: Option<&[u8]>) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TrustError> {
    let named = pem.map(certificates).transpose().map_err(TrustError::File)?.unwrap_or_default();
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs.into_iter().chain(named.iter().cloned()));
    if roots.is_empty() {
        let reason = system.errors.first().map_or_else(|| "none found".to_owned(), ToString::to_string);
        return Err(TrustError::NoRoots(reason));
    }
    Ok((roots, named))
}

/// The usual checks. A server that shows a certificate of the file itself is known by it; only name and time are
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
            let verified =
                self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
            return verified.map_err(|error| {
                let issuer = Issuer::of(end_entity, !intermediates.is_empty());
                // `openssl req -x509` makes a CA's certificate, which is good once the file names it.
                let is_own = issuer == Issuer::Itself && error.to_string().contains(CA_SHOWN);
                if error != invalid(CertificateError::UnknownIssuer) && !is_own {
                    return error;
                }
                invalid(CertificateError::Other(OtherError(Arc::new(issuer))))
            });
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        let (_, parsed) =
            parse_x509_certificate(end_entity).map_err(|_| invalid(CertificateError::BadEncoding))?;
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

/// The name of the error for a server that shows a CA's certificate.
const CA_SHOWN: &str = "CaUsedAsEndEntity";

fn invalid(problem: CertificateError) -> rustls::Error {
    rustls::Error::InvalidCertificate(problem)
}

/// An issuer that nobody here knows, by what the server showed.
#[derive(PartialEq, Eq, Debug, thiserror::Error)]
enum Issuer {
    #[error("it is signed by itself")]
    Itself,
    /// The server showed no other certificate.
    #[error("its issuer, {0}, is unknown here, and the server sends no intermediate certificate")]
    Alone(String),
    #[error("its issuer, {0}, is unknown here")]
    Unknown(String),
}

impl Issuer {
    fn of(certificate: &CertificateDer<'_>, has_chain: bool) -> Self {
        let Ok((_, parsed)) = parse_x509_certificate(certificate) else {
            return Self::Unknown(String::new());
        };
        let name = parsed.issuer().to_string();
        match has_chain {
            _ if parsed.issuer() == parsed.subject() => Self::Itself,
            false => Self::Alone(name),
            true => Self::Unknown(name),
        }
    }
}

/// The error of a certificate, or of outdated TLS, anywhere below `error`: what is wrong, and the remedy. `ca_file`
/// and `address` are the keys, or words, that the remedy names.
pub(crate) fn in_words(error: &(dyn Error + 'static), ca_file: &str, address: &str) -> Option<String> {
    let error = std::iter::successors(Some(error), |&error| error.source()).find_map(error_of_tls)?;
    if let rustls::Error::InvalidCertificate(problem) = error {
        return Some(format!("its certificate is not accepted: {}", certificate(problem, ca_file, address)));
    }
    let is_outdated = matches!(
        error,
        rustls::Error::PeerIncompatible(_)
            | rustls::Error::AlertReceived(
                AlertDescription::HandshakeFailure
                    | AlertDescription::ProtocolVersion
                    | AlertDescription::InsufficientSecurity
            )
    );
    is_outdated.then(|| {
        format!("the server offers neither TLS 1.3 nor TLS 1.2 with an ECDHE key exchange; renew its TLS ({error})")
    })
}

fn error_of_tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut inner = error;
    // An error of a stream carries another, which is not its source.
    while let Some(carried) = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        inner = carried;
    }
    inner.downcast_ref()
}

fn certificate(problem: &CertificateError, ca_file: &str, address: &str) -> String {
    if let CertificateError::Other(OtherError(issuer)) = problem
        && let Some(issuer) = issuer.downcast_ref::<Issuer>()
    {
        return match issuer {
            Issuer::Itself => format!("{issuer}; name the certificate's file in {ca_file}"),
            Issuer::Alone(_) => {
                format!("{issuer}; have it send that, or name the issuer's CA file in {ca_file}")
            }
            Issuer::Unknown(_) => format!("{issuer}; name the issuer's CA file in {ca_file}"),
        };
    }
    let text = problem.to_string();
    let names_nobody =
        matches!(problem, CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty());
    let remedy = if text.contains("subjectAltName") || names_nobody {
        &format!(
            "it names no host (it has no subjectAltName); have it issued with one, for the name in {address}"
        )
    } else if matches!(
        problem,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
    ) {
        &format!("write the name it is made for into {address}")
    } else if matches!(problem, CertificateError::Expired | CertificateError::ExpiredContext { .. }) {
        "it has expired; renew it, or correct this machine's clock"
    } else if matches!(problem, CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) {
        "it is not valid yet; correct this machine's clock"
    } else if text.contains(CA_SHOWN) {
        "the server shows a CA's own certificate; give it one that is not a CA's (CA:FALSE)"
    } else {
        "the server's operator must mend it"
    };
    format!("{remedy} ({text})")
}
