//! The steps of a story, in words: readings, spans of time, acts of the operator and answers of the mail server.

use chrono::{DateTime, Days, Duration, NaiveTime, Utc};

use super::provider::{ALL, Bill, PAID};
use super::{Fate, Told, World, moment};
use crate::alert::{AlertSettings, Kind, Rule};
use crate::model::{Collector, Edd, Failure, FailureKind, OrderState, Read, Rows};

/// `90m`, `26h`, `3d`, `20s`, `-1d`.
fn span(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: i64 = number.parse().ok()?;
    match unit {
        "s" => Some(Duration::seconds(number)),
        "m" => Some(Duration::minutes(number)),
        "h" => Some(Duration::hours(number)),
        "d" => Some(Duration::days(number)),
        _ => None,
    }
}

fn fate(word: &str) -> Fate {
    match word {
        "accepts" => Fate::Accept,
        "defers" => Fate::Defer,
        "away" => Fate::Away,
        "refused" => Fate::RefuseRecipient,
        "rejects" => Fate::RefuseMail,
        "doubts" => Fate::Doubt,
        "doubts-vm1" => Fate::DoubtVm1,
        "takes-short" => Fate::RefuseLong,
        "loses" => Fate::LoseReply { arrived: false },
        "late" => Fate::LoseReply { arrived: true },
        _ => panic!("{word} is no answer of the server"),
    }
}

fn collectors(word: &str) -> Option<&[Collector]> {
    match word {
        "vms" => Some(&ALL[..1]),
        "containers" => Some(&ALL[1..2]),
        "sites" => Some(&ALL[2..3]),
        "report" => Some(&ALL[3..]),
        "everything" => Some(&ALL),
        "ips" => Some(&[Collector::Ips]),
        _ => None,
    }
}

fn failure(word: &str) -> FailureKind {
    match word {
        "credentials" => FailureKind::Credentials,
        "missing" => FailureKind::NotFound,
        "error" => FailureKind::ReportError,
        "refused" => FailureKind::Refused,
        "never-accepted" => FailureKind::NeverAccepted,
        "unusable" => FailureKind::Unusable,
        _ => panic!("{word} is no failure"),
    }
}

/// `vm1` is number 1 of the sort `vm`.
fn resource(text: &str) -> (&str, u64) {
    let (sort, id) = text.split_at(text.find(|c: char| c.is_ascii_digit()).unwrap_or(0));
    (sort, id.parse().unwrap_or_else(|_| panic!("nothing is called '{text}'")))
}

/// The lives of worlds.
impl World {
    /// Does the steps, which commas separate.
    pub fn live(&mut self, steps: &str) -> &mut Self {
        for step in steps.split(',').map(str::trim).filter(|step| !step.is_empty()) {
            let words: Vec<&str> = step.split_whitespace().collect();
            let is_known = self.happens(&words) || self.operator(&words) || self.shows(&words);
            assert!(is_known, "nothing is called '{step}'");
        }
        self
    }

    /// A step of the provider, the mail server or the clock.
    fn happens(&mut self, words: &[&str]) -> bool {
        let now = self.now;
        match *words {
            [time] if span(time).is_some() => self.go_on(now + span(time).unwrap()),
            ["until", at] => self.go_on(moment(at)),
            ["idle", time] => self.pass(span(time).unwrap()),
            ["idle", "until", at] => self.pass(moment(at) - now),
            ["later", time] => self.later(span(time).unwrap()),
            ["later", "until", at] => self.now = moment(at),
            ["hourly", times] => (0..times.parse().unwrap()).for_each(|_| {
                self.pass(Duration::hours(1));
                self.poll_all("report");
            }),
            ["wakes", at, times] => self.wakes(at, times.parse().unwrap()),
            ["tick"] => self.tick(),
            ["sleep", time] => self.sleep(span(time).unwrap()),
            ["sleep", "until", at] => self.sleep(moment(at) - now),
            ["restart", down] => self.restart(span(down).unwrap()),
            ["everybody", answer] => self.server_all(fate(answer)),
            [to, answer] if to.ends_with(':') => self.server(to.trim_end_matches(':'), fate(answer)),
            ["look"] => self.look(),
            [which] if collectors(which).is_some() => self.poll_all(which),
            [which, times] if collectors(which).is_some() => {
                (0..times.parse().unwrap()).for_each(|_| self.poll_all(which));
            }
            ["fail", which] => self.fails(which, FailureKind::Other),
            ["fail", which, how] => self.fails(which, failure(how)),
            ["heal", which] => {
                self.provider.failing.retain(|one, _| !collectors(which).unwrap().contains(one));
            }
            ["order", state] => {
                self.provider.order = (state != "gone").then(|| OrderState::from(state));
                self.poll_all("report");
            }
            ["paid"] => self.charge(PAID),
            // No date, and no charges.
            ["bare", kopecks] => self.charge(Bill { has_charges: false, ..without_date(now, kopecks) }),
            ["no-date", kopecks] => self.charge(without_date(now, kopecks)),
            ["unreadable-bare", kopecks] => {
                self.charge(Bill { edd: Edd::Unknown, has_charges: false, ..without_date(now, kopecks) });
            }
            ["unreadable", kopecks] => self.charge(Bill { edd: Edd::Unknown, ..without_date(now, kopecks) }),
            // The balance lasts until the date.
            ["cut-off", "at", at] => self.lasts(moment(at) - now),
            ["cut-off", "at", at, kopecks] => self.owes(moment(at) - now, kopecks.parse().unwrap()),
            ["cut-off", ahead] => self.lasts(span(ahead).unwrap()),
            ["cut-off", ahead, kopecks] => self.owes(span(ahead).unwrap(), kopecks.parse().unwrap()),
            ["overdue", ago] => self.owes(-span(ago).unwrap(), -500),
            // The known date stays, and the balance changes.
            ["balance", kopecks] => {
                self.charge(Bill { edd: self.provider.bill.edd, ..without_date(now, kopecks) });
            }
            _ => return false,
        }
        true
    }

