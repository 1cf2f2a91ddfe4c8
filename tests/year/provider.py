"""The provider: HTTP for all accounts of a lane, written from the interface alone. It answers as the world and the weather
are at this moment of the virtual clock, and keeps what it answered."""
import asyncio
import base64
import datetime
import email.utils
import json
import random
import re
import select

from world import DAY, Forecast

UTC = datetime.timezone.utc
CODES = {"ENABLED": 0, "DISABLED_BY_SERVICE": 1}
# How long an answer takes where it is slow: so that a sweep of all accounts, eight requests at a time, takes a minute. After
# two the engine speaks of what it knows, and the judge does not tell what came before from what came later.
SLOW, SWEEP, AT_A_TIME, REQUESTS = 8, 60, 8, 2.5
# Nobody waits longer for an answer.
PATIENCE = 30


class Answer:
    """What was answered of an account at a moment: a forecast, or what was wrong; and when that was sent."""
    __slots__ = ("at", "group", "trouble", "content", "came")

    def __init__(self, at, group, trouble, content):
        self.at, self.group, self.trouble, self.content, self.came = at, group, trouble, content, at

    def was_not_read(self):
        self.trouble, self.content, self.came = "closed", None, max(self.came, self.at + PATIENCE + 1)


def money(kopecks):
    sign, kopecks = ("-", -kopecks) if kopecks < 0 else ("", kopecks)
    return f"{sign}{kopecks // 100}.{kopecks % 100:02d}"


