"""Telegram's Bot API as the weather is at this moment of the virtual clock. What it took stands among the mails. A chat shows
no event: that is read in the daemon's store, where each message has to be before anybody hears of it."""
import asyncio
import datetime
import hashlib
import json
import sqlite3

BOT = "123456789:year"
ASKED_TO_WAIT = 40


class Message:
    """One that arrived in a chat, as a mail is kept."""
    is_chat = True

    def __init__(self, at, to, text, raw, flight, reply_lost):
        self.at, self.to, self.reply_lost, self.text = at, to, reply_lost, text
        self.digest = hashlib.sha256(raw).hexdigest()
        self.subject = text.split("\n")[0]
        self.name = flight["id"]
        # As a mail's Date, without fractions.
        self.date = int(datetime.datetime.fromisoformat(flight["first_try"]).timestamp())
        self.news = [(item["key"], item["event"]) for item in map(told, flight["items"])]


def told(item):
    """`a0001/vm_error/1#2#opened`."""
    key, _, event = item["event_key"].split("#")
    return {"key": key, "event": event}


class Telegram:
    def __init__(self, weather, clock, mail_server, store):
        self.weather, self.clock, self.mail_server, self.store = weather, clock, mail_server, store
        self.server, self.port, self.busy = None, 0, 0
        self.number, self.edits = 0, 0
        # Messages of which the store knew nothing, and those that came before the time that they were asked to wait was over.
        self.unkept, self.hasty = [], []
        self.not_before = {}

    async def start(self):
        self.server = await asyncio.start_server(self.converse, "127.0.0.1", self.port, limit=2 ** 24)
        self.port = self.server.sockets[0].getsockname()[1]

    async def follow_weather(self):
        """Nobody listens while connections are refused."""
        listens = self.weather.telegram.at(self.clock.now()) != "refuses"
        if listens and self.server is None:
            await self.start()
        elif not listens and self.server is not None:
            self.server.close()
            self.server = None

    async def converse(self, reader, writer):
        counted = False
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method = head.split(" ")[1].rsplit("/", 1)[1]
            length = next(int(line.split(":")[1]) for line in head.lower().split("\r\n") if line.startswith("content-length"))
            raw = await reader.readexactly(length)
            counted = method != "getUpdates"
            self.busy += counted
            answer = await self.answer(method, raw, reader)
            if answer is not None:
                status, body = answer
                body = json.dumps(body).encode()
                writer.write(f"HTTP/1.1 {status} So\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            """Who was killed says no goodbye."""
        finally:
            self.busy -= counted
            writer.close()

    async def answer(self, method, raw, reader):
        weather, now, arguments = self.weather.telegram.at(self.clock.now()), self.clock.now(), json.loads(raw)
        if method == "getUpdates":
            # Nobody presses anything.
            await reader.read()
            return None
        self.mail_server.turned_away += method == "sendMessage" and weather is not None
        if weather == "down":
            return 502, {}
        if method == "editMessageText":
            self.edits += 1
            return 200, {"ok": True, "result": True}
        to = f"telegram:a{arguments['chat_id'] - 1:04}"
        if now >= self.weather.dead.get(to, now + 1):
            self.mail_server.turned_away += 1
            self.mail_server.refused.append((now, to))
            return 403, {"ok": False, "error_code": 403, "description": "Forbidden: bot was kicked from the group chat"}
        if now < self.not_before.pop(to, now):
            self.hasty.append((now, to))
        if weather == "busy":
            self.not_before[to] = now + ASKED_TO_WAIT
            return 429, {"ok": False, "error_code": 429, "description": "Too Many Requests: retry after",
                         "parameters": {"retry_after": ASKED_TO_WAIT}}
        flight = self.flight(to, arguments["text"])
        if flight is None:
            self.unkept.append((now, to, arguments["text"]))
        else:
            lost = weather == "loses replies"
            self.mail_server.mails.append(Message(now, to, arguments["text"], raw, flight, lost))
            if lost:
                return None
        self.number += 1
        return 200, {"ok": True, "result": {"message_id": self.number}}

    def flight(self, to, text):
        """What the store says of a message on its way."""
        with sqlite3.connect(f"file:{self.store}?mode=ro", uri=True) as store:
            rows = store.execute("SELECT body, raw FROM in_flight WHERE recipient = ?", [to]).fetchall()
        store.close()
        found = [json.loads(body) for body, raw in rows if json.loads(raw)["text"] == text]
        return found[0] if found else None
