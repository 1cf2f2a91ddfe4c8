//! The addresses of this machine. Only lists them; what they mean is judged elsewhere.

use std::io;
use std::net::IpAddr;

/// Every address of every interface of this machine, loopback included. Blocks for well under a millisecond.
///
/// # Errors
/// Where the system does not list them.
pub(crate) fn of_this_machine() -> io::Result<Vec<IpAddr>> {
    let interfaces = if_addrs::get_if_addrs()?;
    Ok(interfaces.iter().map(if_addrs::Interface::ip).collect())
}

/// The same; none where the system does not list them.
pub(crate) fn or_none() -> Vec<IpAddr> {
    of_this_machine().unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot list the addresses of this machine; whether it is one of the watched VMs is not known");
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_there() {
        let addresses = of_this_machine().unwrap();
        assert!(addresses.iter().any(IpAddr::is_loopback), "{addresses:?}");
    }
}
