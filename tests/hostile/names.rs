//! Names with something in them, through everything that shows them: metrics, page, JSON, mails, terminal, log.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::bodies::{Endpoint, json};
use super::common::{received, until, wait_for};
use super::exposition;
use super::tools;
use super::victim::Victim;

/// Quotes, ends of lines, headers, markup, escape sequences, what turns the direction of writing or is not
/// seen, and what a template or a page of metrics could take for its own.
const NAME: &str = "evil\"a\\b'\r\nBcc: x@example.org\r\n\r\n<script>alert(1)</script>&lt;b onmouseover=\"x\">\
    \0\u{7}\u{1b}[31m\u{1b}]0;x\u{7}\u{85}\u{9b}2J\u{202e}gpj.exe\u{2066}\u{200f}\u{feff}\u{2028}\u{e0041}\
    {{7*7}}{% x %}]]>\n# HELP x y\nhosting_vms{state=\"x\"} 7\n";
const STATE: &str = "odd\"\\\n<i>\0\u{1b}[31m\u{202e}x";

/// May be seen, and does what it looks like.
fn is_plain(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let unseen = matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    c == '\n' || (!c.is_control() && !turns && !unseen)
}

fn assert_plain(what: &str, text: &str) {
    let odd: Vec<String> = text
        .lines()
        .filter(|line| !line.chars().all(is_plain))
        .map(|line| {
            let odd = line.chars().position(|c| !is_plain(c)).unwrap();
            format!("{:?}", line.chars().skip(odd.saturating_sub(40)).take(200).collect::<String>())
        })
        .collect();
    assert!(odd.is_empty(), "{what}: {odd:#?}");
}

