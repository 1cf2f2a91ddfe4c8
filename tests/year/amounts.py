"""Are the numbers and days in a mail about the cut-off right? Counted in whole kopecks from the last report that could be
read, at the mail's own date, by the contract's sections 5 and 6 and the words for both."""
import datetime
import re

from world import DAY

UTC = datetime.timezone.utc
NARROW, WIDE = "\u202f", "\xa0"


def due(forecast, now, days):
    """What to pay to stay online for so many days, in kopecks; None beyond the report's end."""
    until = now + days * DAY
    if until > forecast.until:
        return None
    balance, ahead = forecast.balance, []
    for moment, _, left in forecast.moments():
        if moment <= now:
            balance = left
        elif moment <= until:
            ahead.append(left)
    return max(0, 1 - min(ahead, default=balance))


def left_then(forecast, now, days):
    if now + days * DAY > forecast.until:
        return None
    balance = forecast.balance
    for moment, _, left in forecast.moments():
        if moment <= now + days * DAY:
            balance = left
    return balance


def units(kopecks):
    """Rounded up."""
    return -(-kopecks // 100)


def last_safe_day(cut_off, lead, zone):
    """"The last calendar day in the account's zone that ends at least lead_days × 24 h before the cut-off": the one before the
    day in which that moment lies."""
    return datetime.datetime.fromtimestamp(cut_off - lead * DAY, zone).date() - datetime.timedelta(days=1)


def begins(day, zone):
    """The first moment of a day."""
    return datetime.datetime.combine(day, datetime.time(), zone).timestamp()


class Words:
    def __init__(self, account, now):
        self.zone, self.currency, self.lead = account.zone, account.currency, account.lead
        self.now = self.local(now)

    def local(self, moment):
        return datetime.datetime.fromtimestamp(moment, UTC).astimezone(self.zone)

    def day(self, date):
        text = f"{date:%a} {date.day} {date:%b}"
        return text if date.year == self.now.year else f"{text} {date.year}"

    def short_day(self, date):
        return self.day(date).split(" ", 1)[1]

    def moment(self, moment):
        local = self.local(moment)
        return f"{self.day(local.date())} {local:%H:%M %Z}"

    def unit(self, text, space):
        return f"{text}{space}{self.currency}" if self.currency else text

    def subject_sum(self, kopecks):
        return self.unit(str(units(kopecks)), " ")

    def sum(self, kopecks):
        return self.unit(f"{units(kopecks):,}".replace(",", NARROW), WIDE)

    def balance(self, kopecks):
        sign, kopecks = ("\u2212", -kopecks) if kopecks < 0 else ("", kopecks)
        return self.unit(f"{sign}{kopecks // 100:,}".replace(",", NARROW) + f".{kopecks % 100:02}", WIDE)

    def deleted(self, moment, now):
        """"Every count of days is of the moment at which the mail leaves", whatever held it back: days of the calendar, as
        the day that it names."""
        day = self.local(moment).date()
        left = (day - self.now.date()).days
        today = ["deleted today"] if day == self.now.date() else []
        if moment <= now:
            return today or [f"were to be deleted {self.day(day)}"]
        return today + [f"deleted {self.day(day)}, in {left} day{'' if left == 1 else 's'}"]

    def last_safe_day(self, cut_off):
        return last_safe_day(cut_off, self.lead, self.zone)

    def by(self, cut_off, overdue):
        if overdue or cut_off is None:
            return "now"
        last, today = self.last_safe_day(cut_off), self.now.date()
        return "now" if last < today else "today" if last == today else f"by {self.day(last)}"


def check(mail, event, account, ladder, forecasts):
    """What is wrong with a mail that tells of a cut-off; `ladder` as it was when it was made, from one of `forecasts`."""
    found = [of_one(mail, event, account, ladder, forecast) for forecast in forecasts]
    return min(found, key=len, default=["no report had arrived"])


def check_chat(mail, sums, words, wrong):
    """One line has the three sums."""
    said = {days: "not known" if need is None else words.sum(need) if need else "nothing" for days, need in sums.items()}
    line = "Pay for " + ", ".join(f"{days} days: {sum}" for days, sum in said.items())
    if line not in mail.text.split("\n"):
        wrong.append(f"{line!r} is no line of {mail.text!r}")


def check_end(mail, account, forecasts):
    """"No cut-off before 21 Feb 2027": as far as the report reaches that proves it, one of this step."""
    words = Words(account, mail.date)
    ends = {words.short_day(words.local(one.until).date()) for one in forecasts if one is not None}
    said = any(f"o cut-off before {end} (" in mail.subject for end in ends)
    return [] if said else [f"subject: {mail.subject!r} lacks 'No cut-off before {' or '.join(sorted(ends))}'"]


def of_one(mail, event, account, ladder, forecast):
    now = mail.date
    words = Words(account, now)
    overdue = ladder.is_overdue(now)
    date = None if ladder.gone else ladder.date
    by = words.by(date, overdue)
    sums = {days: due(forecast, now, days) for days in (7, 30, 90)}
    wrong = []

    def wants(what, text, place):
        if text not in place:
            wrong.append(f"{what}: {text!r} is not in {place!r}")

    dated_at = ladder.dated_at or ladder.read_at
    # A day to the second may be over for one clock and not for the other.
    is_close = ladder.last_at and abs(now - ladder.last_at - DAY) < 5 and "may be cut off" in mail.text.replace("\r\n", " ")
    if overdue and ladder.last_at and (now - ladder.last_at >= DAY or is_close):
        # "Past a date that no good report confirmed in the last 24 h, … "may be cut off", without an amount".
        wants("text", "may be cut off", mail.text.replace("\r\n", " "))
        wrong += re.findall(r"\bpay \d.*", mail.text)
        return wrong
    if mail.is_chat:
        check_chat(mail, sums, words, wrong)
    rows = {int(days): cells for days, *cells in
            re.findall(r"^ {2}(7|30|90) days {2,}(.+?) {2,}(.+?) {2,}(.+?)\r?$", mail.text, re.M)}
    for days, need in sums.items():
        after = left_then(forecast, now, days)
        if need is None:
            expected = ["not known", "\u2013", "not known"]
        elif need == 0:
            expected = ["nothing", "\u2013", words.balance(after)]
        else:
            expected = [words.sum(need), by.removeprefix("by "), words.balance(after)]
        if rows.get(days) != expected and not mail.is_chat:
            wrong.append(f"for {days} days it says {rows.get(days)}, right is {expected}")
    # The subject has the sum for 30 days, or for as long as the report reaches.
    known = [sums[days] for days in (30, 7) if sums[days] is not None]
    if known and known[0] > 0:
        if f": pay {words.subject_sum(known[0])} {by} (" not in mail.subject:
            wrong.append(f"subject: {mail.subject!r} lacks 'pay {words.subject_sum(known[0])} {by}'")
    # "`lead_days` + 1 is always one of them …, critical from there, warning above"; "only the tightest newly crossed rung is
    # mailed, once, with that rung's severity".
    name, _, rung = event.partition(":")
    if name in ("rung", "overdue", "deletion", "balance-used-up"):
        # "An account … whose balance is at or below 0 is near too."
        is_far = name == "rung" and int(rung) > account.lead + 1 and not ladder.is_used_up()
        severity = "WARNING" if is_far else "CRITICAL"
        wants("severity", f"[{severity}] ", mail.subject)
    # In a chat the subject stands above it.
    lead = mail.text.split("\n")[1] if mail.is_chat else \
        mail.text.split("\r\n\r\n")[0].replace("\r\n", " ").replace("\n", " ")
    # "Line 1 when, how much, by which day"; "the first line of the mail also names the least, for 7". That of a mail about the
    # deletion has the day of that.
    if date is not None:
        wants("first line", words.moment(date), mail.text if event.startswith("deletion:") else lead)
    span = next((days for days in (30, 7) if sums[days] is not None), None)
    if span and sums[span] > 0:
        wants("first line", f": pay {words.sum(sums[span])} {by} for {span} days", lead)
        if span > 7 and sums[7] > 0:
            wants("first line", f", at least {words.sum(sums[7])} for 7", lead)
    if date is not None:
        if event.startswith("rung") or event.startswith("overdue"):
            what = f"OVERDUE since {words.day(words.local(date).date())}" if overdue else \
                f"ut-off {words.day(words.local(date).date())}"  # "Balance used up, cut-off Sat 19 Feb" too
            wants("subject", what, mail.subject)
    # "Cut-off now Tue 24 Mar, was 4 Mar": was as people know it, by the last mail. Of one day there is nothing to say.
    if name in ("paid", "extended") and ladder.told is not None and date is not None:
        new, was = words.local(date).date(), words.local(ladder.told).date()
        if new != was:
            wants("subject", f"Cut-off now {words.day(new)}, was {words.short_day(was)}", mail.subject)
    if event.startswith("deletion:"):
        days = words.deleted(date + account.deletion * DAY, now)
        if not any(f"Data {text}: " in mail.subject for text in days):
            wrong.append(f"subject: {mail.subject!r} lacks {' or '.join(days)!r}")
    # A chat's six lines say "Data deleted today" alone.
    if overdue and account.deletion and date is not None and not (mail.is_chat and name == "deletion"):
        wants("deletion", words.day(words.local(date + account.deletion * DAY).date()), mail.text)
    # "During poll failures the ladder goes on from the last known date, labelled "as of"".
    # It was read when its answer had come: 30 s later at most.
    if ladder.failed and not any("as of " + words.moment(dated_at + took) in lead for took in (0, 30)):
        wrong.append(f"rests on a report of {words.moment(dated_at)} and does not say so: {lead!r}")
    if not ladder.failed and dated_at == ladder.read_at and "as of " in lead:
        wrong.append(f"says that it is old, and is not: {lead!r}")
    return wrong
