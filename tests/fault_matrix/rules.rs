//! The expected effect of each fault at each collector: the contract's section 4 in a few rules. They come from
//! the contract alone, and not from the program's behaviour.

use hostwatch_sim::{Fault, FaultKind};

use super::table::{LONG_PAUSE_SECONDS, Paging, Place};

/// Whether it is the first poll, with nothing known, or a later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    First,
    Later,
}

/// The effect of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// None: the requested data arrive in the end.
    Harmless,
    /// "A page that can't be had: success 0."
    Failed(Why),
    /// "A 404 on a child listing means its parent is read again, not failure."
    ParentRead,
    /// "All pages read but rows undecodable, duplicated or short of `count` (read again once): success 1,
    /// complete 0, rows merged, none removed."
    Doubtful(Shown),
    /// "Any other field missing, null or mistyped is absent and counted."
    FieldAbsent,
    /// "A report whose moments do not add up is shown as reported, logged and counted."
    DoesNotAddUp,
}

/// The incident that reports a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// `collector_failing`, when it lasts
    Other,
    /// `collector_failing`, when it lasts: "the rows of the pages before it are merged, none removed"
    LaterPage,
    /// `credentials_rejected`, at once: every call of the group is refused
    Credentials,
    /// `collector_failing`, when it lasts: the credentials are good elsewhere
    Forbidden,
    /// `collector_failing`, when it lasts: "a parent that stays listed while its children keep answering 404 three polls
    /// in a row is a failed listing"
    ParentStays,
    /// `collector_failing`, when it lasts; the group is left alone: "Retry-After … up to an hour the group is left alone
    /// until then"
    AskedToWait,
}

/// The rows that a doubtful listing shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    All,
    Some,
    Nothing,
}

/// The rule.
pub fn effect(fault: &Fault, place: &Place, when: When) -> Effect {
    use Effect::{DoesNotAddUp, Doubtful, Failed, FieldAbsent, Harmless, ParentRead};
    use FaultKind as K;
    let is_optional = changes(fault, place.optional.0);
    match fault.kind {
        K::Status => match fault.code.unwrap_or(503) {
            401 => Failed(refused(place, when)),
            // "Only where a group never succeeded since its credentials changed is 403 a matter of credentials."
            403 if when == When::Later => Failed(Why::Forbidden),
            403 => Failed(refused(place, when)),
            404 if place.is("sites") => Failed(Why::ParentStays),
            404 if place.is_child => ParentRead,
            // Repeated after the requested pause, up to 5 min.
            429 if fault.count == Some(1) && fault.retry_after.is_some_and(|pause| pause <= 300) => Harmless,
            429 => Failed(Why::AskedToWait),
            _ => Failed(Why::Other),
        },
        K::Delay if fault.seconds.is_some_and(|seconds| seconds < 1.0) => Harmless,
        K::Delay | K::Stall | K::Reset | K::Redirect | K::HtmlPage | K::TruncatedJson => Failed(Why::Other),
        // A page has a limit of bytes. A report is read as a stream whose parts have one.
        K::HugeBody => Failed(Why::Other),
        K::OddBytes => Harmless,
        K::NullFields if changes(fault, "next") && place.paging == Paging::Next => Failed(Why::LaterPage),
        K::NullFields if changes(fault, "next") => Harmless,
        K::NullFields if changes(fault, "count") && place.paging == Paging::Whole => Harmless,
        K::NullFields if changes(fault, "count") => Doubtful(Shown::All),
        K::ShiftingRows if place.paging == Paging::Whole => Harmless,
        K::ShiftingRows if fault.by.is_some_and(|by| by < 0) => Doubtful(Shown::All),
        K::ShiftingRows => Doubtful(Shown::Some),
        K::DuplicateRows if place.is("expected_balance") => DoesNotAddUp,
        K::DuplicateRows => Doubtful(Shown::Some),
        K::WrongTypes | K::NullFields if is_optional && place.optional.1.is_none() => Harmless,
        K::WrongTypes | K::NullFields if is_optional => FieldAbsent,
        K::WrongTypes | K::NullFields => Doubtful(Shown::Nothing),
    }
}

/// Whether the fault is about this field first of all.
fn changes(fault: &Fault, field: &str) -> bool {
    fault.fields.as_ref().is_some_and(|fields| fields[0] == field)
}

/// "`credentials_rejected` means that every call of the group is refused; one container's 403 is that listing's
/// failure." Sites are asked for only after their containers were read once.
fn refused(place: &Place, when: When) -> Why {
    match place.collector {
        "vms" | "expected_balance" => Why::Credentials,
        "containers" if when == When::First => Why::Credentials,
        _ => Why::Forbidden,
    }
}

impl Effect {
    /// `hostwatch_collector_success` and `…_complete`, and the `result` of `…_polls_total`.
    pub fn poll(self) -> (u8, u8, &'static str) {
        match self {
            Self::Failed(_) => (0, 0, "failure"),
            Self::Doubtful(_) => (1, 0, "partial"),
            Self::Harmless | Self::ParentRead | Self::FieldAbsent | Self::DoesNotAddUp => (1, 1, "success"),
        }
    }