fn attack(victim: &Victim, edd: &str) {
    let name = serde_json::to_string(NAME).unwrap();
    let state = serde_json::to_string(STATE).unwrap();
    let row = |endpoint: Endpoint, more: &str| endpoint.row("901", &more.replace('$', &name));
    let vms = [
        row(Endpoint::Vms, r#","name":$,"vm_id":$,"type":$"#).replace("\"active\"", "\"error\""),
        row(Endpoint::Vms, r#","name":$"#).replace("901", "902").replace("\"active\"", &state),
    ];
    victim.hostile.attack(Endpoint::Vms, json(Endpoint::Vms.page_of(&vms)));
    let site = row(Endpoint::Sites, r#","name":$,"engine":$,"engine_version":$"#);
    let sites =
        [site.replace("\"Active\"", "\"Error\""), site.replace("901", "902").replace("\"Active\"", &state)];
    victim.hostile.attack(Endpoint::Sites, json(Endpoint::Sites.page_of(&sites)));
    let named = r#","login":$,"name":$,"service_address":$"#;
    let containers: Vec<String> = exposition::parse(&victim.daemon.page())
        .iter()
        .filter(|one| one.name == "hosting_container_info" && one.labels["account"] == "main")
        .map(|one| row(Endpoint::Containers, named).replace("901", &one.labels["container"]))
        .collect();
    victim.hostile.attack(Endpoint::Containers, json(Endpoint::Containers.page_of(&containers)));
    let charge = row(Endpoint::Charges, r#","description":$"#);
    victim.hostile.attack(Endpoint::Charges, json(Endpoint::Charges.page_of(&[charge])));
    let databases = Endpoint::Databases.page_of(&[row(Endpoint::Databases, r#","charset":$"#)]);
    victim.hostile.attack(Endpoint::Databases, json(databases));
    // Comment and tariff of the order that costs most, in a mail about the cut-off.
    let order = format!(
        r#"{{"id":7,"state":"ORDERED","comment":{name},"tariff":{{"id":1,"amount":"9","name":{name},"short_name":{name},"type":{name},"generic_type":{name},"billing_period":[1,{name}],"charge_period":[1,"day"]}}}}"#
    );
    let moment = |balance: &str, order: &str| {
        format!(
            r#"{{"amount":"9","balance":"{balance}","moment":"{edd}T00:00:00","positive":false,"order":{order}}}"#
        )
    };
    let odd_order = order.replace("ORDERED\"", &state[1..]).replace("\"id\":7", "\"id\":8");
    let report = Endpoint::ExpectedBalance.page_of(&[moment("1", &order), moment("-8", &odd_order)]);
    let report = report.replace("\"edd\":null", &format!("\"edd\":\"{edd}\""));
    victim.hostile.attack(Endpoint::ExpectedBalance, json(report));
}

#[test]
fn names_change_no_format_and_no_meaning() {
    let victim = Victim::start("");
    let edd = (crate::common::now() + chrono::Duration::days(2)).format("%Y-%m-%d").to_string();
    attack(&victim, &edd);
    wait_for(&victim.smtp, "main/vm_error/901 opened");
    wait_for(&victim.smtp, "main/site_error/901 opened");
    let disconnect =
        || received(&victim.smtp).into_iter().any(|mail| mail.pairs[0].starts_with("main/disconnect/"));
    until("a mail of the cut-off", disconnect);
    let unknown = |line: &str| line.contains("kind=\"unknown_state\"") && !line.ends_with(" 0");
    until("an unknown state", || victim.daemon.page().lines().any(unknown));

    metrics(&victim);
    status_page(&victim);
    mails(&victim);
    let name = NAME.replace('\0', "\u{fffd}");
    assert_ne!(name, NAME, "metrics have something in the place of a NUL");
    for command in
        [&["status"][..], &["incidents"], &["outbox"], &["forecast"], &["why", "main/vm_error/901"]]
    {
        let (_, out, err) = victim.daemon.command(command);
        assert!(!out.is_empty(), "{command:?} {err}");
        assert_plain(&format!("{command:?}"), &out);
        assert_plain(&format!("{command:?}"), &err);
        if matches!(command, ["status" | "forecast"]) {
            let (_, out, _) = victim.daemon.command(&[command, &["--json"]].concat());
            serde_json::from_str::<serde_json::Value>(&out).unwrap();
            assert_plain(&format!("{command:?} --json"), &out);
        }
    }

    // An error of the provider's own words, into log, page and mail.
    let error = format!(r#"{{"error":{}}}"#, serde_json::to_string(NAME).unwrap());
    victim.hostile.attack(Endpoint::ExpectedBalance, json(error));
    victim.daemon.log.wait("the report carries an error");
    wait_for(&victim.smtp, "main/billing_report/account opened");
    status_page(&victim);
    mails(&victim);
    victim.survived("names", &Endpoint::ALL);
    victim.hostile.relent();
    victim.is_well(&Endpoint::ALL);
}

fn metrics(victim: &Victim) {
    let page = victim.daemon.page();
    let series = exposition::parse(&page);
    let label = |family: &str, label: &str| {
        let of = series.iter().filter(|one| one.name == family && one.labels["account"] == "main");
        let found: Vec<&str> = of.filter_map(|one| one.labels.get(label)).map(String::as_str).collect();
        assert!(!found.is_empty(), "{family} {label}");
        found.join("|")
    };
    let name = NAME.replace('\0', "\u{fffd}");
    for (family, of) in [
        ("hosting_vm_info", &["name", "vm_id", "tariff"][..]),
        ("hosting_site_info", &["name", "engine", "engine_version"]),
        ("hosting_container_info", &["login", "name", "server"]),
        ("hosting_billing_order_info", &["comment", "tariff", "generic_type"]),
    ] {
        for one in of {
            let value = label(family, one);
            assert!(value.contains(&name), "{family} {one}: {value:?}");
        }
    }
    assert!(label("hosting_vm_state", "state").contains(&STATE.replace('\0', "\u{fffd}")));
    if tools::run("promtool", &["--version"]).is_some() {
        let mut promtool =
            Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn().unwrap();
        // It would have seconds for days, whatever anything is called.
        let lines = page.lines().filter(|line| !line.contains("hosting_billing_lead_days"));
        let page: String = lines.map(|line| format!("{line}\n")).collect();
        promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
        assert!(promtool.wait().unwrap().success());
    }
}

fn status_page(victim: &Victim) {
    let (status, page) = victim.daemon.request("GET", "/?account=main&show=fine&show=orders");
    assert_eq!(status, 200);
    assert_plain("the page", &page);
    for markup in ["<script", "<b onmouseover", "<i>"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(page.contains("&#60;script&#62;alert(1)"), "it is shown all the same");
    let (status, text) = victim.daemon.request("GET", "/api/v1/status?account=main");
    assert_eq!(status, 200);
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
}

fn mails(victim: &Victim) {
    for mail in received(&victim.smtp) {
        let raw = String::from_utf8(mail.raw.clone()).unwrap();
        assert!(raw.replace("\r\n", "").chars().all(|c| c == '\t' || matches!(c, ' '..='~')), "{raw:?}");
        let (head, _) = raw.split_once("\r\n\r\n").unwrap();
        for line in head.split("\r\n").filter(|line| !line.starts_with([' ', '\t'])) {
            let name = line.split(':').next().unwrap();
            let known = [
                "From",
                "To",
                "Subject",
                "Date",
                "Message-ID",
                "MIME-Version",
                "Content-Type",
                "Auto-Submitted",
                "X-Auto-Response-Suppress",
                "List-Id",
                "X-Hostwatch-Incident",
                "X-Hostwatch-Event",
                "In-Reply-To",
                "References",
                "X-Priority",
                "Importance",
            ];
            assert!(known.contains(&name), "{line:?}");
        }
        for text in [&mail.subject, &mail.text.replace('\r', ""), &mail.html.replace('\r', "")] {
            assert_plain(&mail.subject, text);
        }
        for pair in &mail.pairs {
            assert!(pair.chars().all(is_plain) && !pair.contains('\n'), "{pair:?}");
        }
        assert!(!mail.subject.contains('\n'), "{:?}", mail.subject);
        for markup in ["<script", "<b onmouseover", "<i>"] {
            assert!(!mail.html.contains(markup), "{markup} in {}", mail.html);
        }
    }
}
