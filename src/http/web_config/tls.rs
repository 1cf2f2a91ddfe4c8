//! Converts `tls_server_config` to a rustls configuration: certificate, versions, client certificates.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use secrecy::ExposeSecret as _;

use super::clients::Clients;
use super::file;
use super::findings::WebFindings;
use super::names::{self, Version};

/// The TLS configuration; `None` if TLS is off or the configuration is wrong.
pub(super) fn read(tls: &file::Tls, findings: &mut WebFindings) -> Option<Arc<ServerConfig>> {
    let versions = versions(tls, findings);
    let provider = ring::default_provider();
    note_without_effect(tls, findings);
    let clients = clients(tls, &provider, findings);
    let pair = pair(tls, findings);
    let (chain, key) = pair?;
    let failed = |error: rustls::Error, findings: &mut WebFindings| {
        findings.error("tls_server_config", format!("cannot be used: {error}"));
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(provider)).with_protocol_versions(&versions);
    let builder = builder.map_err(|error| failed(error, findings)).ok()?;
    let config = match clients? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let config = config.with_single_cert(chain, key);
    let mut config = config.map_err(|error| failed(error, findings)).ok()?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Some(Arc::new(config))
}

/// The certificates, and the key of the first one.
fn pair(
    tls: &file::Tls,
    findings: &mut WebFindings,
) -> Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let inline_key = tls.key.as_ref().map(|key| key.expose_secret());
    if [&tls.cert, &tls.cert_file].into_iter().flatten().all(String::is_empty)
        && inline_key.unwrap_or_default().is_empty()
        && tls.key_file.as_deref().unwrap_or_default().is_empty()
    {
        // The toolkit takes this for a server without TLS. Nobody who writes the table means that.
        findings.error("tls_server_config", "names no certificate; add cert_file and key_file");
        return None;
    }
    let chain = pem("cert", tls.cert.as_deref(), tls.cert_file.as_deref(), findings);
    let key = pem("key", inline_key, tls.key_file.as_deref(), findings);
    let chain = chain.and_then(|pem| certificates(&pem, "cert", findings));
    let key = key?;
    let Ok(key) = PrivateKeyDer::from_pem_slice(&key) else {
        findings.error("tls_server_config.key_file", "holds no unencrypted private key in PEM");
        return None;
    };
    Some((chain?, key))
}

/// The contents of a key, or of the file that it names. One of the two must be given.
fn pem(name: &str, inline: Option<&str>, path: Option<&str>, findings: &mut WebFindings) -> Option<Vec<u8>> {
    let key = format!("tls_server_config.{name}_file");
    match (inline.filter(|text| !text.is_empty()), path.filter(|path| !path.is_empty())) {
        (Some(_), Some(_)) => {
            findings.error(&key, format!("is there beside {name}; keep one of the two"));
            None
        }
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(path)) => {
            let path = findings.beside(path);
            findings.bytes(&path, &key)
        }
        (None, None) => {
            findings.error(&key, "is missing; name a PEM file");
            None
        }
    }
}

fn certificates(pem: &[u8], name: &str, findings: &mut WebFindings) -> Option<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    match read {
        Ok(certificates) if !certificates.is_empty() => Some(certificates),
        Ok(_) | Err(_) => {
            findings.error(&format!("tls_server_config.{name}_file"), "holds no certificate in PEM");
            None
        }
    }
}

/// The allowed versions, the newest first. After an error TLS 1.2 and 1.3.
fn versions(tls: &file::Tls, findings: &mut WebFindings) -> Vec<&'static SupportedProtocolVersion> {
    let mut read = |key: &str, name: Option<&str>, default: Version| {
        let found = names::find(name.filter(|name| !name.is_empty())?, names::VERSIONS);
        let key = format!("tls_server_config.{key}");
        let version = found
            .map_err(|near| findings.error(&key, format!("no such version; did you mean {near}?")))
            .unwrap_or(default);
        Some((key, version))
    };
    let least = read("min_version", tls.min_version.as_deref(), Version::Tls12);
    let most = read("max_version", tls.max_version.as_deref(), Version::Tls13);
    if let Some((key, Version::Older)) = &least {
        findings.note(format!("{key}: TLS before 1.2 is not spoken; taken as TLS12"));
    }
    let least = least.map_or(Version::Tls12, |(_, version)| version.max(Version::Tls12));
    let most = match most {
        Some((key, version)) if version < least => {
            findings.error(&key, "leaves no version; write TLS13, or remove it");
            Version::Tls13
        }
        Some((_, version)) => version,
        None => Version::Tls13,
    };
    let known = [(Version::Tls13, &TLS13), (Version::Tls12, &TLS12)];
    known.into_iter().filter(|(one, _)| (least..=most).contains(one)).map(|(_, version)| version).collect()
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

/// Whether a certificate is required.
pub(super) fn requires_certificates(tls: &file::Tls) -> bool {
    let auth = tls.client_auth_type.as_deref().and_then(|name| names::find(name, names::CLIENT_AUTH).ok());
    auth.is_some_and(|auth| auth.require)
}

/// The verifier of client certificates. `Some(None)` for none, `None` if the configuration is wrong.
fn clients(
    tls: &file::Tls,
    provider: &CryptoProvider,
    findings: &mut WebFindings,
) -> Option<Option<Arc<dyn ClientCertVerifier>>> {
    const KEY: &str = "tls_server_config.client_auth_type";
    let name = tls.client_auth_type.as_deref().filter(|name| !name.is_empty()).unwrap_or("NoClientCert");
    let auth = names::find(name, names::CLIENT_AUTH);
    let auth =
        auth.map_err(|near| findings.error(KEY, format!("no such type; did you mean {near}?"))).ok()?;
    let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let has_ca = given(&tls.client_ca) || given(&tls.client_ca_file);
    if has_ca && !auth.ask {
        findings.error(KEY, "a client CA is named and no client is asked; write RequireAndVerifyClientCert");
        return None;
    }
    if tls.client_allowed_sans.is_some() && !auth.require {
        findings.error(KEY, "client_allowed_sans needs RequireAndVerifyClientCert or RequireAnyClientCert");
        return None;
    }
    if tls.client_allowed_sans.as_ref().is_some_and(Vec::is_empty) {
        findings.error("tls_server_config.client_allowed_sans", "is empty; name somebody, or remove it");
        return None;
    }
    if !auth.ask {
        return Some(None);
    }
    let mut issued = None;
    if auth.verify {
        let pem = pem("client_ca", tls.client_ca.as_deref(), tls.client_ca_file.as_deref(), findings)?;
        issued = Some(authority(&pem, provider, findings)?);
    } else {
        findings
            .note(format!("{KEY}: {name} takes any certificate; only RequireAndVerifyClientCert is secure"));
    }
    let allowed = tls.client_allowed_sans.clone().unwrap_or_default();
    let algorithms = provider.signature_verification_algorithms;
    Some(Some(Arc::new(Clients { issued, required: auth.require, allowed, algorithms })))
}

/// Checks that a certificate was issued by one of these.
fn authority(
    pem: &[u8],
    provider: &CryptoProvider,
    findings: &mut WebFindings,
) -> Option<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem, "client_ca", findings)? {
        if let Err(error) = roots.add(certificate) {
            findings.error("tls_server_config.client_ca_file", format!("holds a bad certificate: {error}"));
            return None;
        }
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider.clone()));
    let built = builder.build().map_err(|error| error.to_string());
    let failed = |error| findings.error("tls_server_config.client_ca_file", error);
    built.map_err(failed).ok()
}
