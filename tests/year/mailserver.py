"""The mail server: SMTP as the weather is at this moment of the virtual clock. Keeps what it took."""
import asyncio
import email
import email.header
import email.parser
import email.utils
import hashlib
import re

from world import DAY, MINUTE

HEADERS = email.parser.BytesHeaderParser()


class Mail:
    """One that arrived: its headers and its text; the rest is long, and one digest of all has to do."""
    is_chat = False

    def __init__(self, at, to, raw, reply_lost):
        self.at, self.to, self.reply_lost = at, to, reply_lost
        self.digest = hashlib.sha256(raw).hexdigest()
        head = HEADERS.parsebytes(raw[:raw.index(b"\r\n\r\n") + 4])
        self.subject = str(email.header.make_header(email.header.decode_header(head["Subject"])))
        self.subject = re.sub(r"\r?\n(?=[ \t])", "", self.subject)
        self.name = head["Message-ID"]
        self.date = email.utils.parsedate_to_datetime(head["Date"]).timestamp()
        self.news = list(zip(head.get_all("X-Hostwatch-Incident", []), head.get_all("X-Hostwatch-Event", [])))
        begin = raw.index(b"Content-Type: text/plain")
        part = email.message_from_bytes(raw[begin:raw.index(b"\r\n--", begin)])
        self.text = part.get_payload(decode=True).decode()


class MailServer:
    GREY_FOR, GREY_KNOWN = 5 * MINUTE, 30 * DAY

    def __init__(self, weather, clock):
        self.weather, self.clock = weather, clock
        self.mails, self.seen, self.turned_away = [], {}, 0
        self.refused = []
        self.server, self.port, self.busy = None, 0, 0

    async def start(self):
        self.server = await asyncio.start_server(self.converse, "127.0.0.1", self.port, limit=2 ** 24)
        self.port = self.server.sockets[0].getsockname()[1]

    async def follow_weather(self):
        """Nobody listens while connections are refused."""
        listens = self.weather.mail.at(self.clock.now()) != "refuses"
        if listens and self.server is None:
            await self.start()
        elif not listens and self.server is not None:
            self.server.close()
            await self.server.wait_closed()
            self.server = None

    async def converse(self, reader, writer):
        self.busy += 1
        try:
            await self.session(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            """Who was killed says no goodbye."""
        finally:
            self.busy -= 1
            writer.close()

    async def session(self, reader, writer):
        def say(text):
            writer.write(text.encode() + b"\r\n")
        weather = self.weather.mail.at(self.clock.now())
        if weather == "silent":
            self.turned_away += 1
            self.clock.later(20, writer.close)
            # The virtual clock goes on only while nothing is busy.
            self.busy -= 1
            try:
                await reader.read()
            finally:
                self.busy += 1
            return
        say("220 here")
        to = None
        while line := await reader.readline():
            word = line[:4].upper()
            if word == b"RCPT":
                to = re.search(rb"<([^>]*)>", line)[1].decode()
                refusal = self.refusal(to, weather)
                if refusal:
                    self.turned_away += 1
                    self.refused.append((self.clock.now(), to))
                say(refusal or "250 fine")
            elif word == b"DATA":
                say("354 go on")
                raw = await self.content(reader)
                if weather == "loses replies":
                    self.turned_away += 1
                    self.mails.append(Mail(self.clock.now(), to, raw, True))
                    return
                self.mails.append(Mail(self.clock.now(), to, raw, False))
                say("250 queued")
                # One mail a connection: a step ends once none is open.
                return
            elif word == b"QUIT":
                say("221 bye")
                return
            else:
                say("250 fine")

    def refusal(self, to, weather):
        now = self.clock.now()
        if now >= self.weather.dead.get(to, now + 1):
            return "550 5.1.1 no such user"
        if weather == "defers":
            return "451 4.3.0 later"
        if to in self.weather.greylists:
            first = self.seen.get(to)
            if first is None or now - first > self.GREY_KNOWN:
                first = self.seen[to] = now
            if now - first < self.GREY_FOR:
                return "450 4.2.0 greylisted"
        return None

    @staticmethod
    async def content(reader):
        lines = []
        while line := await reader.readline():
            if line == b".\r\n":
                return b"".join(lines)
            lines.append(line[1:] if line.startswith(b".") else line)
        raise asyncio.IncompleteReadError(b"", None)
