//! Client certificates: whether one is required, which CA must have issued it, and which names are allowed.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// The rules of `client_auth_type` and `client_allowed_sans`.
#[derive(Debug)]
pub(super) struct Clients {
    /// Checks the issuer; `None` accepts any certificate for which the client has the key.
    pub issued: Option<Arc<dyn ClientCertVerifier>>,
    pub required: bool,
    /// The allowed names, of which a certificate must have one exactly; empty allows all.
    pub allowed: Vec<String>,
    pub algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for Clients {
    fn client_auth_mandatory(&self) -> bool {
        self.required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.issued.as_ref().map_or(&[], |issued| issued.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if let Some(issued) = &self.issued {
            issued.verify_client_cert(certificate, intermediates, now)?;
        }
        if !self.allowed.is_empty() && !names(certificate)?.iter().any(|name| self.allowed.contains(name)) {
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The alternative names in a certificate: DNS names, mail addresses, IP addresses and URIs, as text.
fn names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, Error> {
    let bad = |_| Error::from(CertificateError::BadEncoding);
    let (_, certificate) = parse_x509_certificate(certificate).map_err(|error| bad(error.to_string()))?;
    let extension = certificate.subject_alternative_name().map_err(|error| bad(error.to_string()))?;
    let names = extension.map(|extension| &extension.value.general_names);
    Ok(names.into_iter().flatten().filter_map(text).collect())
}

fn text(name: &GeneralName<'_>) -> Option<String> {
    if let GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) = name {
        return Some((*text).to_owned());
    }
    if let GeneralName::IPAddress(bytes) = name {
        let four = <[u8; 4]>::try_from(*bytes).map(|bytes| std::net::IpAddr::from(bytes).to_string());
        let sixteen = <[u8; 16]>::try_from(*bytes).map(|bytes| std::net::IpAddr::from(bytes).to_string());
        return four.or(sixteen).ok();
    }
    None
}
