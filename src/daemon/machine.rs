//! The addresses of this machine. Other modules judge what they mean.

use std::io;
use std::net::IpAddr;

/// All addresses of all interfaces of this machine, including loopback. Blocks for well under a millisecond.
///
/// # Errors
/// If the system does not list them.
pub(crate) fn addresses() -> io::Result<Vec<IpAddr>> {
    let interfaces = if_addrs::get_if_addrs()?;
    Ok(interfaces.iter().map(if_addrs::Interface::ip).collect())
}

/// The same list; empty if the system does not give one.
pub(super) fn addresses_or_none() -> Vec<IpAddr> {
    addresses().unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot list the addresses of this machine; whether it is one of the watched VMs is not known");
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_there() {
        let addresses = addresses().unwrap();
        assert!(addresses.iter().any(IpAddr::is_loopback), "{addresses:?}");
    }
}
