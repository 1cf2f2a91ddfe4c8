"""What goes wrong beside the accounts' own stories: how the provider answers, how the mail server behaves. Spells in
time, drawn from a seed."""
import bisect
import random

from world import DAY, HOUR, on_grid

# Of one account's report: what is wrong, how often a year, for how long at most.
REPORT = [("error", 1, 3 * DAY), ("missing", 0.6, 2 * DAY), ("null", 0.7, 2 * DAY), ("bare", 0.6, 3 * DAY),
          ("alternating", 0.6, 4 * DAY), ("broken", 0.6, 2 * DAY), ("slow", 1, DAY)]
# Of all that the provider answers.
PROVIDER = [("down", 4, 2 * DAY), ("slow", 4, DAY), ("closed", 2, DAY)]
TELEGRAM = [("down", 4, 3 * DAY), ("refuses", 3, 2 * DAY), ("loses replies", 5, DAY), ("busy", 3, DAY)]
MAIL = [("defers", 4, 3 * DAY), ("refuses", 2, 2 * DAY), ("loses replies", 5, DAY), ("silent", 1, DAY)]


class Spells:
    def __init__(self, draw, kinds, begin, end):
        found = []
        for kind, a_year, longest in kinds:
            for _ in range(round(draw.expovariate(1 / a_year) * (end - begin) / (365 * DAY))):
                start = on_grid(draw.uniform(begin + 2 * DAY, end))
                found.append((start, start + on_grid(draw.uniform(HOUR, longest)), kind))
        self.spells = []
        for start, stop, kind in sorted(found):
            # One at a time.
            if not self.spells or start > self.spells[-1][1]:
                self.spells.append((start, stop, kind))
        self.starts = [start for start, _, _ in self.spells]

    def at(self, moment):
        place = bisect.bisect_right(self.starts, moment) - 1
        if place >= 0 and moment < self.spells[place][1]:
            return self.spells[place][2]
        return None


class Weather:
    def __init__(self, seed, accounts, begin, end, calm=False, lost_days=1):
        draw = random.Random(f"{seed} weather")
        kinds = (lambda _: []) if calm else (lambda kinds: kinds)
        self.provider = Spells(draw, kinds(PROVIDER), begin, end)
        longer = [(kind, often, lost_days * DAY if kind == "loses replies" else longest) for kind, often, longest in MAIL]
        self.mail = Spells(draw, kinds(longer), begin, end)
        self.reports = {account.name: Spells(draw, kinds(REPORT), begin, end) for account in accounts}
        self.telegram = Spells(random.Random(f"{seed} telegram"), kinds(TELEGRAM), begin, end)
        recipients = [to for account in accounts for to in account.to if "@" in to]
        self.greylists = set() if calm else {to for to in recipients if draw.random() < 0.2}
        # Nobody takes these from some day on.
        self.dead = {} if calm else {to: draw.uniform(begin, end) for to in recipients
                                     if to.startswith("second-") and draw.random() < 0.3}
        if not calm:
            # The bot is thrown out of these; the account has other recipients.
            chats = random.Random(f"{seed} chats")
            self.dead.update({account.to[-1]: chats.uniform(begin, end) for account in accounts
                              if account.to[-1].startswith("telegram:") and len(account.to) > 1 and chats.random() < 0.2})

    def of(self, to, moment):
        """What hinders who is to be told, if anything does."""
        return (self.telegram if to.startswith("telegram:") else self.mail).at(moment)