    /// The log's message. Messages about polls come once, whatever the number of polls.
    pub fn message(self) -> Option<&'static str> {
        match self {
            Self::Failed(_) => Some("cannot read"),
            Self::Doubtful(_) => Some("what was read is not complete"),
            Self::DoesNotAddUp => {
                Some("the expected-balance report does not add up; it is shown as reported")
            }
            Self::Harmless | Self::ParentRead | Self::FieldAbsent => None,
        }
    }

    /// The incident that opens, one of these, and whether it opens at once.
    pub fn incident(self, place: &Place) -> Option<(Vec<String>, bool)> {
        match self {
            Self::Failed(
                Why::Other | Why::LaterPage | Why::Forbidden | Why::ParentStays | Why::AskedToWait,
            ) => Some((vec!["collector_failing/account".to_owned()], false)),
            Self::Failed(Why::Credentials) => {
                Some((vec![format!("credentials_rejected/{}", place.group)], true))
            }
            Self::Harmless
            | Self::ParentRead
            | Self::Doubtful(_)
            | Self::FieldAbsent
            | Self::DoesNotAddUp => None,
        }
    }

    /// Whether the other collectors of its group are not asked either.
    pub fn stops_the_group(self) -> bool {
        matches!(self, Self::Failed(Why::Credentials | Why::AskedToWait))
    }
}

/// The number of polls that succeed before the failure shows.
pub fn polls_before(effect: Effect) -> u64 {
    if effect == Effect::Failed(Why::ParentStays) { 2 } else { 0 }
}

/// Whether the collector rejects every record.
pub fn rejects(fault: &Fault, place: &Place, when: When) -> bool {
    effect(fault, place, when) == Effect::Doubtful(Shown::Nothing)
}

/// The `code` of `hostwatch_api_requests_total`, and the least and the greatest number of them in a poll of one
/// listing. Passing errors are repeated, others cause one request. `None` if all answers are 200.
pub fn requests(fault: &Fault, place: &Place) -> Option<(String, u32, u32)> {
    use FaultKind as K;
    // "At most two retries, for connect errors, 5xx and 429."
    let (code, least, most) = match fault.kind {
        K::Status => {
            let code = fault.code.unwrap_or(503);
            let times = if code >= 500 { 3 } else { 1 };
            // A refused date halves the horizon: 90, 45, 22, 11, 5, 2 and 1 days.
            let is_refused_date = place.is("expected_balance") && matches!(code, 400 | 404);
            (code.to_string(), times, if is_refused_date { 7 } else { times })
        }
        K::Redirect => ("302".to_owned(), 1, 1),
        K::Reset if fault.bytes.is_none() => ("closed".to_owned(), 3, 3),
        // A reset takes bytes on their way along, so it may come before the answer.
        K::Reset => ("closed".to_owned(), 1, 3),
        K::Delay if fault.seconds.is_some_and(|seconds| seconds < 1.0) => return None,
        // "Past cap or timeout the horizon is halved": the report is asked for once more.
        K::Delay | K::Stall => ("timeout".to_owned(), 1, if place.is("expected_balance") { 2 } else { 1 }),
        K::HugeBody if !place.is("expected_balance") => ("too_large".to_owned(), 1, 1),
        K::HugeBody
        | K::HtmlPage
        | K::TruncatedJson
        | K::WrongTypes
        | K::NullFields
        | K::OddBytes
        | K::ShiftingRows
        | K::DuplicateRows => return None,
    };
    Some((code, least, most))
}

/// The words in the log's line that name the fault.
pub fn words(fault: &Fault, place: &Place, time_out_seconds: u64) -> Vec<String> {
    use FaultKind as K;
    let remedy = match place.group {
        "vm" => "check vm_api_key",
        "hosting" => "check hosting_token",
        _ => "check billing_username",
    };
    let answered = |code: u16| format!("HTTP {code}");
    match fault.kind {
        K::Status => match (fault.code.unwrap_or(503), fault.retry_after) {
            (429, Some(_)) => vec![format!("asks to wait; it is asked again in {LONG_PAUSE_SECONDS} s")],
            (401, _) => vec![answered(401), remedy.to_owned()],
            (404, _) if place.is("sites") => vec![answered(404), "of a container that is listed".to_owned()],
            (code, _) => vec![answered(code)],
        },
        K::Delay | K::Stall => vec![format!("no complete answer within {time_out_seconds} s")],
        K::Reset => vec!["the connection broke".to_owned()],
        K::Redirect => vec!["the provider answered 302".to_owned(), "which is not followed".to_owned()],
        K::HtmlPage | K::TruncatedJson => vec!["the answer is not JSON".to_owned()],
        K::HugeBody if place.is("expected_balance") => vec![format!("more than {} bytes", 4 << 20)],
        K::HugeBody => vec![format!("more than {} bytes", 32 << 20)],
        // Of a `next` the query alone is taken, and this one leads to the first page.
        K::NullFields if changes(fault, "next") => vec!["the pages go round in a circle".to_owned()],
        K::NullFields if changes(fault, "count") && place.is("sites") => {
            vec![" of 99 rows came (container ".to_owned()]
        }
        K::NullFields if changes(fault, "count") => vec![" of 99 rows came".to_owned()],
        K::ShiftingRows => vec![" came".to_owned()],
        K::DuplicateRows => vec!["came twice".to_owned()],
        K::OddBytes => Vec::new(),
        K::WrongTypes => vec!["so the record is left out".to_owned()],
        K::NullFields => vec![format!("null, so the record is left out")],
    }
}
