//! A provider that attacks, against the real binary: every hostile answer at every endpoint, with the effect by
//! the contract (design, section 4). Memory stays below a stated limit, other collectors and accounts are not
//! affected, nothing panics, and the next good poll heals. The page for readers is docs/dev/judges.md.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod bodies;
#[path = "../common/mod.rs"]
mod common;
mod server;
mod slow;
mod victim;

use bodies::{Answer, Endpoint, bomb, deep, json, long, many, packed, raw, rows, streamed};
use common::tools::runs_all;
use victim::{Victim, complete, success, value};

/// The expected effect of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Want {
    /// The listing fails: success 0, and the known state stays.
    Fails,
    /// Read, with records left out and counted: success 1, complete 0, nothing removed.
    Rejects,
    /// Read, and counted as incomplete: success 1, complete 0.
    Short,
    /// Read whole; this field is absent and counted.
    Odd(&'static str),
    /// Read whole.
    Reads,
}
use Want::{Fails, Odd, Reads, Rejects, Short};

struct Case {
    name: &'static str,
    on: &'static [Endpoint],
    answer: fn(Endpoint) -> Answer,
    want: fn(Endpoint) -> Want,
}

const ALL: &[Endpoint] = &Endpoint::ALL;
const LISTS: &[Endpoint] = &Endpoint::LISTS;
const VMS: &[Endpoint] = &[Endpoint::Vms];
const REPORT: &[Endpoint] = &[Endpoint::ExpectedBalance];
const CHARGES: &[Endpoint] = &[Endpoint::Charges];
/// Deeper than any stack.
const DEEP: usize = 100_000;
const LONG: usize = 31 << 20;

/// A record like this among good ones.
fn one_more(endpoint: Endpoint, odd: &str) -> Answer {
    json(endpoint.page_of(&[endpoint.row("901", ""), odd.to_owned(), endpoint.row("902", "")]))
}

/// A record with an odd member; `%` marks the odd part.
fn member(endpoint: Endpoint, more: &str) -> String {
    endpoint.page_of(&[endpoint.row("901", more)])
}

/// These bytes in place of `%`.
fn bytes(page: &str, odd: &[u8]) -> Vec<u8> {
    let (before, behind) = page.split_once('%').unwrap();
    [before.as_bytes(), odd, behind.as_bytes()].concat()
}

/// A field that every record of this kind should have, and its name in the counts if anything reads it.
fn field(endpoint: Endpoint) -> (&'static str, Option<&'static str>) {
    match endpoint {
        Endpoint::Vms => ("name", Some("vm.name")),
        Endpoint::Containers => ("login", Some("container.login")),
        Endpoint::Sites => ("engine", Some("site.engine")),
        Endpoint::Databases => ("charset", None),
        Endpoint::Charges => ("description", None),
        Endpoint::ExpectedBalance => ("positive", Some("moment.positive")),
    }
}

