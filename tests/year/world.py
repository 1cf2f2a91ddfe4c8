"""What truly happens to an account in its year: charges, payments, prices, orders, and what is switched off when nothing
is left. All money is whole kopecks, all times are seconds since 1970 on a grid of ten minutes, so that every sum is exact
and nothing happens while the daemon looks. Drawn from a seed."""
import calendar
import datetime
import heapq
import random
import zoneinfo

MINUTE, HOUR, DAY = 60, 3600, 86400
GRID = 600
ZONES = ["Europe/Moscow", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Europe/Moscow", "Australia/Sydney"]
CURRENCIES = ["RUB", "EUR", ""]
# Whole units, and not; sums of whole ones lie on whole units.
PRICES = {"month": [30000, 100000, 49900, 33333, 123457, 250000], "week": [7000, 10000, 4999, 12345],
          "day": [1000, 1500, 333, 2599]}
UTC = datetime.timezone.utc
LOOK = 800


class Order:
    def __init__(self, number, period, price, anchor, name):
        self.number, self.period, self.price, self.anchor, self.name = number, period, price, anchor, name
        self.ends = None

    def local(self, turn):
        """The local time of a charge."""
        if self.period == "month":
            month = self.anchor.month - 1 + turn
            year, month = self.anchor.year + month // 12, month % 12 + 1
            day = min(self.anchor.day, calendar.monthrange(year, month)[1])
            return self.anchor.replace(year=year, month=month, day=day)
        return self.anchor + datetime.timedelta(days=turn * (7 if self.period == "week" else 1))


def on_grid(moment):
    return int(moment) // GRID * GRID


class Account:
    """Advanced from moment to moment; what it shows is what was true then."""

    def __init__(self, name, seed, begin, end):
        self.name, self.begin, self.end = name, begin, end
        self.random = draw = random.Random(f"{seed} {name}")
        self.zone_name = draw.choice(ZONES)
        self.zone = zoneinfo.ZoneInfo(self.zone_name)
        self.currency = draw.choice(CURRENCIES)
        self.lead = draw.choice([1, 2, 3, 3, 3, 5])
        self.deletion = draw.choice([0, 0, 9, 14, 30])
        self.grace = draw.choice([0, 0, 0, 0, 2, 5]) * DAY
        self.names_dates = draw.random() < 0.85
        self.has_hosting = draw.random() < 0.2
        self.to = [f"{name}@example.com"] + ([f"second-{name}@example.com"] if draw.random() < 0.15 else [])
        # Of its own, so that nothing else is otherwise drawn: some have a Telegram chat beside their mails, some nothing else.
        chat = random.Random(f"{seed} {name} chat").random()
        if chat < 0.3:
            self.to = [f"telegram:{name}"] if chat < 0.05 else self.to + [f"telegram:{name}"]
        self.queue, self.turns = [], 0
        self.now = begin
        self.depleted_at = self.off_at = None
        self.offs, self.history = [], []
        self.orders, self.rows, self.version = [], [], 0
        rhythm = draw.choices(["month", "week", "day"], [6, 3, 1])[0]
        for _ in range(draw.choice([1, 1, 2, 3])):
            self.add_order(rhythm)
        self.vms = {number: "active" for number in range(1, draw.choice([2, 2, 3]))}
        self.sick = set()
        self.container, self.sites = ("ENABLED", {1: "Active", 2: "Active"}) if self.has_hosting else (None, {})
        self.balance = 0
        self.balance = self.worth(draw.uniform(3, 70)) + draw.choice([0, 0, 1, 50])
        self.draw_troubles()
        self.plan()

    # Orders and charges

    def add_order(self, period=None):
        draw = self.random
        period = period or draw.choice(["month", "week"])
        local = datetime.datetime.fromtimestamp(self.now, UTC).astimezone(self.zone).replace(tzinfo=None)
        hour = draw.choice([0, 0, 4, 7, 9, 12, 15, 18, 21, 23])
        anchor = local.replace(hour=hour, minute=draw.choice([0, 0, 10, 30, 50]), second=0, microsecond=0)
        anchor += datetime.timedelta(days=draw.randint(1, {"month": 30, "week": 7, "day": 1}[period]))
        number = 100 * (1 + len(self.orders)) + draw.randint(1, 99)
        self.orders.append(Order(number, period, draw.choice(PRICES[period]), anchor, f"order {number}"))
        self.charges_change()

    def charges_change(self):
        """What is to be charged from now on: moment, its local time, the order, the price."""
        rows, self.version = [], self.version + 1
        until = self.now + LOOK * DAY
        for order in self.orders:
            turn = 0
            while True:
                local = order.local(turn)
                moment = int(local.replace(tzinfo=self.zone).timestamp())
                turn += 1
                if moment > until or (order.ends and moment >= order.ends):
                    break
                if moment > self.now:
                    rows.append((moment, local.isoformat(), order, order.price))
        self.rows = sorted(rows, key=lambda row: (row[0], row[2].number))
        self.next = 0
        if self.rows:
            heapq.heappush(self.queue, (self.rows[0][0], -1, "charge", self.version))

    def worth(self, days):
        """What keeps it going for so long."""
        return sum(price for moment, _, _, price in self.rows[self.next:] if moment <= self.now + days * DAY) or 100

    def runs_dry(self):
        """The first charge that leaves nothing, if all stays as it is."""
        left = self.balance
        for moment, _, _, price in self.rows[self.next:]:
            left -= price
            if left <= 0:
                return moment
        return None

    # What is to come

    def at(self, moment, what, data=None):
        self.turns += 1
        heapq.heappush(self.queue, (max(on_grid(moment), self.now + GRID), self.turns, what, data))

    def plan(self):
        """How the next bill is paid."""
        draw, dry = self.random, self.depleted_at or self.runs_dry()
        if dry is None:
            self.at(self.now + 30 * DAY, "plan")
            return
        off = dry + self.grace
        early = off - draw.uniform(8, 20) * DAY
        last = off - (self.lead + draw.uniform(0, 1)) * DAY
        tight = off - draw.uniform(0.1, self.lead) * DAY
        habit = draw.choices(["early", "last", "tight", "late", "forgets", "never", "partial", "double", "in bits"],
                             [20, 20, 10, 15, 8, 3, 10, 8, 6])[0]
        whole = draw.uniform(12, 100)
        pays = {"early": [(early, whole)], "last": [(last, whole)], "tight": [(tight, whole)],
                "late": [(off + draw.uniform(0.1, 6) * DAY, whole)],
                "forgets": [(off + draw.uniform(10, 45) * DAY, whole)],
                "never": [(off + draw.uniform(50, 90) * DAY, whole)],
                "partial": [(off - 6 * DAY, draw.uniform(1, 5)), (off + draw.uniform(-1, 4) * DAY, whole)],
                "double": [(last, whole), (last + draw.uniform(0.02, 2) * DAY, whole)],
                "in bits": [(off - draw.uniform(0.2, 9) * DAY, draw.uniform(3, 9)) for _ in range(3)]}[habit]
        for number, (moment, days) in enumerate(sorted(pays)):
            self.at(moment, "pay", (days, number == len(pays) - 1))

    def draw_troubles(self):
        draw, length = self.random, self.end - self.begin
        for what, a_year in [("reprice", 1.5), ("new order", 1), ("end order", 1), ("refund", 0.7), ("extra", 0.5),
                             ("sick", 1.5)]:
            for _ in range(round(draw.expovariate(1 / a_year) * length / (365 * DAY))):
                self.at(draw.uniform(self.begin + DAY, self.end), what)

    # What happens

    def advance(self, moment):
        while self.queue and self.queue[0][0] <= moment:
            when, _, what, data = heapq.heappop(self.queue)
            self.now = when
            getattr(self, "do_" + what.replace(" ", "_"))(data)
        self.now = moment

    def change(self, what, amount):
        before, self.balance = self.balance, self.balance + amount
        self.history.append((self.now, what, amount))
        if before > 0 >= self.balance:
            self.depleted_at = self.now
            self.at(self.now + self.grace if self.grace else self.now, "off", self.now)
        elif before <= 0 < self.balance:
            self.depleted_at = None
            if self.off_at is not None:
                self.offs.append((self.off_at, self.now))
                self.off_at = None
                self.at(self.now + self.random.choice([1, 3, 90]) * GRID, "lights", True)

    def do_charge(self, version):
        if version != self.version:
            return
        while self.next < len(self.rows) and self.rows[self.next][0] <= self.now:
            self.change("charge", -self.rows[self.next][3])
            self.next += 1
        if self.next < len(self.rows):
            heapq.heappush(self.queue, (self.rows[self.next][0], -1, "charge", version))

    def do_off(self, since):
        if self.depleted_at == since:
            self.off_at = since + self.grace
            self.at(self.now + self.random.choice([1, 2, 100]) * GRID, "lights", False)
            if self.random.random() < 0.6:
                # Not all that breaks then has that cause.
                self.at(self.now + self.random.uniform(0.3, 2) * DAY, "sick")

    def do_lights(self, on):
        if on != (self.off_at is None):
            return
        for vm in self.vms:
            if vm not in self.sick:
                self.vms[vm] = "active" if on else "blocked"
        if self.container:
            self.container = "ENABLED" if on else "DISABLED_BY_SERVICE"
            self.sites = {site: "Active" if on else "StoppedByService" for site in self.sites}

    def do_pay(self, data):
        days, last = data
        amount = self.worth(days) + max(0, -self.balance)
        shape = self.random.random()
        if shape < 0.4:
            amount = -(-amount // 100) * 100
        elif shape < 0.6:
            amount += self.random.randint(0, 9999)
        self.change("payment", amount)
        if last:
            self.at(self.now + GRID, "plan")

    def do_plan(self, _):
        self.plan()

    def do_reprice(self, _):
        order = self.random.choice(self.orders)
        order.price = self.random.choice([order.price * 2, order.price + 100, max(100, order.price // 2)])
        self.charges_change()

    def do_new_order(self, _):
        if len(self.orders) < 5:
            self.add_order()

    def do_end_order(self, _):
        alive = [order for order in self.orders if order.ends is None]
        if len(alive) > 1:
            self.random.choice(alive).ends = self.now
            self.charges_change()

    def do_refund(self, _):
        self.change("refund", self.random.choice([100, 5000, 12345, 100000]))

    def do_extra(self, _):
        """A charge that no report foresaw."""
        self.change("extra", -self.random.choice([100, 5000, 33300, max(100, self.balance * 2 // 3)]))

    def do_sick(self, _):
        vm = self.random.choice(list(self.vms))
        if vm not in self.sick:
            self.sick.add(vm)
            self.vms[vm] = "error"
            self.at(self.now + self.random.choice([0.1, 0.7, 2, 5]) * DAY, "well", vm)

    def do_well(self, vm):
        self.sick.discard(vm)
        self.vms[vm] = "active" if self.off_at is None else "blocked"

    # What a report says

    def forecast(self, until):
        """Balance, charges ahead up to `until`, and the date of the cut-off as the provider knows it."""
        rows, first = self.rows, self.next
        last, left, dry = first, self.balance, None
        while last < len(rows) and rows[last][0] <= until:
            left -= rows[last][3]
            if dry is None and left <= 0:
                dry = rows[last][0]
            last += 1
        dry = self.depleted_at or dry
        cut_off = dry + self.grace if dry else None
        return Forecast(self.balance, rows, first, last, cut_off if cut_off and cut_off <= until else None, until)


class Forecast:
    """What an answer says, as it was served; the rows are shared by all answers until the orders change."""
    __slots__ = ("balance", "rows", "first", "last", "cut_off", "until")

    def __init__(self, balance, rows, first, last, cut_off, until):
        self.balance, self.rows, self.first, self.last = balance, rows, first, last
        self.cut_off, self.until = cut_off, until

    def moments(self):
        """Moment, amount, balance after it."""
        left, found = self.balance, []
        for moment, _, _, price in self.rows[self.first:self.last]:
            left -= price
            found.append((moment, price, left))
        return found
