//! A client in another language, written from the interface document alone, works with the simulator.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn a_client_in_another_language_manages_vms() {
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI has no python3");
        println!("skipped: there is no python3");
        return;
    }
    let mut simulator = Command::new(env!("CARGO_BIN_EXE_hostwatch"))
        .args(["simulate", "--listen-address=127.0.0.1:0", "--vms=30"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(simulator.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = lines
        .filter_map(|line| {
            line.split("address=").nth(1).map(|rest| rest.split(' ').next().unwrap().to_owned())
        })
        .next()
        .unwrap();
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sim/other_client/client.py");
    let output = Command::new("python3").arg(client).arg(format!("http://{address}")).output().unwrap();
    simulator.kill().unwrap();
    simulator.wait().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.trim() == "ok",
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
