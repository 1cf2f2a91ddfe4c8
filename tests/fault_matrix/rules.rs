//! What is to be expected where a fault meets a collector: the contract's section 4 in a few rules. Nothing here
//! was learnt from what the program does.

use hostwatch::sim::{Fault, FaultKind};

use super::table::{LONG_PAUSE_SECONDS, Paging, Place};

/// Is it the first poll, with nothing known, or a later one?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    First,
    Later,
}

/// What a fault comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing: what was asked for is had in the end.
    Harmless,
    /// "A page that can't be had: success 0, the listing stays as it was."
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

/// Which incident speaks of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// `collector_failing`, when it lasts
    Other,
    /// `credentials_rejected`, at once: every call of the group is refused
    Credentials,
    /// `collector_failing`, when it lasts: the credentials are good elsewhere
    Forbidden,
    /// `collector_failing`, when it lasts: "a parent that stays listed while its children keep answering 404 three polls
    /// in a row is a failed listing"
    ParentStays,
    /// `collector_failing` of one of the group, which is left alone: "Retry-After … up to an hour the group is left alone
    /// until then"
    AskedToWait,
    /// `billing_report`, at once
    Report,
}

/// How many of its rows a doubtful listing shows.
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
    let is_report = place.is("expected_balance");
    // "Charges: all pages once, then only while new": of an old listing one page is read.
    let reads_news = place.is("charges") && when == When::Later;
    let is_optional = fault.fields.as_ref().is_some_and(|fields| fields[0] == place.optional.0);
    match fault.kind {
        K::Status => match fault.code.unwrap_or(503) {
            401 | 403 => Failed(refused(place, when)),
            404 if place.is("sites") => Failed(Why::ParentStays),
            404 if place.is_child => ParentRead,
            // "A report with `error` set, or 404, is a failed poll for all but `billing_report`."
            404 if is_report => Failed(Why::Report),
            // Retried after the pause it asks for, up to 5 min.
            429 if fault.count == Some(1) && fault.retry_after.is_some_and(|pause| pause <= 300) => Harmless,
            429 => Failed(Why::AskedToWait),
            _ => Failed(Why::Other),
        },
        K::ExpiredCredentials => Failed(refused(place, when)),
        K::Delay if fault.seconds.is_some_and(|seconds| seconds < 1.0) => Harmless,
        K::Delay | K::Stall | K::Reset | K::Redirect | K::HtmlPage | K::InvalidJson | K::TruncatedJson => {
            Failed(Why::Other)
        }
        // A page has a cap of bytes; a report is read as a stream, each of its parts has one.
        K::HugeBody => Failed(Why::Other),
        K::ForeignNext | K::NextLoop if place.paging == Paging::Next => Failed(Why::Other),
        K::ForeignNext | K::NextLoop => Harmless,
        K::ShiftingRows if place.paging == Paging::Whole || reads_news => Harmless,
        K::ShiftingRows if fault.by.is_some_and(|by| by < 0) => Doubtful(Shown::All),
        K::ShiftingRows => Doubtful(Shown::Some),
        K::DuplicateRows if is_report => DoesNotAddUp,
        K::DuplicateRows if reads_news => Harmless,
        K::DuplicateRows => Doubtful(Shown::Some),
        K::WrongCount if place.paging == Paging::Whole => Harmless,
        K::WrongCount => Doubtful(Shown::All),
        K::WrongTypes | K::NullFields if is_optional && place.optional.1.is_none() => Harmless,
        K::WrongTypes | K::NullFields if is_optional => FieldAbsent,
        // Its `error` is set, whatever to.
        K::WrongTypes if is_report => Failed(Why::Report),
        K::WrongTypes | K::NullFields => Doubtful(Shown::Nothing),
    }
}

/// "`credentials_rejected` means that every call of the group is refused; one container's 403 is that listing's failure."
/// Sites are not asked for before their containers were read once.
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

    /// The log's message; those of polls are said once, however many polls there are.
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

    /// The incident that opens, one of these, and whether it does so at once.
    pub fn incident(self, place: &Place) -> Option<(Vec<String>, bool)> {
        let failing = |collector: &str| format!("collector_failing/{collector}");
        match self {
            Self::Failed(Why::Other | Why::Forbidden | Why::ParentStays) => {
                Some((vec![failing(place.collector)], false))
            }
            // One speaks for all that fail for the same reason.
            Self::Failed(Why::AskedToWait) => {
                Some((place.of_its_group().iter().map(|collector| failing(collector)).collect(), false))
            }
            Self::Failed(Why::Credentials) => {
                Some((vec![format!("credentials_rejected/{}", place.group)], true))
            }
            Self::Failed(Why::Report) => Some((vec!["billing_report/account".to_owned()], true)),
            Self::Harmless
            | Self::ParentRead
            | Self::Doubtful(_)
            | Self::FieldAbsent
            | Self::DoesNotAddUp => None,
        }
    }

    /// Are the others of its group left alone as well?
    pub fn stops_the_group(self) -> bool {
        matches!(self, Self::Failed(Why::Credentials | Why::AskedToWait))
    }
}