    /// A step of the operator.
    fn operator(&mut self, words: &[&str]) -> bool {
        let texts = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        match *words {
            ["silence", pattern, time] => drop(self.silence(pattern, span(time).unwrap())),
            ["lift"] => self.unsilence(self.muted.silences.last().unwrap().id),
            ["ack", key] => self.ack(&format!("main/{key}")),
            ["to", ref to @ ..] => {
                self.to = texts(to);
                self.set_settings();
            }
            ["escalate", ref to @ ..] => self.set(|settings| settings.escalate_to = texts(to)),
            ["confirm", polls] => self.set(|settings| settings.confirm_polls = polls.parse().unwrap()),
            ["recover", polls] => self.set(|settings| settings.recover_polls = polls.parse().unwrap()),
            ["deletion", days] => self.set(|settings| settings.deletion_days = days.parse().unwrap()),
            ["lead", days, ref rungs @ ..] => {
                self.settings.lead_days = days.parse().unwrap();
                self.settings.disconnect_days = rungs.iter().map(|day| day.parse().unwrap()).collect();
                self.set_profile(|profile| profile.lead_days = days.parse().unwrap());
            }
            ["rungs", ref days @ ..] => {
                let days = days.iter().map(|day| day.parse().unwrap()).collect();
                self.set(|settings| settings.disconnect_days = days);
            }
            ["zone", zone] => {
                let zone = zone.parse().unwrap();
                self.settings.zone = zone;
                self.set_profile(|profile| profile.time_zone = Some(zone));
            }
            ["no-reminders"] => self.set(|settings| settings.remind_every.clear()),
            ["rule", kind, what] => {
                let rule = rule(what);
                self.set(|settings| drop(settings.rules.insert(kind.parse::<Kind>().unwrap(), rule)));
            }
            ["unwatch", which] => self.set_profile(|profile| {
                profile.collectors.retain(|one| !collectors(which).unwrap().contains(one));
            }),
            ["limit", mails] => self.system.max_per_hour = mails.parse().unwrap(),
            ["leave"] => self.leave(),
            ["come-back"] => self.come_back(),
            ["reload"] => self.set_settings(),
            ["drop", to] => self.system.let_go(to, None, self.now),
            ["drop", to, key] => {
                let key = format!("main/{key}").parse().unwrap();
                self.system.let_go(to, Some(&key), self.now);
            }
            ["retry", to] => self.system.retry(Some(to), self.now),
            _ => return false,
        }
        true
    }

    /// `vm1=error`, `c10=ENABLED`, `s100=Error`; `vm1=gone` is not listed any more. Several of them are one
    /// reading. `hides vm1`: an incomplete listing without it. `garbles vm1`: its row cannot be read. `breaks-off vm2 vm1=error`: a poll that fails at
    /// the page with `vm2`.
    fn shows(&mut self, words: &[&str]) -> bool {
        match *words {
            ["hides", what] => {
                let (collector, read) = self.without(what);
                self.read(collector, read);
                return true;
            }
            ["garbles", what] => {
                let (collector, mut read) = self.without(what);
                let unreadable = std::collections::BTreeSet::from([resource(what).1]);
                if let Read::Vms(Rows { shows_all, unreadable: ids, .. })
                | Read::Containers(Rows { shows_all, unreadable: ids, .. })
                | Read::Sites(_, Rows { shows_all, unreadable: ids, .. }) = &mut read
                {
                    (*shows_all, *ids) = (true, unreadable);
                }
                self.read(collector, read);
                return true;
            }
            ["breaks-off", what, shown] => {
                let (of, state) = shown.split_once('=').unwrap();
                let (sort, id) = resource(of);
                self.set_state(sort, id, state);
                let (collector, read) = self.without(what);
                self.read_part(collector, read, Some(Failure::new(FailureKind::Other, "no second page")));
                return true;
            }
            _ => {}
        }
        let Some(shown) = words.iter().map(|word| word.split_once('=')).collect::<Option<Vec<_>>>() else {
            return false;
        };
        let mut sorts: Vec<&str> = Vec::new();
        for (what, state) in shown {
            let (sort, id) = resource(what);
            self.set_state(sort, id, state);
            sorts.push(sort);
        }
        sorts.dedup();
        for sort in sorts {
            self.poll_all(match sort {
                "vm" => "vms",
                "c" => "containers",
                _ => "sites",
            });
        }
        true
    }

