//! This machine: its addresses and its names. Other modules judge what they mean.

use std::net::IpAddr;
use std::{fs, io};

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

/// The names of this machine, from the kernel and from `/etc/hosts`. Empty if neither can be read.
pub(super) fn names() -> Vec<String> {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    names_of(&text("/proc/sys/kernel/hostname"), &text("/etc/hosts"))
}

fn names_of(kernel: &str, hosts: &str) -> Vec<String> {
    let whole = kernel.trim();
    if whole.is_empty() {
        return Vec::new();
    }
    let short = whole.split('.').next().unwrap_or(whole);
    let mut names = vec![whole.to_owned(), short.to_owned()];
    for line in hosts.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let of_line: Vec<&str> = line.split_whitespace().skip(1).collect();
        if of_line.iter().any(|name| [whole, short].iter().any(|own| own.eq_ignore_ascii_case(name))) {
            names.extend(of_line.iter().map(ToString::to_string));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_there() {
        let addresses = addresses().unwrap();
        assert!(addresses.iter().any(IpAddr::is_loopback), "{addresses:?}");
    }

    #[test]
    fn the_full_name_stands_beside_the_short_one() {
        let hosts = "127.0.0.1 localhost\n127.0.1.1\tBox.example.org box # not nearby\n192.0.2.1 nearby\n";
        assert_eq!(names_of("box\n", hosts), ["box", "box", "Box.example.org", "box"]);
        assert_eq!(names_of("box.example.org", ""), ["box.example.org", "box"]);
        assert!(names_of("", hosts).is_empty());
    }
}
