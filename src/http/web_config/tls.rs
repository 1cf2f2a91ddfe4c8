//! Converts `tls_server_config` to a rustls configuration: certificate, versions, client certificates.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::file;
use super::findings::WebFindings;
use crate::read_file;

/// The TLS configuration; `None` if TLS is off or the configuration is wrong.
pub(super) fn read(tls: &file::Tls, findings: &mut WebFindings) -> Option<Arc<ServerConfig>> {
    let versions = versions(tls, findings);
    let provider = ring::default_provider();
    note_without_effect(tls, findings);
    let clients = clients(tls, &provider, findings);
    let pair = pair(tls, findings);
    let (chain, key) = pair?;
    let failed = |error: rustls::Error, findings: &mut WebFindings| {
        if matches!(error, rustls::Error::InconsistentKeys(_)) {
            let why =
                "is not the key of the first certificate in cert_file; name the two that belong together";
            return findings.error("tls_server_config.key_file", why);
        }
        let why = format!("cannot be used: {error}; name another cert_file and its key_file");
        findings.error("tls_server_config", why);
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(provider)).with_protocol_versions(&versions);
    let builder = builder.map_err(|error| failed(error, findings)).ok()?;
    let config = builder.with_client_cert_verifier(clients?).with_single_cert(chain, key);
    let mut config = config.map_err(|error| failed(error, findings)).ok()?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Some(Arc::new(config))
}

/// The certificates, and the key of the first one.
fn pair(
    tls: &file::Tls,
    findings: &mut WebFindings,
) -> Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let chain = pem("cert_file", tls.cert_file.as_deref(), findings);
    let key = pem("key_file", tls.key_file.as_deref(), findings);
    let chain = chain.and_then(|pem| certificates(&pem, "cert_file", findings));
    let key = key?;
    let Ok(key) = PrivateKeyDer::from_pem_slice(&key) else {
        findings.error("tls_server_config.key_file", "holds no unencrypted private key in PEM; name one (openssl pkey -in OLD -out NEW decrypts a key)");
        return None;
    };
    Some((chain?, key))
}

/// The contents of the file that a key names.
fn pem(key: &str, path: Option<&str>, findings: &mut WebFindings) -> Option<Vec<u8>> {
    let key = format!("tls_server_config.{key}");
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        findings.error(&key, "is missing; name a PEM file");
        return None;
    };
    let path = findings.beside(path);
    findings.read(&path, &key, |path| read_file::bytes(path).map_err(|why| why.or("name a PEM file")))
}

fn certificates(pem: &[u8], key: &str, findings: &mut WebFindings) -> Option<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    match read {
        Ok(certificates) if !certificates.is_empty() => Some(certificates),
        Ok(_) | Err(_) => {
            findings.error(&format!("tls_server_config.{key}"), "holds no certificate in PEM");
            None
        }
    }
}

/// The allowed versions, the newest first. After an error TLS 1.2 and 1.3.
fn versions(tls: &file::Tls, findings: &mut WebFindings) -> Vec<&'static SupportedProtocolVersion> {
    match tls.min_version.as_deref() {
        Some("TLS13") => return vec![&TLS13],
        None | Some("" | "TLS12") => {}
        Some(_) => {
            findings.error("tls_server_config.min_version", "no such version; write TLS12 or TLS13");
        }
    }
    vec![&TLS13, &TLS12]
}

/// Names the accepted keys that have no effect.
fn note_without_effect(tls: &file::Tls, findings: &mut WebFindings) {
    let given = [
        ("cipher_suites", tls.cipher_suites.is_some()),
        ("prefer_server_cipher_suites", tls.prefer_server_cipher_suites.is_some()),
        ("curve_preferences", tls.curve_preferences.is_some()),
    ];
    for (key, _) in given.iter().filter(|(_, is_given)| *is_given) {
        findings
            .note(format!("tls_server_config.{key}: has no effect; all suites and curves on offer are safe"));
    }
}

/// The `client_auth_type` that requires a certificate.
const REQUIRE: &str = "RequireAndVerifyClientCert";

/// Whether a certificate is required.
pub(super) fn requires_certificates(tls: &file::Tls) -> bool {
    tls.client_auth_type.as_deref() == Some(REQUIRE)
}

/// The verifier of client certificates; `None` if the configuration is wrong.
fn clients(
    tls: &file::Tls,
    provider: &CryptoProvider,
    findings: &mut WebFindings,
) -> Option<Arc<dyn ClientCertVerifier>> {
    const CA: &str = "client_ca_file";
    let path = tls.client_ca_file.as_deref().filter(|path| !path.is_empty());
    match (tls.client_auth_type.as_deref().unwrap_or_default(), path) {
        ("" | "NoClientCert", None) => return Some(WebPkiClientVerifier::no_client_auth()),
        (REQUIRE | "VerifyClientCertIfGiven", Some(_)) => {}
        _ => {
            let remedy = format!("write {REQUIRE} with {CA}, or remove both");
            findings.error("tls_server_config.client_auth_type", remedy);
            return None;
        }
    }
    let pem = pem(CA, path, findings)?;
    let key = format!("tls_server_config.{CA}");
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&pem, CA, findings)? {
        if let Err(error) = roots.add(certificate) {
            findings.error(&key, format!("holds a bad certificate: {error}"));
            return None;
        }
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider.clone()));
    let builder = if requires_certificates(tls) { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| findings.error(&key, error.to_string())).ok()
}
