//! Names that the exporter toolkit takes from Go's crypto/tls, and what rustls has for them.

use rustls::SupportedCipherSuite;
use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::{cipher_suite as suites, kx_group as groups};

use crate::model::nearest::nearest;

/// TLS versions.
pub(super) const VERSIONS: &[(&str, Version)] = &[
    ("TLS13", Version::Tls13),
    ("TLS12", Version::Tls12),
    ("TLS11", Version::Older),
    ("TLS10", Version::Older),
];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Version {
    /// Too old to be allowed.
    Older,
    Tls12,
    Tls13,
}

/// What a cipher suite's name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Suite {
    /// To be chosen for TLS 1.2.
    Tls12(SupportedCipherSuite),
    /// Of TLS 1.3, where all are on always, as in Go.
    Tls13,
    /// Known to Go and not offered here: without authenticated encryption.
    NotOffered,
}

pub(super) static SUITES: &[(&str, Suite)] = &[
    ("TLS_AES_128_GCM_SHA256", Suite::Tls13),
    ("TLS_AES_256_GCM_SHA384", Suite::Tls13),
    ("TLS_CHACHA20_POLY1305_SHA256", Suite::Tls13),
    (
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        Suite::Tls12(suites::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        Suite::Tls12(suites::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        Suite::Tls12(suites::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Suite::Tls12(suites::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256)),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", Suite::Tls12(suites::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384)),
    (
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        Suite::Tls12(suites::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
    ),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", Suite::NotOffered),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", Suite::NotOffered),
    ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", Suite::NotOffered),
    ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", Suite::NotOffered),
];

/// Key exchange. `None`: known to Go and not offered here.
pub(super) static CURVES: &[(&str, Option<&'static dyn SupportedKxGroup>)] = &[
    ("X25519", Some(groups::X25519)),
    ("CurveP256", Some(groups::SECP256R1)),
    ("CurveP384", Some(groups::SECP384R1)),
    ("CurveP521", None),
    ("X25519MLKEM768", Some(groups::X25519MLKEM768)),
];

/// How clients are asked for a certificate.
pub(super) const CLIENT_AUTH: &[(&str, ClientAuth)] = &[
    ("NoClientCert", ClientAuth { ask: false, require: false, verify: false }),
    ("RequestClientCert", ClientAuth { ask: true, require: false, verify: false }),
    ("RequireAnyClientCert", ClientAuth { ask: true, require: true, verify: false }),
    // An older name of the same.
    ("RequireClientCert", ClientAuth { ask: true, require: true, verify: false }),
    ("VerifyClientCertIfGiven", ClientAuth { ask: true, require: false, verify: true }),
    ("RequireAndVerifyClientCert", ClientAuth { ask: true, require: true, verify: true }),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ClientAuth {
    pub ask: bool,
    pub require: bool,
    pub verify: bool,
}

/// The value of a name; `Err` names the nearest known one.
pub(super) fn find<T: Copy>(name: &str, table: &[(&'static str, T)]) -> Result<T, &'static str> {
    let found = table.iter().find(|(known, _)| *known == name);
    let names = || table.iter().map(|(known, _)| *known).collect::<Vec<_>>();
    found.map(|&(_, value)| value).ok_or_else(|| nearest(name, &names()))
}
