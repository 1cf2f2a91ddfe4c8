//! Answers and listings that do not end. All run at the same time, since most of them wait.

use std::sync::Arc;
use std::time::Duration;

use super::bodies::{Answer, Endpoint, dripping, many, rows, streamed};
use super::runs_all;
use super::victim::{Victim, success};

/// The tests by name.
pub const TESTS: &[(&str, fn())] = &[
    ("answers that trickle end in time", answers_that_trickle_end_in_time),
    ("a poll takes so much memory", a_poll_takes_so_much_memory_and_no_more),
    (
        "a report has so many moments and orders",
        a_report_has_at_most_two_million_moments_and_128_mib_of_orders,
    ),
    ("a quarter of a million VMs are believed", a_quarter_of_a_million_vms_are_believed),
];

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const PAUSE: Duration = Duration::from_millis(200);

fn answers_that_trickle_end_in_time() {
    let haste = if runs_all() { 1 } else { 3 };
    let victim = Victim::start_hasty(haste);
    let chunked = format!("{OK}Transfer-Encoding: chunked\r\n\r\n");
    let attacks = [
        // A chunk at a time.
        (Endpoint::Vms, dripping(&format!("{chunked}c\r\n{{\"results\":[\r\n"), "1\r\n \r\n", PAUSE)),
        // No chunk ends.
        (Endpoint::Charges, dripping(&format!("{chunked}1;x="), "x", PAUSE)),
        (Endpoint::ExpectedBalance, dripping(&format!("{OK}\r\n{{\"charge_moments\":["), " ", PAUSE)),
        // Always the promise of an answer, and never one.
        (
            Endpoint::Containers,
            dripping("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", Duration::ZERO),
        ),
        (Endpoint::Sites, dripping(OK, "X: y\r\n", PAUSE)),
        (Endpoint::Databases, dripping("", "", PAUSE)),
    ];
    victim.peak_mib();
    let attacked = attacks.clone().map(|(endpoint, _)| endpoint);
    for (endpoint, answer) in attacks {
        victim.hostile.attack(endpoint, answer);
    }
    for endpoint in attacked {
        victim.waits(&success("main", endpoint, 0));
    }
    victim.survived("trickle", &attacked);
    victim.tells(&[&format!("no complete answer within {} s", 30 / haste)]);
    victim.hostile.relent();
    victim.is_well(&attacked);
}

/// Pages of names of the maximum length, and always another page.
fn heavy(endpoint: Endpoint) -> Answer {
    Arc::new(move |request, out| {
        let number = |name: &str| request.query.split('&').find_map(|pair| pair.strip_prefix(name));
        let at: u64 = number("page=").unwrap_or("0").parse().unwrap();
        let next = format!("\"next\":\"http://{}{}?page={}\"", request.host, request.path, at + 1);
        let more = format!(",\"name\":\"{0}\",\"vm_id\":\"{0}\",\"type\":\"{0}\"", "x".repeat(4096));
        let rows: Vec<String> =
            (0..1000).map(|row| endpoint.row(&(at * 1000 + row).to_string(), &more)).collect();
        let body = endpoint.page_of(&rows).replace("\"next\":null", &next);
        write!(out, "{OK}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    })
}

fn a_poll_takes_so_much_memory_and_no_more() {
    let victim = Victim::start();
    victim.peak_mib();
    victim.hostile.attack(Endpoint::Vms, heavy(Endpoint::Vms));
    victim.waits(&success("main", Endpoint::Vms, 0));
    victim.tells(&["more than 134217728 bytes of records"]);
    victim.survived("heavy pages", &[Endpoint::Vms]);
    victim.hostile.relent();
    victim.is_well(&[Endpoint::Vms]);
}

/// Different orders with a long comment each, 400 MiB together.
fn orders(endpoint: Endpoint) -> Answer {
    let (before, _) = endpoint.page(1);
    streamed(move |out| {
        out.write_all(before.as_bytes())?;
        let comment = format!(r#","state":"ORDERED","comment":"{}"}}"#, "x".repeat(4000));
        (0..100_000).try_for_each(|id: u32| {
            let row = endpoint.row(&id.to_string(), "").replace(r#","state":"ORDERED"}"#, &comment);
            write!(out, "{row},")
        })
    })
}

fn a_report_has_at_most_two_million_moments_and_128_mib_of_orders() {
    let victim = Victim::start();
    let report = Endpoint::ExpectedBalance;
    let attacks = [
        ("more than 2000000 charge moments", many(report, "0", 2_000_001)),
        ("more than 134217728 bytes of orders", orders(report)),
    ];
    for (words, answer) in attacks {
        victim.peak_mib();
        victim.hostile.attack(report, answer);
        victim.waits(&success("main", report, 0));
        // A machine with other work may need longer for it than a request may take.
        victim.tells(&["no complete answer", words]);
        victim.survived(words, &[report]);
        victim.hostile.relent();
        victim.is_well(&[report]);
    }
}

fn a_quarter_of_a_million_vms_are_believed() {
    let victim = Victim::start();
    victim.peak_mib();
    victim.hostile.attack(Endpoint::Vms, rows(Endpoint::Vms, 250_000));
    victim.waits("hosting_vms{account=\"main\",state=\"active\"} 250000");
    victim.attacked_twice(Endpoint::Vms);
    victim.survived("a quarter of a million VMs", &[]);
    victim.hostile.relent();
    victim.waits("hosting_vms{account=\"main\",state=\"active\"} 4");
    victim.is_well(&[Endpoint::Vms]);
}
