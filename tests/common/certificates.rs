//! A certificate authority for a test.
//!
//! Used with `#[path = "support/certificates.rs"] mod certificates;`.
#![allow(clippy::unwrap_used, dead_code, reason = "of tests, each of which uses a part of it")]

use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;

/// A certificate and its key; both have a `pem` form.
pub struct Issued {
    pub certificate: Certificate,
    pub key: KeyPair,
}

/// Signs certificates.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        Self { issuer: CertifiedIssuer::self_signed(params, key).unwrap() }
    }

    /// Its own certificate, as a file for clients that trust it.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for these names and addresses, of a server or a client.
    pub fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Issued {
        let names = names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued { certificate, key }
    }

    /// A server with a certificate for these names and addresses.
    pub fn server(&self, names: &[&str]) -> Arc<rustls::ServerConfig> {
        self.server_with(names, |_| {})
    }

    /// The same with a changed certificate.
    pub fn server_with(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Arc<rustls::ServerConfig> {
        let Issued { certificate, key } = self.issue(names, change);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            );
        Arc::new(config.unwrap())
    }
}
