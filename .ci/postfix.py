"""Debian's Postfix, for the checks that need a real mail server. It runs as root alone."""

import contextlib
import email.policy
import pathlib
import pwd
import re
import shutil
import signal

from servers import Failed, free_port, output, wait

RECIPIENT = "ops@example.com"


class Postfix:
    """A mail server on loopback that delivers the mails of RECIPIENT into a Maildir."""

    def __init__(self, servers, settings=""):
        """`settings` are further lines of main.cf; the last line of a name counts."""
        # Its processes run as users of their own.
        servers.path.chmod(0o711)
        self.servers, self.home, self.port = servers, servers.path / "postfix", free_port()
        nobody = pwd.getpwnam("nobody")
        for folder, owner in (("queue", "root"), ("data", "postfix"), ("mail", "nobody")):
            (self.home / folder).mkdir(parents=True)
            shutil.chown(self.home / folder, owner)
        self.settings = f"""
compatibility_level = 3.6
queue_directory = {self.home}/queue
data_directory = {self.home}/data
maillog_file = /dev/stdout
myhostname = mail.example.com
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mydestination =
smtpd_relay_restrictions = reject_unauth_destination
virtual_mailbox_domains = example.com
virtual_mailbox_base = {self.home}/mail
virtual_mailbox_maps = inline:{{{RECIPIENT}=ops/}}
virtual_uid_maps = static:{nobody.pw_uid}
virtual_gid_maps = static:{nobody.pw_gid}
"""
        self.configure(settings)
        # Debian's, at another port and without its chroots.
        shipped = pathlib.Path("/usr/share/postfix/master.cf.dist").read_text().replace("smtp      inet", f"127.0.0.1:{self.port} inet")
        (self.home / "master.cf").write_text(re.sub(r"(?m)^(\S+ +\S+ +\S+ +\S+ +)y ", r"\1n ", shipped))
        servers.start("postfix", "postfix", "-c", self.home, "start-fg")
        wait("Postfix is up", 30, lambda: (self.home / "queue/pid/master.pid").exists())

    def configure(self, settings):
        (self.home / "main.cf").write_text(f"{self.settings}{settings}\n")

    def reload(self, settings):
        self.configure(settings)
        output("postfix", "-c", self.home, "reload")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        # Its own way of stopping reaches the processes that master started.
        with contextlib.suppress(Failed):
            output("postfix", "-c", self.home, "stop")
        # After a failure its log is shown with the others'. Its script may end before the master does.
        if kind is None:
            self.servers.stop("postfix", ends_with=(0, 143, -signal.SIGTERM))

    def mails(self):
        """Those delivered, the oldest first."""
        paths = sorted((self.home / "mail/ops/new").glob("*"), key=lambda path: path.stat().st_mtime_ns)
        return [email.message_from_bytes(path.read_bytes(), policy=email.policy.default) for path in paths]

    def mail(self, what, seconds, wanted):
        """The first delivered mail whose subject matches, when it is there."""
        return wait(what, seconds, lambda: next((mail for mail in self.mails() if re.search(wanted, mail["subject"])), None))
