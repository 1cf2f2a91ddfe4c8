#!/usr/bin/env python3
"""Does the judge see it? Accounts live through a part of the year; then their mails are spoiled, one at a time, and judged
again: each has to be complained of, and none of them as they came."""
import argparse
import copy
import re
import sys

import judge
import lane as lanes
from run import first_day, leave_nothing_behind
from world import DAY

AT_MOST = 8


def one_more(found):
    return str(int(found[0]) + 1)


def instead(pattern, by, *events):
    """The subject says something else."""
    def spoil(mail):
        if not (mail.news and mail.news[0][1].split(":")[0] in events and re.search(pattern, mail.subject)):
            return None
        other = copy.copy(mail)
        other.subject = re.sub(pattern, by, mail.subject, count=1)
        other.text = re.sub(pattern, by, mail.text)
        return [other]
    return spoil


def again(mail):
    other = copy.copy(mail)
    other.name += " again"
    other.at += 1
    return [mail, other] if "/disconnect/" in mail.news[0][0] else None


def lost(mail):
    return [] if "/disconnect/" in mail.news[0][0] else None


RUNGS = ("rung", "overdue", "deletion")
SPOILED = {
    "lost": lost,
    "told twice": again,
    "a unit more to pay": instead(r"(?<=: pay )\d+", one_more, *RUNGS, "paid", "extended"),
    "a day more until the deletion": instead(r"(?<=, in )\d+(?= days?: )", one_more, "deletion"),
    "another day": instead(r"(?<=OVERDUE since )\w+|(?<=Cut-off )(?!now)\w+", "Xxx", "rung", "overdue"),
    "in another state than it is": instead(r"(now|still) blocked, w", r"\1 active, w", "reminder"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--accounts", type=int, default=24)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--skip", type=int, default=20)
    options = parser.parse_args()
    leave_nothing_behind()
    begin = first_day() + options.skip * DAY
    names = [f"a{number:04}" for number in range(options.accounts)]
    # All goes well but the money: what is spoiled is what is wrong.
    lane = lanes.Lane(options.binary, 0, names, options.seed, begin, begin + options.days * DAY, calm=True).run()
    came, missed = lane.mail_server.mails, 0
    if judge.judge(lane).complaints:
        sys.exit(f"as they came: {judge.judge(lane).complaints}")
    for what, spoil in SPOILED.items():
        places = [place for place, mail in enumerate(came) if mail.news and spoil(mail) is not None]
        # All over the time.
        places = places[::-(-len(places) // AT_MOST) or 1]
        seen = 0
        for place in places:
            lane.mail_server.mails = came[:place] + spoil(came[place]) + came[place + 1:]
            caught = bool(judge.judge(lane).complaints)
            seen += caught
            if not caught:
                print(f"           not seen: {came[place].news[0]} {came[place].subject}")
        missed += len(places) - seen + (not places)
        print(f"{seen:4} of {len(places):2} seen: {what}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
