//! The two sides of the matrix: the faults and the collectors. rules.rs has the expected effects.

use std::collections::HashMap;
use std::sync::LazyLock;

use hostwatch_sim::{Args, Fault, FaultKind};

/// A collector, and the facts about its data that a test needs.
pub struct Place {
    /// The name in the schedule, or `sites`.
    pub collector: &'static str,
    pub group: &'static str,
    /// The beginning of its requests' paths.
    pub path: &'static str,
    pub paging: Paging,
    /// Whether there is a listing for each container or each site.
    pub is_child: bool,
    /// The number of listings a poll, in an account of usual size.
    pub listings: u32,
    /// The field without which a record is rejected.
    pub required: &'static str,
    /// A field that a record may lack: its name, and the `field` under which it is counted if anything reads
    /// it.
    pub optional: (&'static str, Option<&'static str>),
    /// The metric that shows the optional field.
    pub shows_optional: Option<&'static str>,
}

/// The division of the listing into pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paging {
    /// Each page has the address of the next.
    Next,
    /// By offset and limit.
    Offset,
    /// The listing comes as one page.
    Whole,
}

#[rustfmt::skip]
pub const PLACES: [Place; 9] = [
    Place { collector: "vms", group: "vm", path: "/api/cvds/v1/vms/", paging: Paging::Next, is_child: false, listings: 1,
        required: "id", optional: ("ncpu", Some("vm.ncpu")), shows_optional: Some("hosting_vm_cpus") },
    Place { collector: "containers", group: "hosting", path: "/api/v1/hosting/containers/", paging: Paging::Offset, is_child: false, listings: 1,
        required: "id", optional: ("quota", Some("container.quota")), shows_optional: Some("hosting_container_disk_quota_bytes") },
    Place { collector: "sites", group: "hosting", path: "/api/v2/hosting/containers/", paging: Paging::Offset, is_child: true, listings: 2,
        required: "state", optional: ("num_workers", Some("site.num_workers")), shows_optional: Some("hosting_site_workers") },
    Place { collector: "expected_balance", group: "billing", path: "/api/v1/expected_balance/", paging: Paging::Whole, is_child: false, listings: 1,
        required: "balance", optional: ("comment", Some("order.comment")), shows_optional: Some("hosting_billing_order_info") },
    Place { collector: "charges", group: "billing", path: "/api/v1/charge/", paging: Paging::Next, is_child: false, listings: 1,
        required: "event_date", optional: ("description", None), shows_optional: None },
    Place { collector: "databases", group: "hosting", path: "/api/v1/hosting/dbms/", paging: Paging::Offset, is_child: true, listings: 4,
        required: "id", optional: ("charset", None), shows_optional: None },
    Place { collector: "cron_jobs", group: "hosting", path: "/api/v2/hosting/virtualhosts/", paging: Paging::Offset, is_child: true, listings: 4,
        required: "id", optional: ("comment", None), shows_optional: None },
    Place { collector: "ips", group: "vm", path: "/api/cvds/v1/ips/", paging: Paging::Next, is_child: false, listings: 1,
        required: "id", optional: ("ipvalue", Some("ip.ipvalue")), shows_optional: Some("hosting_ip_info") },
    Place { collector: "ssh_keys", group: "vm", path: "/api/cvds/v1/ssh-keys/", paging: Paging::Next, is_child: false, listings: 1,
        required: "id", optional: ("title", None), shows_optional: None },
];

/// The collectors that are on in every fleet.
pub const STATE: [&str; 4] = ["vms", "containers", "sites", "expected_balance"];

/// The collector of each family in docs/metrics.md; `–` for none.
static FED_BY: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let rows = include_str!("../../docs/metrics.md").lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        (cells[1], cells[4])
    })
    .collect()
});

impl Place {
    pub fn is(&self, collector: &str) -> bool {
        self.collector == collector
    }

