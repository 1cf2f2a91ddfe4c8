//! The names that the exporter toolkit takes from Go's crypto/tls: versions, and ways to ask for a client's
//! certificate.

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

/// Ways to ask for a client's certificate.
pub(super) const CLIENT_AUTH: &[(&str, ClientAuth)] = &[
    ("NoClientCert", ClientAuth { ask: false, require: false, verify: false }),
    ("RequestClientCert", ClientAuth { ask: true, require: false, verify: false }),
    ("RequireAnyClientCert", ClientAuth { ask: true, require: true, verify: false }),
    // An older name of the same way.
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

/// The value of a name; `Err` holds the nearest known name.
pub(super) fn find<T: Copy>(name: &str, table: &[(&'static str, T)]) -> Result<T, &'static str> {
    let found = table.iter().find(|(known, _)| *known == name);
    let names = || table.iter().map(|(known, _)| *known).collect::<Vec<_>>();
    found.map(|&(_, value)| value).ok_or_else(|| nearest(name, &names()))
}
