//! The command line: defaults, every flag of `run`, and refused arguments.

use std::path::PathBuf;

use clap::{CommandFactory as _, Parser as _};

use crate::cli::{CONFIG_FILE, Cli, Command};
use crate::http::ListenAddress;
use crate::telemetry;
use tracing::level_filters::LevelFilter;

#[path = "../common/printed.rs"]
mod printed;

fn parse(args: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from([&["hostwatch"], args].concat())
}

#[test]
fn definitions_are_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn run_has_the_defaults_of_the_contract() {
    let Command::Run(run) = parse(&["run"]).unwrap().command else { panic!() };
    let addresses: Vec<String> = run.web.listen_addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["127.0.0.1:10245"]);
    assert_eq!(run.web.telemetry_path, "/metrics");
    assert!(!run.web.enable_lifecycle && !run.web.systemd_socket);
    assert_eq!(run.web.config_file, None);
    assert_eq!((run.log.level, run.log.format), (LevelFilter::INFO, telemetry::LogFormat::Logfmt));
    assert_eq!(run.config.file, PathBuf::from(CONFIG_FILE));
}

#[test]
fn every_flag_of_run() {
    let Command::Run(run) = parse(&[
        "run",
        "--config.file=x.toml",
        "--web.listen-address=[::1]:9000",
        "--web.listen-address",
        ":9001",
        "--web.telemetry-path=/probe/metrics",
        "--web.enable-lifecycle",
        "--web.config.file=web.yml",
        "--log.level=debug",
        "--log.format=json",
    ])
    .unwrap()
    .command
    else {
        panic!()
    };
    let addresses: Vec<String> = run.web.listen_addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["[::1]:9000", ":9001"]);
    assert_eq!((run.config.file, run.web.telemetry_path), ("x.toml".into(), "/probe/metrics".to_owned()));
    assert!(run.web.enable_lifecycle);
    assert_eq!(run.web.config_file, Some("web.yml".into()));
    assert_eq!((run.log.level, run.log.format), (LevelFilter::DEBUG, telemetry::LogFormat::Json));
}

#[test]
fn listen_addresses_as_the_exporter_toolkit_takes_them() {
    let table = [
        ("127.0.0.1:10245", "127.0.0.1", 10245),
        ("localhost:0", "localhost", 0),
        (":9100", "", 9100),
        ("0.0.0.0:9100", "0.0.0.0", 9100),
        ("[::]:9100", "::", 9100),
        ("[fe80::1]:9100", "fe80::1", 9100),
    ];
    for (text, host, port) in table {
        let address: ListenAddress = text.parse().unwrap();
        assert_eq!((address.host.as_str(), address.port), (host, port));
        assert_eq!(address.to_string(), text);
    }
    for bad in
        ["", "9100", "host", "host:", "host:+1", "host:70000", "::1:9100", "[::1:9100", "[x]:1", "a b:1"]
    {
        assert!(bad.parse::<ListenAddress>().is_err(), "{bad}");
    }
}

#[test]
fn usage_errors_exit_with_2() {
    let table: [&[&str]; 16] = [
        &["rehearse", "--days=-1"],
        &["status", "--color=loud"],
        &["run", "--log.level=loud"],
        &["run", "--web.listen-address=nonsense"],
        &["run", "--web.telemetry-path=metrics"],
        &["run", "--web.telemetry-path=//metrics"],
        &["run", "--web.telemetry-path=/a//metrics"],
        &["run", "--web.systemd-socket", "--web.listen-address=:1"],
        &["run", "--web.telemetry-path=/a\r\nb"],
        &["why"],
        &["poll", "a", "b"],
        &["silence", "*"],
        &["silence", "--for=2h"],
        &["silence", "*", "--for=2h", "--list"],
        &["outbox", "retry"],
        &["outbox", "drop"],
    ];
    for args in table {
        assert_eq!(parse(args).unwrap_err().exit_code(), 2, "{args:?}");
    }
    for path in ["/", "/calendar.ics", "/sd/vms", "/incidents", "/-/ready"] {
        let refused = parse(&["run", &format!("--web.telemetry-path={path}")]).unwrap_err();
        assert_eq!(refused.exit_code(), 2, "{path}");
    }
    let refused = parse(&["demo", "--web.telemetry-path=/calendar.ics"]).unwrap_err().to_string();
    assert!(refused.contains("take another path, such as /metrics"), "{refused}");
    assert_eq!(parse(&["--version"]).unwrap_err().exit_code(), 0);
    assert!(parse(&["--version"]).unwrap_err().to_string().contains(env!("CARGO_PKG_VERSION")));
}

/// The words of a line, split as by a shell; without a comment.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut inside) = (Vec::new(), None, false);
    for c in line.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                if !inside {
                    words.push(String::new());
                    inside = true;
                }
            }
            None if c == '#' && !inside => break,
            None if c.is_whitespace() => inside = false,
            Some(_) | None => {
                if !inside {
                    words.push(String::new());
                    inside = true;
                }
                words.last_mut().unwrap().push(c);
            }
        }
    }
    words
}

#[test]
fn every_printed_command_line_is_valid() {
    let mut lines = printed::everywhere();
    for command in Cli::command().get_subcommands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        lines.extend(
            help.lines().map(str::trim).filter(|line| line.starts_with("hostwatch ")).map(str::to_owned),
        );
    }
    assert!(lines.len() > 80, "{lines:?}");
    let wrong: Vec<String> = lines
        .iter()
        .filter_map(|line| {
            let error = Cli::try_parse_from(words(line)).err()?;
            (error.exit_code() != 0).then(|| format!("{line}: {error}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