    /// Itself, and the collectors that are on in every fleet and share its credentials.
    pub fn of_its_group(&self) -> Vec<&'static str> {
        let shares = |other: &&Place| {
            other.group == self.group && (other.is(self.collector) || STATE.contains(&other.collector))
        };
        PLACES.iter().filter(shares).map(|other| other.collector).collect()
    }

    /// Whether this family comes from the collector's data, as docs/metrics.md says.
    pub fn feeds(&self, family: &str) -> bool {
        FED_BY.get(family) == Some(&self.collector)
    }

    /// Whether this family counts or adds up rows, so that missing rows make it wrong and not just incomplete.
    pub fn counts(&self, family: &str) -> bool {
        let counts = [
            "hosting_vms",
            "hosting_containers",
            "hosting_sites",
            "hosting_databases",
            "hosting_cron_jobs",
            "hosting_ssh_keys",
            "hosting_billing_charged_amount",
        ];
        self.feeds(family) && counts.contains(&family)
    }
}

/// The time that a fault keeps a poll. Faults of one pace share a daemon, for two reasons. The first mail waits
/// for the first poll of every account, and groups with refused credentials are not asked for five minutes
/// after five polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    Prompt,
    /// Until the time-out.
    Slow,
    /// As long as an unoptimised build takes to read 32 MiB.
    Heavy,
}

impl Pace {
    /// The divisor of the client's time-out.
    pub fn haste(self) -> u64 {
        match self {
            Self::Slow => 6,
            Self::Prompt | Self::Heavy => 1,
        }
    }
}

/// One fault.
pub struct Trouble {
    /// The name of its account.
    pub key: &'static str,
    /// The text in the document.
    pub says: &'static str,
    pub fault: fn(&Place) -> Fault,
}

impl Trouble {
    pub fn pace(&self, place: &Place) -> Pace {
        let fault = (self.fault)(place);
        if fault.kind == FaultKind::HugeBody {
            Pace::Heavy
        } else if fault.kind == FaultKind::Stall || fault.seconds.is_some_and(|seconds| seconds > 1.0) {
            Pace::Slow
        } else {
            Pace::Prompt
        }
    }

    /// Whether the listing shows its fault only with more than one page of a hundred rows.
    pub fn is_wide(&self, place: &Place) -> bool {
        (self.fault)(place).kind == FaultKind::ShiftingRows && place.paging == Paging::Offset
    }
}

fn fault(place: &Place, kind: FaultKind) -> Fault {
    Fault::new(kind, place.path)
}

fn status(place: &Place, code: u16) -> Fault {
    Fault { code: Some(code), ..fault(place, FaultKind::Status) }
}

fn fields(place: &Place, kind: FaultKind, field: &str) -> Fault {
    Fault { fields: Some(vec![field.to_owned()]), ..fault(place, kind) }
}

/// These fields hold a JSON value.
fn valued(place: &Place, fields: &[&str], value: &str) -> Fault {
    let fields = Some(fields.iter().map(ToString::to_string).collect());
    Fault { fields, value: Some(value.to_owned()), ..fault(place, FaultKind::NullFields) }
}

/// Stands for the address of another host.
pub const ELSEWHERE: &str = "ELSEWHERE";

/// No fault: the account for comparison.
pub const CONTROL: &str = "all-well";

/// A requested pause that is longer than a poll waits.
pub const LONG_PAUSE_SECONDS: u32 = 400;

