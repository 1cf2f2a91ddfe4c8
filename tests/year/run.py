#!/usr/bin/env python3
"""A year of many accounts in virtual time: see docs/dev/judges.md."""
import argparse
import calendar
import datetime
import multiprocessing
import pickle
import signal
import sys
import time

import judge
import lane as lanes
import spoiled
from world import DAY

UTC = datetime.timezone.utc


def first_day():
    """The first of November before the next leap day, so that a year has all there is: New Year, 29 February, both
    changes of the clock."""
    year = datetime.datetime.now(UTC).year + 1
    while not calendar.isleap(year + 1):
        year += 1
    return int(datetime.datetime(year, 11, 1, tzinfo=UTC).timestamp())


def live(arguments):
    options, number, names = arguments
    leave_nothing_behind()
    begin = first_day() + options.skip * DAY
    lane = lanes.Lane(options.binary, number, names, options.seed, begin, begin + options.days * DAY, options.calm,
                      options.keep, options.lost_days)
    lived = lane.run().record()
    if options.keep:
        with open(f"{options.keep}.{number}.lived", "wb") as file:
            pickle.dump(lived, file)
    return spoiled.spoil(lived) if options.spoil else judge.judge(lived)


def judge_again(path):
    with open(path, "rb") as file:
        return judge.judge(pickle.load(file))


def leave_nothing_behind():
    """Whoever is told to end ends its daemon too, and removes its folder."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--accounts", type=int, default=500)
    parser.add_argument("--days", type=int, default=366)
    parser.add_argument("--skip", type=int, default=0, help="begin so many days later")
    parser.add_argument("--lanes", type=int, default=2, help="daemons side by side")
    parser.add_argument("--calm", action="store_true", help="nothing goes wrong but the accounts' money")
    parser.add_argument("--lost-days", type=int, default=1, help="the mail server's replies are lost for so long at most")
    parser.add_argument("--only", help="one account alone, such as a0017")
    parser.add_argument("--keep", help="the beginning of paths for the daemons' logs, and for all that the judge sees")
    parser.add_argument("--again", action="store_true", help="judge once more what --keep wrote; no binary is started")
    parser.add_argument("--spoil", action="store_true", help="judge spoiled mails instead: each has to be complained of")
    parser.add_argument("--show", type=int, default=20, help="complaints shown of each kind")
    options = parser.parse_args()
    names = [options.only] if options.only else [f"a{number:04}" for number in range(options.accounts)]
    count = min(options.lanes, len(names))
    begun = time.monotonic()
    leave_nothing_behind()
    with multiprocessing.Pool(count) as pool:
        if options.again:
            verdicts = pool.map(judge_again, [f"{options.keep}.{number}.lived" for number in range(count)], 1)
        else:
            verdicts = pool.map(live, [(options, number, names[number::count]) for number in range(count)], 1)
    counts, complaints = {}, {}
    for verdict in verdicts:
        for what, number in verdict.counts.items():
            counts[what] = counts.get(what, 0) + number
        for what, found in verdict.complaints.items():
            complaints.setdefault(what, []).extend(found)
    for what, number in sorted(counts.items()):
        print(f"{number:9,}  {what}")
    for what, found in sorted(complaints.items()):
        print(f"{len(found):9,}  WRONG: {what}")
        for one in found[:options.show]:
            print(f"           {one}")
    print(f"{time.monotonic() - begun:.0f} s, seed {options.seed}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
