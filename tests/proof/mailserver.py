"""The mail server of the stories: takes every mail and keeps it, byte for byte."""
import re
import socketserver
import threading


class Mail:
    def __init__(self, to, raw):
        self.to, self.raw = to, raw
        head = raw.split(b"\r\n\r\n", 1)[0].decode("utf-8", "replace")
        keys = re.findall(r"^X-Hostwatch-Incident: (\S+)", head, re.M)
        events = re.findall(r"^X-Hostwatch-Event: (\S+)", head, re.M)
        self.news = [f"{key} {event}" for key, event in zip(keys, events)]
        self.name = re.search(r"^Message-I[Dd]: <([^>]+)>", head, re.M)[1]


class Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        try:
            self.converse()
        except OSError:
            """Who was killed says no goodbye."""

    def converse(self):
        self.say("220 here")
        to = None
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"RCPT":
                to = re.search(rb"<([^>]*)>", line)[1].decode()
            if word == b"DATA":
                self.say("354 go on")
                raw = b""
                while (line := self.rfile.readline()) != b".\r\n":
                    if not line:
                        return
                    raw += line[1:] if line.startswith(b".") else line
                self.server.take(Mail(to, raw))
            self.say("221 bye" if word == b"QUIT" else "250 fine")

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


class MailServer(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True

    def __init__(self, handler=Handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.lock, self.mails, self.port = threading.Condition(), [], self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()

    def take(self, mail):
        with self.lock:
            self.mails.append(mail)
            self.lock.notify_all()

    def received(self):
        with self.lock:
            return list(self.mails)

    def told(self):
        """Who was told what: pairs of recipient and event, as often as it came."""
        return [(mail.to, news) for mail in self.received() for news in mail.news]

    def wait_for(self, wanted, seconds):
        """Waits until all pairs of recipient and event were told; false where one was not."""
        with self.lock:
            return self.lock.wait_for(
                lambda: wanted <= {(mail.to, news) for mail in self.mails for news in mail.news}, seconds)