#[rustfmt::skip]
pub const TROUBLES: [Trouble; 27] = [
    Trouble { key: "status-503", says: "503 each time",
        fault: |place| status(place, 503) },
    Trouble { key: "status-400", says: "400 and the like",
        fault: |place| status(place, 400) },
    Trouble { key: "status-404", says: "404",
        fault: |place| status(place, 404) },
    Trouble { key: "status-403", says: "403",
        fault: |place| status(place, 403) },
    Trouble { key: "status-401", says: "401",
        fault: |place| status(place, 401) },
    Trouble { key: "status-429", says: "429 once, `Retry-After` 1 s",
        fault: |place| Fault { retry_after: Some(1), count: Some(1), ..status(place, 429) } },
    Trouble { key: "status-429-long", says: "429, `Retry-After` over 5 min",
        fault: |place| Fault { retry_after: Some(LONG_PAUSE_SECONDS), ..status(place, 429) } },
    Trouble { key: "delay", says: "an answer within 30 s",
        fault: |place| Fault { seconds: Some(0.3), ..fault(place, FaultKind::Delay) } },
    Trouble { key: "delay-long", says: "no answer within 30 s",
        fault: |place| Fault { seconds: Some(60.0), ..fault(place, FaultKind::Delay) } },
    Trouble { key: "stall", says: "half a body",
        fault: |place| fault(place, FaultKind::Stall) },
    Trouble { key: "reset", says: "a reset before the answer",
        fault: |place| fault(place, FaultKind::Reset) },
    Trouble { key: "reset-within", says: "a reset within the body",
        fault: |place| Fault { bytes: Some(20), ..fault(place, FaultKind::Reset) } },
    Trouble { key: "redirect", says: "a redirect",
        fault: |place| fault(place, FaultKind::Redirect) },
    Trouble { key: "html-page", says: "a web page with 200",
        fault: |place| fault(place, FaultKind::HtmlPage) },
    Trouble { key: "truncated-json", says: "JSON cut short",
        fault: |place| fault(place, FaultKind::TruncatedJson) },
    Trouble { key: "odd-bytes", says: "a byte order mark before the body",
        fault: |place| fault(place, FaultKind::OddBytes) },
    Trouble { key: "huge-body", says: "a body over 32 MiB",
        fault: |place| Fault { bytes: Some(33 << 20), ..fault(place, FaultKind::HugeBody) } },
    Trouble { key: "foreign-next", says: "`next` on another host",
        fault: |place| valued(place, &["next"], &format!("\"{ELSEWHERE}\"")) },
    Trouble { key: "next-loop", says: "`next` to the same page",
        fault: |place| valued(place, &["next"], "\"?page=1\"") },
    Trouble { key: "lost-rows", says: "a row on neither of two pages",
        fault: |place| Fault { by: Some(1), ..fault(place, FaultKind::ShiftingRows) } },
    Trouble { key: "repeated-rows", says: "a row on both of two pages",
        fault: |place| Fault { by: Some(-1), ..fault(place, FaultKind::ShiftingRows) } },
    Trouble { key: "duplicate-rows", says: "a row twice and another missing",
        fault: |place| fault(place, FaultKind::DuplicateRows) },
    Trouble { key: "wrong-count", says: "`count` too high",
        fault: |place| valued(place, &["count", "total_count"], "99") },
    Trouble { key: "wrong-types", says: "every value of another type",
        fault: |place| fault(place, FaultKind::WrongTypes) },
    Trouble { key: "null-required", says: "a needed field null",
        fault: |place| fields(place, FaultKind::NullFields, place.required) },
    Trouble { key: "null-optional", says: "another field null",
        fault: |place| fields(place, FaultKind::NullFields, place.optional.0) },
    Trouble { key: "wrong-type-optional", says: "another field of another type",
        fault: |place| fields(place, FaultKind::WrongTypes, place.optional.0) },
];

/// The account of a fault: two pages of everything that has pages.
pub fn scenario(place: &Place, is_wide: bool) -> (Args, String) {
    let args = Args { vm_page_size: 3, unlimited: true, ..Args::default() };
    let (containers, sites) = match (is_wide, place.collector) {
        (false, _) => (2, 4),
        (true, "containers") => (101, 1),
        (true, "sites") => (1, 101),
        (true, _) => (1, 1),
    };
    let scenario = format!(
        r#"
time_zone = "UTC"
vms = 4
ssh_keys = 4
containers = {containers}
sites = {sites}
resource_orders = false
[[order]]
comment = "Server"
amount = "10.00"
age = "30.5d"
[[event]]
at = "0s"
do = "set_balance"
amount = "5000"
"#
    );
    (args, scenario)
}