class Provider:
    def __init__(self, accounts, weather, clock):
        self.accounts = {account.name: account for account in accounts}
        self.weather, self.clock = weather, clock
        self.answers = {name: [] for name in self.accounts}
        self.requests, self.troubled, self.kept = 0, False, None
        self.fragments, self.listings, self.turn = {}, {}, {}
        self.date = (0, b"")
        self.slow = min(SLOW, SWEEP * AT_A_TIME / (REQUESTS * len(self.accounts)))

    async def start(self):
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(lambda: Connection(self), "127.0.0.1", 0, backlog=1000)
        self.port = self.server.sockets[0].getsockname()[1]

    def answer(self, path, authorization):
        """Status, body, and how long that takes; a status of 0 closes the connection."""
        self.requests += 1
        word, _, token = authorization.partition(" ")
        name = base64.b64decode(token).decode().split(":")[0] if word == "Basic" else token
        account = self.accounts.get(name)
        if account is None:
            return 401, b"{}", 0
        now = self.clock.now()
        trouble = self.weather.provider.at(now)
        group = "report" if path.startswith("/api/v1/exp") else "vms" if path.startswith("/api/cvds") else "hosting"
        if trouble in ("down", "closed"):
            self.keep(account, now, group, trouble, None)
            return (503 if trouble == "down" else 0), b"{}", 0
        account.advance(now)
        wait = self.slow if trouble == "slow" else 0
        if group == "report":
            return self.report(account, path, now, wait)
        content = dict(account.vms) if group == "vms" else (account.container, dict(account.sites))
        self.keep(account, now, group, None, content)
        return 200, self.listing(account, path), wait

    def keep(self, account, now, group, trouble, content):
        self.troubled = self.troubled or trouble is not None
        self.kept = Answer(now, group, trouble, content)
        self.answers[account.name].append(self.kept)

    def report(self, account, path, now, wait):
        trouble = self.weather.reports[account.name].at(now)
        day = datetime.date.fromisoformat(path.rstrip("/").rsplit("/", 1)[1])
        until = int(datetime.datetime.combine(day, datetime.time(), account.zone).timestamp())
        forecast = account.forecast(until)
        if not account.names_dates:
            forecast.cut_off = None
        if trouble == "null":
            forecast.cut_off = None
        if trouble == "bare":
            forecast = Forecast(max(forecast.balance, 100), forecast.rows, 0, 0, None, until)
        if trouble == "alternating" and forecast.cut_off and forecast.cut_off > now:
            turn = self.turn[account.name] = self.turn.get(account.name, 0) + 1
            forecast.cut_off += turn % 2 * 2 * DAY
        if trouble in ("broken", "missing"):
            self.keep(account, now, "report", trouble, None)
            return (404, b"{}", wait) if trouble == "missing" else (500, b"oops", wait)
        wait = self.slow if trouble == "slow" else wait
        self.keep(account, now, "report", "error" if trouble == "error" else None, forecast)
        return 200, self.write(account, forecast, day, trouble == "error"), wait

    def write(self, account, forecast, day, wrong):
        left, found = forecast.balance, []
        for moment, local, order, price in forecast.rows[forecast.first:forecast.last]:
            left -= price
            found.append(f'{{"amount":"{money(price)}","balance":"{money(left)}","moment":"{local}","positive":'
                         f'{"true" if left > 0 else "false"},"order":{self.order(order, price)}}}')
        if int(account.name[1:]) % 7 == 3:
            # Nobody promised an order.
            random.Random(len(found)).shuffle(found)
        edd = "null"
        if forecast.cut_off is not None:
            edd = '"' + self.moment(account, forecast.cut_off) + '"'
        error = '"the forecast failed"' if wrong else "null"
        return (f'{{"date":"{day}T00:00:00","edd":{edd},"error":{error},"expected_balance":"{money(left)}",'
                f'"charge_moments":[{",".join(found)}]}}').encode()

    def moment(self, account, at):
        """With and without an offset, as the interface leaves open."""
        local = datetime.datetime.fromtimestamp(at, account.zone)
        if int(account.name[1:]) % 3 == 0:
            return local.isoformat()
        return local.replace(tzinfo=None).isoformat(" " if int(account.name[1:]) % 3 == 1 else "T")

    def order(self, order, price):
        key = (id(order), price)
        if key not in self.fragments:
            unit = {"day": [1, "day"], "week": [7, "day"], "month": [1, "month"]}[order.period]
            self.fragments[key] = json.dumps({
                "id": order.number, "comment": order.name, "last_charge_date": None, "paid_till": None,
                "start_date": "2024-01-01T00:00:00", "end_date": None, "state": "ORDERED",
                "tariff": {"id": order.number, "amount": money(price), "billing_period": unit, "charge_period": unit,
                           "generic_type": "hosting", "independent": True, "name": "Small", "short_name": "S",
                           "type": "std"}})
        return self.fragments[key]

    def listing(self, account, path):
        key = (path.split("?")[0], account.name, tuple(account.vms.values()), account.container,
               tuple(account.sites.values()))
        if key not in self.listings:
            self.listings[key] = json.dumps(self.rows(account, path)).encode()
        return self.listings[key]

    @staticmethod
    def rows(account, path):
        if path.startswith("/api/cvds/v1/vms/"):
            rows = [{"id": number, "vm_id": f"vm{number}", "name": f"web-{number}", "type": "small", "ncpu": 1,
                     "memsize": 1024, "state": state, "monitoring_enabled": False, "storages": [], "ssh_keys": [],
                     "ips": []} for number, state in account.vms.items()]
            return {"count": len(rows), "next": None, "previous": None, "results": rows}
        if path.startswith("/api/v1/hosting/containers/"):
            return {"count": 1, "entities": [
                {"id": 7, "login": "c7", "name": "shop", "service_address": "h7", "service_ip": "192.0.2.7",
                 "memory_limit": 1024, "quota": 10240, "state": CODES[account.container], "environment": 0,
                 "created": "2024-01-02", "updated": "2024-01-02", "virtualhosts": [], "memcache": None, "redis": None,
                 "is_in_transfer": False}]}
        rows = [{"id": number, "name": f"site{number}.example.com", "state": state, "created": "2024-01-02",
                 "updated": "2024-01-02", "force_https": False, "certificate_id": 0, "main_alias": "", "aliases": [],
                 "engine": "php", "engine_version": "8.2", "num_workers": 1, "container": {"id": 7}}
                for number, state in account.sites.items()]
        return {"count": len(rows), "entities": rows}

    def head(self, status, length):
        second = int(self.clock.now())
        if self.date[0] != second:
            self.date = (second, email.utils.formatdate(second, usegmt=True).encode())
        return b"HTTP/1.1 %d -\r\nContent-Type: application/json\r\nDate: %b\r\nContent-Length: %d\r\n\r\n" % (
            status, self.date[1], length)


class Connection(asyncio.Protocol):
    def __init__(self, provider):
        self.provider, self.buffer = provider, b""

    def connection_made(self, transport):
        self.transport, self.last = transport, None

    def connection_lost(self, error):
        # A reset, and no orderly end: what was sent last was not read.
        if error and self.last:
            self.last.was_not_read()

    def data_received(self, data):
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head, self.buffer = self.buffer[:end].decode("latin-1"), self.buffer[end + 4:]
            found = re.search(r"^authorization: (.*)$", head, re.M | re.I)
            path = head.split(" ", 2)[1]
            status, body, wait = self.provider.answer(path, found[1].strip() if found else "")
            if status == 0:
                self.transport.abort()
            elif wait:
                self.provider.clock.later(wait, self.reply, status, body, self.provider.kept)
            else:
                self.reply(status, body, self.provider.kept)

    def reply(self, status, body, answer):
        # Time goes on in steps: that is later than it was to take.
        self.last, answer.came = answer, self.provider.clock.now()
        # Whoever asks sends nothing before the answer, and on a busy machine gives up first.
        has_left = self.transport.is_closing() or select.select([self.transport.get_extra_info("socket")], [], [], 0)[0]
        if has_left:
            answer.was_not_read()
        else:
            self.transport.write(self.provider.head(status, len(body)) + body)
