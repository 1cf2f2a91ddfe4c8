//! The names of this machine: as the kernel has it, and as `/etc/hosts` says beside that.

use std::fs;

/// None where neither can be read.
pub(super) fn read() -> Vec<String> {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    names(&text("/proc/sys/kernel/hostname"), &text("/etc/hosts"))
}

fn names(kernel: &str, hosts: &str) -> Vec<String> {
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
    fn the_full_name_stands_beside_the_short_one() {
        let hosts = "127.0.0.1 localhost\n127.0.1.1\tBox.example.org box # not nearby\n192.0.2.1 nearby\n";
        assert_eq!(names("box\n", hosts), ["box", "box", "Box.example.org", "box"]);
        assert_eq!(names("box.example.org", ""), ["box.example.org", "box"]);
        assert!(names("", hosts).is_empty());
    }
}