    fn set_state(&mut self, sort: &str, id: u64, state: &str) {
        let all = match sort {
            "vm" => &mut self.provider.vms,
            "c" => &mut self.provider.containers,
            "s" => &mut self.provider.sites,
            _ => panic!("no resource is of the sort {sort}"),
        };
        if state == "gone" {
            all.remove(&id);
        } else {
            all.insert(id, state.to_owned());
        }
    }

    fn without(&self, what: &str) -> (Collector, Read) {
        let (sort, hidden) = resource(what);
        match sort {
            "vm" => (Collector::Vms, self.provider.vms(Some(hidden))),
            "c" => (Collector::Containers, self.provider.containers(Some(hidden))),
            _ => (Collector::Sites, self.provider.sites(hidden / 10, Some(hidden))),
        }
    }

    fn set(&mut self, change: impl FnOnce(&mut AlertSettings)) {
        change(&mut self.settings);
        self.set_settings();
    }

    fn lasts(&mut self, ahead: Duration) {
        self.owes(ahead, 1000 * ahead.num_days().max(0) + 550);
    }

    fn owes(&mut self, ahead: Duration, kopecks: i64) {
        let from = self.now;
        self.charge(Bill { from: Some(from), kopecks, edd: Edd::At(from + ahead), has_charges: true });
    }

    fn charge(&mut self, bill: Bill) {
        (self.provider.bill, self.provider.given) = (bill, None);
        self.poll_all("report");
    }

    fn fails(&mut self, which: &str, how: FailureKind) {
        self.provider.failing.extend(collectors(which).unwrap().iter().map(|&one| (one, how)));
        self.poll_all(which);
    }

    /// Polls these collectors once.
    fn poll_all(&mut self, which: &str) {
        collectors(which).unwrap().iter().for_each(|&collector| self.poll(collector));
    }

    /// The machine sleeps until this time of the next day and reads everything, so many times.
    fn wakes(&mut self, at: &str, times: usize) {
        let at = NaiveTime::parse_from_str(at, "%H:%M").unwrap();
        for _ in 0..times {
            let tomorrow = self.now.date_naive() + Days::new(1);
            self.sleep(tomorrow.and_time(at).and_utc() - self.now);
            self.look();
            self.pass(Duration::minutes(3));
        }
    }

    /// Lets time pass minute by minute, and polls every collector about every ten minutes; both a quarter as often
    /// until the last day.
    fn go_on(&mut self, until: DateTime<Utc>) {
        let last_day = until - Duration::days(1);
        while last_day > self.now {
            self.pass_by(Duration::minutes(4), Duration::minutes(32));
            self.look();
        }
        while until - self.now > Duration::minutes(11) {
            self.pass(Duration::minutes(8));
            self.look();
        }
        if until > self.now {
            self.pass(until - self.now);
        }
    }

    /// The items whose key contains `about` in all mails to a recipient, each with its time.
    pub fn told_of(&self, to: &str, about: &str) -> Vec<(DateTime<Utc>, Told)> {
        let mine = self.received.iter().filter(|received| received.mail.to == to);
        let items =
            mine.flat_map(|received| received.mail.items.iter().map(|item| (received.at, item.clone())));
        items.filter(|(_, item)| item.key.to_string().contains(about)).collect()
    }

    /// The events of these items, in order: `opened reminder:1 resolved`.
    pub fn heard(&self, to: &str, about: &str) -> String {
        let events: Vec<String> =
            self.told_of(to, about).iter().map(|(_, item)| item.event.to_string()).collect();
        events.join(" ")
    }
}

fn without_date(from: DateTime<Utc>, kopecks: &str) -> Bill {
    Bill { from: Some(from), kopecks: kopecks.parse().unwrap(), edd: Edd::Null, has_charges: true }
}

fn rule(what: &str) -> Rule {
    match what.split_once('=') {
        Some(("to", to)) => Rule { to: vec![to.to_owned()], ..Rule::default() },
        Some(("except", name)) => {
            Rule { enabled: Some(true), except: vec![name.to_owned()], ..Rule::default() }
        }
        Some(("severity", word)) => Rule { severity: Some(word.parse().unwrap()), ..Rule::default() },
        _ => Rule { enabled: Some(what == "on"), ..Rule::default() },
    }
}