/// Polls that succeed before the failure shows.
pub fn polls_before(effect: Effect) -> u64 {
    if effect == Effect::Failed(Why::ParentStays) { 2 } else { 0 }
}

/// Does the collector reject every record?
pub fn rejects(fault: &Fault, place: &Place, when: When) -> bool {
    effect(fault, place, when) == Effect::Doubtful(Shown::Nothing)
}

/// `code` of `hostwatch_api_requests_total`, and how many of them a poll makes for one listing, at least and at most:
/// retries of what may pass, one request for what will not. `None` where all answers are 200.
pub fn requests(fault: &Fault, place: &Place) -> Option<(String, u32, u32)> {
    use FaultKind as K;
    // "At most two retries, for connect errors, 5xx and 429."
    let (code, least, most) = match fault.kind {
        K::Status => {
            let code = fault.code.unwrap_or(503);
            let times = if code >= 500 { 3 } else { 1 };
            (code.to_string(), times, times)
        }
        K::ExpiredCredentials => ("401".to_owned(), 1, 1),
        K::Redirect => ("302".to_owned(), 1, 1),
        K::Reset if fault.bytes.is_none() => ("closed".to_owned(), 3, 3),
        // A reset takes what is on its way with it: it may come before the answer after all.
        K::Reset => ("closed".to_owned(), 1, 3),
        K::Delay if fault.seconds.is_some_and(|seconds| seconds < 1.0) => return None,
        // "Past cap or timeout the horizon is halved": the report is asked for once more.
        K::Delay | K::Stall => ("timeout".to_owned(), 1, if place.is("expected_balance") { 2 } else { 1 }),
        K::HugeBody if !place.is("expected_balance") => ("too_large".to_owned(), 1, 1),
        K::HugeBody
        | K::HtmlPage
        | K::InvalidJson
        | K::TruncatedJson
        | K::WrongTypes
        | K::NullFields
        | K::ForeignNext
        | K::NextLoop
        | K::ShiftingRows
        | K::DuplicateRows
        | K::WrongCount => return None,
    };
    Some((code, least, most))
}

/// Words of the log's line that name what went wrong.
pub fn words(fault: &Fault, place: &Place, time_out_seconds: u64) -> Vec<String> {
    use FaultKind as K;
    let remedy = match place.group {
        "vm" => "check vm_api_key",
        "hosting" => "check hosting_token",
        _ => "check billing_username",
    };
    let answered = |code: u16| format!("the provider answered {code}");
    match fault.kind {
        K::Status => match (fault.code.unwrap_or(503), fault.retry_after) {
            (429, Some(_)) => vec![format!("asks to wait {LONG_PAUSE_SECONDS} s")],
            (code @ (401 | 403), _) => vec![answered(code), remedy.to_owned()],
            (404, _) if place.is("sites") => vec![answered(404), "of a container that is listed".to_owned()],
            (code, _) => vec![answered(code)],
        },
        K::ExpiredCredentials => vec![answered(401), remedy.to_owned()],
        K::Delay | K::Stall => vec![format!("no complete answer within {time_out_seconds} s")],
        K::Reset => vec!["the connection broke".to_owned()],
        K::Redirect => vec![answered(302), "which is not followed".to_owned()],
        K::HtmlPage | K::InvalidJson | K::TruncatedJson => vec!["the answer is not JSON".to_owned()],
        K::HugeBody if place.is("expected_balance") => vec![format!("more than {} bytes", 1 << 20)],
        K::HugeBody => vec![format!("more than {} bytes", 32 << 20)],
        K::ForeignNext => vec!["the next page is said to be at".to_owned(), "is not asked for".to_owned()],
        K::NextLoop => vec!["the pages go round in a circle".to_owned()],
        K::ShiftingRows | K::WrongCount => vec!["the count is ".to_owned()],
        K::DuplicateRows => vec!["came twice".to_owned()],
        K::WrongTypes if place.is("expected_balance") => vec!["the report carries an error".to_owned()],
        K::WrongTypes => vec!["so the record is left out".to_owned()],
        K::NullFields => vec![format!("null, so the record is left out")],
    }
}
