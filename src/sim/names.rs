//! Names, addresses and secrets of the generated account. They are invented, and the same for the same seed.

use fastrand::Rng;

/// The names of the first VMs. The last one shows that names need not be Latin.
pub(super) const VMS: [&str; 7] =
    ["web-1", "web-2", "db-primary", "db-replica", "build-runner", "mail", "архив"];
/// The names of the first containers.
pub(super) const CONTAINERS: [&str; 3] = ["shop", "blogs", "internal"];
/// The names of the first sites.
pub(super) const SITES: [(&str, &str); 8] = [
    ("shop.example.com", "php"),
    ("api.example.com", "python"),
    ("blog.example.com", "php"),
    ("docs.example.com", "static"),
    ("chat.example.com", "nodejs"),
    ("crm.example.com", "ruby"),
    ("metrics.example.com", "exec"),
    ("пример.example.com", "asgi"),
];
const ROLES: [&str; 10] =
    ["web", "app", "db", "cache", "queue", "worker", "proxy", "search", "files", "stage"];

/// Name of VM number `n`.
pub(super) fn vm(n: usize) -> String {
    VMS.get(n).map_or_else(|| format!("{}-{n}", ROLES[n % ROLES.len()]), |s| (*s).to_owned())
}

/// Name of container number `n`.
pub(super) fn container(n: usize) -> String {
    CONTAINERS.get(n).map_or_else(|| format!("project-{n}"), |s| (*s).to_owned())
}

/// Name and engine of site number `n`.
pub(super) fn site(n: usize) -> (String, &'static str) {
    match SITES.get(n) {
        Some((name, engine)) => ((*name).to_owned(), engine),
        None => (format!("site{n}.example.net"), SITES[n % SITES.len()].1),
    }
}

/// The versions that each engine offers, the newest first. Section 4.3 does not show the allowed values.
pub(super) fn engine_versions(engine: &str) -> &'static [&'static str] {
    match engine {
        "php" => &["8.4", "8.3", "8.2", "7.4"],
        "python" | "asgi" => &["3.13", "3.12", "3.11"],
        "nodejs" => &["22", "20", "18"],
        "ruby" => &["3.4", "3.3"],
        _ => &["1"],
    }
}

/// A string identifier or secret of `length` lower-case letters and digits.
pub(super) fn token(rng: &mut Rng, length: usize) -> String {
    std::iter::repeat_with(|| char::from_digit(rng.u32(0..36), 36).unwrap_or('x')).take(length).collect()
}

/// The address of IP record `id`, from the ranges reserved for documentation and benchmarks.
pub(super) fn address(id: u64, version: i64) -> String {
    if version == 6 {
        return format!("2001:db8::{:x}:{:x}", id >> 16, id & 0xffff);
    }
    match id % 131_072 {
        n if n < 65_536 => format!("198.18.{}.{}", n / 256, n % 256),
        n => format!("198.19.{}.{}", (n - 65_536) / 256, n % 256),
    }
}

/// The fingerprint of a public key: sixteen byte pairs (section 2.6), the same for the same key. It only looks
/// like MD5, which would be one more dependency.
pub(super) fn fingerprint(pubkey: &str) -> String {
    let seed = pubkey.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut rng = Rng::with_seed(seed);
    std::iter::repeat_with(|| format!("{:02x}", rng.u8(..))).take(16).collect::<Vec<_>>().join(":")
}