fn in_field(endpoint: Endpoint, value: &str) -> String {
    member(endpoint, &format!(r#","{}":{value}"#, field(endpoint).0))
}

fn counted(endpoint: Endpoint) -> Want {
    field(endpoint).1.map_or(Reads, Odd)
}

/// An answer with this in its head.
fn head(lines: &str, body: &str) -> Answer {
    raw(format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{lines}\r\n{body}"))
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Not JSON, or none of a page's shape.
    Case { name: "lists 100,000 deep", on: ALL, answer: |_| deep("%", DEEP), want: |_| Fails },
    Case { name: "8 MiB of lists in lists", on: &[Endpoint::Vms, Endpoint::ExpectedBalance], answer: |_| streamed(|out| bodies::repeat(out, b"[", 8 << 20)), want: |_| Fails },
    Case { name: "objects 100,000 deep", on: ALL, answer: |_| json(format!("{}1{}", r#"{"a":"#.repeat(DEEP), "}".repeat(DEEP))), want: |_| Fails },
    Case { name: "a string of 31 MiB", on: ALL, answer: |_| long("%", LONG), want: |_| Fails },
    Case { name: "a number of 31 MiB", on: &[Endpoint::Vms, Endpoint::ExpectedBalance], answer: |_| streamed(|out| bodies::repeat(out, b"7", LONG)), want: |_| Fails },
    Case { name: "a name of a member of 31 MiB", on: ALL, answer: |_| long("{%:1}", LONG), want: |_| Fails },
    Case { name: "bytes that are no UTF-8", on: VMS, answer: |_| streamed(|out| bodies::repeat(out, b"\xff\xfe", LONG / 2)), want: |_| Fails },
    Case { name: "NUL bytes", on: VMS, answer: |_| streamed(|out| bodies::repeat(out, b"\0", LONG)), want: |_| Fails },
    Case { name: "nothing", on: ALL, answer: |_| json(""), want: |_| Fails },
    Case { name: "half a million members", on: VMS, answer: |_| streamed(|out| { out.write_all(b"{")?; for name in 0..500_000 { write!(out, "\"{name:x}\":1e999,")?; } out.write_all(b"\"x\":1}") }), want: |_| Fails },
    Case { name: "another 33 MiB", on: &[Endpoint::Vms, Endpoint::Charges], answer: |endpoint| many(endpoint, "                ", 2 << 20), want: |_| Fails },
    // Too many records.
    Case { name: "a page of a million rows", on: &[Endpoint::Vms, Endpoint::Databases], answer: |endpoint| rows(endpoint, 1_000_000), want: |_| Fails },
    Case { name: "15 million zeros for rows", on: VMS, answer: |endpoint| many(endpoint, "0", 15_000_000), want: |_| Fails },
    Case { name: "3 million empty rows", on: VMS, answer: |endpoint| many(endpoint, "{}", 3_000_000), want: |_| Fails },
    Case { name: "half a million odd rows", on: VMS, answer: |endpoint| many(endpoint, "\"\\ud800\"", 500_000), want: |_| Fails },
    Case { name: "a VM with 2 million addresses", on: VMS, answer: |endpoint| json(member(endpoint, &format!(r#","ips":[{}0]"#, "0,".repeat(2_000_000)))), want: |_| Odd("vm.ips") },
    Case { name: "a charge moment of 31 MiB", on: REPORT, answer: |endpoint| long(&member(endpoint, r#","x":%"#), LONG), want: |_| Fails },
    Case { name: "an error of 31 MiB", on: REPORT, answer: |_| long(r#"{"error":%}"#, LONG), want: |_| Fails },
    // Its words come into the log.
    Case { name: "an error of control characters", on: REPORT, answer: |_| json(r#"{"error":"x\r\n\u0000\u0007\u001b[31m\u202e\u2028ts=1"}"#), want: |_| Fails },
    Case { name: "a string where moments are due", on: REPORT, answer: |_| long(r#"{"charge_moments":%}"#, 1 << 19), want: |_| Fails },
    // One odd record among good ones.
    Case { name: "a row 100,000 deep", on: ALL, answer: |endpoint| deep(&endpoint.page_of(&[endpoint.row("901", ""), "%".into()]), DEEP), want: |_| Rejects },
    Case { name: "a row that is no object", on: ALL, answer: |endpoint| one_more(endpoint, "7"), want: |_| Rejects },
    Case { name: "a negative id", on: LISTS, answer: |endpoint| one_more(endpoint, &endpoint.row("-1", "")), want: |endpoint| if endpoint == Endpoint::Charges { Reads } else { Rejects } },
    Case { name: "an id past every integer", on: LISTS, answer: |endpoint| one_more(endpoint, &endpoint.row("18446744073709551616", "")), want: |endpoint| if endpoint == Endpoint::Charges { Reads } else { Rejects } },
    Case { name: "a decimal of 400 digits", on: &[Endpoint::Charges, Endpoint::ExpectedBalance], answer: |endpoint| one_more(endpoint, &endpoint.row("903", "").replace(r#""1""#, &"9".repeat(400))), want: |endpoint| if endpoint == Endpoint::ExpectedBalance { Odd("moment.amount") } else { Rejects } },
    Case { name: "a quoted decimal of 400 digits", on: &[Endpoint::Charges, Endpoint::ExpectedBalance], answer: |endpoint| one_more(endpoint, &endpoint.row("903", "").replace(r#""1""#, &format!(r#""0.{}e1""#, "3".repeat(400)))), want: |_| Reads },
    Case { name: "an amount of 1e999", on: &[Endpoint::Charges, Endpoint::ExpectedBalance], answer: |endpoint| one_more(endpoint, &endpoint.row("903", "").replace(r#""1""#, "1e999")), want: |endpoint| if endpoint == Endpoint::ExpectedBalance { Odd("moment.amount") } else { Rejects } },
    Case { name: "a moment in the year 99999", on: REPORT, answer: |endpoint| one_more(endpoint, &endpoint.row("903", "").replace("2026-12", "99999-12")), want: |_| Rejects },
    Case { name: "a moment in the year −1", on: REPORT, answer: |endpoint| one_more(endpoint, &endpoint.row("903", "").replace("2026-12", "-0001-12")), want: |_| Rejects },
    Case { name: "a charge in the year 99999", on: CHARGES, answer: |endpoint| one_more(endpoint, &endpoint.row("903", "").replace("2026-11", "99999-11")), want: |_| Rejects },
    Case { name: "a charge in the year −1", on: CHARGES, answer: |endpoint| one_more(endpoint, &endpoint.row("903", "").replace("2026-11", "-0001-11")), want: |_| Rejects },
    // One odd field.
    Case { name: "1e999 in a field", on: ALL, answer: |endpoint| json(in_field(endpoint, "1e999")), want: counted },
    Case { name: "NaN in a field", on: ALL, answer: |endpoint| json(in_field(endpoint, "NaN")), want: counted },
    Case { name: "a byte order mark", on: ALL, answer: |endpoint| json([b"\xef\xbb\xbf", member(endpoint, "").as_bytes()].concat()), want: |_| Reads },
    Case { name: "lists 100,000 deep in a field", on: ALL, answer: |endpoint| deep(&in_field(endpoint, "%"), DEEP), want: counted },
    Case { name: "a name of 31 MiB", on: LISTS, answer: |endpoint| long(&in_field(endpoint, "%"), LONG), want: counted },
    Case { name: "a created date in the year 99999", on: &[Endpoint::Containers], answer: |endpoint| json(member(endpoint, r#","created":"99999-12-31T23:59:59Z""#)), want: |_| Odd("container.created") },
    Case { name: "an updated date in the year −1", on: &[Endpoint::Sites], answer: |endpoint| json(member(endpoint, r#","updated":"-0001-01-01T00:00:00Z""#)), want: |_| Odd("site.updated") },
    Case { name: "a cut-off in the year 99999", on: REPORT, answer: |endpoint| json(endpoint.page_of(&[endpoint.row("9", "")]).replace(r#""edd":null"#, r#""edd":"99999-01-01T00:00:00""#)), want: |_| Odd("report.edd") },
    Case { name: "a cut-off in the year −1", on: REPORT, answer: |endpoint| json(endpoint.page_of(&[endpoint.row("9", "")]).replace(r#""edd":null"#, r#""edd":"-0001-01-01T00:00:00""#)), want: |_| Odd("report.edd") },
    Case { name: "a balance of 400 digits", on: REPORT, answer: |endpoint| json(endpoint.page_of(&[endpoint.row("9", "")]).replace(r#""expected_balance":"9""#, &format!(r#""expected_balance":"{}""#, "9".repeat(400)))), want: |_| Odd("report.expected_balance") },
    Case { name: "sizes past every integer", on: VMS, answer: |endpoint| json(member(endpoint, r#","memsize":340282366920938463463374607431768211456"#)), want: |_| Odd("vm.memsize") },
    Case { name: "half a letter in a name", on: LISTS, answer: |endpoint| json(in_field(endpoint, r#""\ud800""#)), want: |_| Reads },
    Case { name: "a name that is no UTF-8", on: LISTS, answer: |endpoint| json(bytes(&in_field(endpoint, "\"%\""), b"\xcf\xf0\xff")), want: |_| Reads },
    Case { name: "a NUL in a name, as no JSON has it", on: LISTS, answer: |endpoint| json(bytes(&in_field(endpoint, "\"%\""), b"\0")), want: |_| Reads },
    Case { name: "every member twice", on: ALL, answer: |endpoint| json(twice(endpoint)), want: |_| Reads },
    // Counts and pages.
    Case { name: "a huge count", on: &[Endpoint::Vms, Endpoint::Charges], answer: |endpoint| { let (before, behind) = endpoint.page(u64::MAX); json(before + &endpoint.row("901", "") + &behind) }, want: |_| Short },
    Case { name: "a huge count, and no rows", on: &[Endpoint::Containers, Endpoint::Sites, Endpoint::Databases], answer: |endpoint| { let (before, behind) = endpoint.page(u64::MAX); json(before + &behind) }, want: |_| Short },
    Case { name: "a negative count", on: &[Endpoint::Vms], answer: |endpoint| json(endpoint.page_of(&[endpoint.row("901", "")]).replace(":1,", ":-1,")), want: |_| Reads },
    // It names no page, so the second page is asked for, which is the first one again.
    Case { name: "a next of 31 MiB", on: VMS, answer: |endpoint| long(&endpoint.page_of(&[endpoint.row("901", "")]).replace(r#""next":null"#, r#""next":%"#).replace(":1,", ":2,"), LONG), want: |_| Short },
    // Compressed.
    Case { name: "64 GiB of blanks", on: ALL, answer: |_| bomb("", b' ', 64), want: |_| Fails },
    Case { name: "64 GiB of a string", on: ALL, answer: |_| bomb("{\"x\":\"", b'x', 64), want: |_| Fails },
    Case { name: "64 GiB of a name", on: ALL, answer: |endpoint| bomb(in_field(endpoint, "\"%").split('%').next().unwrap(), b'x', 64), want: |_| Fails },
    Case { name: "64 GiB of blanks between rows", on: ALL, answer: |endpoint| bomb(&endpoint.page(3).0, b' ', 64), want: |_| Fails },
    Case { name: "gzip within gzip", on: ALL, answer: |endpoint| packed(&endpoint.page_of(&[endpoint.row("901", "")]), "gzip", 2), want: |_| Fails },
    Case { name: "gzip within gzip, as said", on: ALL, answer: |endpoint| packed(&endpoint.page_of(&[endpoint.row("901", "")]), "gzip, gzip", 2), want: |_| Fails },
    Case { name: "not gzip though it says so", on: ALL, answer: |endpoint| packed(&endpoint.page_of(&[endpoint.row("901", "")]), "gzip", 0), want: |_| Fails },
    Case { name: "a packing nobody asked for", on: ALL, answer: |endpoint| packed(&endpoint.page_of(&[endpoint.row("901", "")]), "br", 1), want: |_| Fails },
    // Heads.
    Case { name: "a length too long", on: ALL, answer: |endpoint| head("Content-Length: 1000000\r\n", &member(endpoint, "")), want: |_| Fails },
    Case { name: "a length too short", on: ALL, answer: |endpoint| head("Content-Length: 10\r\n", &member(endpoint, "")), want: |_| Fails },
    Case { name: "a chunk shorter than it says", on: ALL, answer: |_| head("Transfer-Encoding: chunked\r\n", "ffff\r\n{}\r\n0\r\n\r\n"), want: |_| Fails },
    Case { name: "a chunk of 16 EiB", on: ALL, answer: |_| head("Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\n{}"), want: |_| Fails },
    Case { name: "a redirect to an address of 200 KiB", on: ALL, answer: |_| raw(format!("HTTP/1.1 302 Found\r\nLocation: http://x/{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "x".repeat(200 << 10))), want: |_| Fails },
];

/// Heads that are no answer. Each is asked for three times, so a poll takes some five seconds.
#[rustfmt::skip]
const HEADS: &[Case] = &[
    Case { name: "a length of 2^64", on: ALL, answer: |_| head("Content-Length: 18446744073709551616\r\n", "{}"), want: |_| Fails },
    Case { name: "two lengths", on: ALL, answer: |_| head("Content-Length: 2\r\nContent-Length: 3\r\n", "{} "), want: |_| Fails },
    Case { name: "a negative length", on: ALL, answer: |_| head("Content-Length: -1\r\n", "{}"), want: |_| Fails },
    Case { name: "a header of many GiB", on: ALL, answer: |_| endless("X: ", b"x"), want: |_| Fails },
    Case { name: "headers without end", on: ALL, answer: |_| endless("", b"X: y\r\n"), want: |_| Fails },
    Case { name: "a status line without end", on: ALL, answer: |_| std::sync::Arc::new(|_, out| { out.write_all(b"HTTP/1.1 200 ")?; bodies::repeat(out, b"x", 1 << 32) }), want: |_| Fails },
    Case { name: "no HTTP", on: ALL, answer: |_| raw("\0\u{1}\u{2}SSH-2.0-x\r\n".repeat(99)), want: |_| Fails },
];

fn endless(start: &'static str, piece: &'static [u8]) -> Answer {
    std::sync::Arc::new(move |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\n{start}")?;
        bodies::repeat(out, piece, 1 << 32)
    })
}

/// A page with records whose members come twice: first wrong, then right. The last one counts.
fn twice(endpoint: Endpoint) -> String {
    let page = endpoint.page_of(&[endpoint.row("901", ""), endpoint.row("902", "")]);
    let twice = |page: String, name: &str| page.replace(name, &format!("{name}\"x\",{name}"));
    if endpoint == Endpoint::ExpectedBalance {
        return twice(page, r#""amount":"#);
    }
    twice(twice(page, r#""id":"#), r#""total":"#)
}

#[test]
fn every_hostile_answer_at_every_endpoint() {
    // Every fourth case is a sample. Six daemons share them; on one the cases would wait for each other.
    let sample = if runs_all() { 1 } else { 4 };
    let share = |cases: &'static [Case], of: usize| {
        let tried = move |first| cases.iter().step_by(sample).skip(first).step_by(of);
        (0..of).map(move |first| tried(first).collect::<Vec<&Case>>())
    };
    let shares: Vec<Vec<&Case>> = share(HEADS, 2).chain(share(CASES, 4)).collect();
    common::each(&shares, |share| share[0].name.into(), |share| run(share));
}

#[test]
fn endless_answers_are_cut_off() {
    // The first one is a sample; the others take gigabytes.
    let tests = if runs_all() { slow::TESTS } else { &slow::TESTS[..1] };
    common::each(tests, |(name, _)| (*name).to_owned(), |(_, test)| test());
}

fn run(cases: &[&Case]) {
    let victim = Victim::start();
    victim.peak_mib();
    let mut failed = Vec::new();
    for case in cases {
        let began = std::time::Instant::now();
        for phase in phases(case) {
            let attempt = std::panic::AssertUnwindSafe(|| one(&victim, case, &phase));
            if std::panic::catch_unwind(attempt).is_err() {
                failed.push(case.name);
            }
            victim.hostile.relent();
            victim.recovers();
        }
        println!("{} took {:?}", case.name, began.elapsed());
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The endpoints that are attacked together. If the answer is accepted, listings that follow from it are not
/// attacked with it, since other containers have other sites, and those other databases.
fn phases(case: &Case) -> Vec<Vec<Endpoint>> {
    if case.on.iter().all(|&endpoint| (case.want)(endpoint) == Fails) {
        return vec![case.on.to_vec()];
    }
    let follows = |endpoint: &Endpoint| endpoint.is_below();
    let (below, first): (Vec<Endpoint>, Vec<Endpoint>) = case.on.iter().copied().partition(follows);
    let mut phases: Vec<Vec<Endpoint>> = below.into_iter().map(|endpoint| vec![endpoint]).collect();
    phases.push(first);
    phases.retain(|phase| !phase.is_empty());
    phases
}

fn one(victim: &Victim, case: &Case, on: &[Endpoint]) {
    let rejected = |endpoint: Endpoint| {
        format!("hostwatch_records_rejected_total{{account=\"main\",collector=\"{}\"}}", endpoint.collector())
    };
    let odd = |field| format!("hostwatch_unknown_values_total{{account=\"main\",field=\"{field}\"}}");
    let before = victim.daemon.page();
    for &endpoint in on {
        victim.hostile.attack(endpoint, (case.answer)(endpoint));
    }
    for &endpoint in on {
        let want = (case.want)(endpoint);
        match want {
            Fails => victim.waits(&success("main", endpoint, 0)),
            Rejects => {
                // "Short" alone may also come from a sweep with listings that were attacked before.
                victim.rises(&rejected(endpoint), value(&before, &rejected(endpoint)));
                victim.waits(&complete("main", endpoint, 0));
            }
            Short => victim.waits(&complete("main", endpoint, 0)),
            Odd(field) => victim.rises(&odd(field), value(&before, &odd(field))),
            // The poll with the answer has ended when the next one is under attack.
            Reads => victim.attacked_twice(endpoint),
        }
        let page = victim.daemon.page();
        if want != Fails {
            let read = page.contains(&success("main", endpoint, 1));
            assert!(read, "{}: {endpoint:?} is read", case.name);
        }
        if matches!(want, Odd(_) | Reads) {
            let whole = page.contains(&complete("main", endpoint, 1));
            assert!(whole, "{}: {endpoint:?} is read whole", case.name);
        }
        let left_out = value(&page, &rejected(endpoint)) - value(&before, &rejected(endpoint));
        assert_eq!(left_out > 0, want == Rejects, "{}: {left_out} records of {endpoint:?}", case.name);
    }
    let fails = on.iter().all(|endpoint| matches!((case.want)(*endpoint), Fails | Short));
    if fails {
        let page = victim.daemon.page();
        let lost = victim.lost(&page);
        assert!(lost.is_empty(), "{}: what was known stays: {lost:#?}", case.name);
    }
    victim.survived(case.name, on);
}
