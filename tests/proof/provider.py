"""The provider of the stories: a few VMs and a balance, over HTTP. Written from the interface alone."""
import datetime
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Provider:
    def __init__(self):
        self.lock = threading.Condition()
        self.states = {10001: "active", 10002: "active"}
        self.days = 400
        now = datetime.datetime.now(datetime.timezone.utc)
        self.noon = now.replace(hour=12, minute=0, second=0, microsecond=0)
        self.reads = {"vms": 0, "balance": 0}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                found = provider.answer(self.path)
                body = json.dumps({} if found is None else found).encode()
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                """A daemon that was killed says no goodbye."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def becomes(self, vm, state):
        with self.lock:
            self.states[vm] = state

    def lasts(self, days):
        with self.lock:
            self.days = days

    def read_again(self, times, seconds):
        """Waits until everything was read so often from now on; false where it was not."""
        with self.lock:
            wanted = {name: count + times for name, count in self.reads.items()}
            return self.lock.wait_for(
                lambda: all(self.reads[name] >= count for name, count in wanted.items()), seconds)

    def answer(self, path):
        with self.lock:
            if path.startswith("/api/cvds/v1/vms/"):
                found, read = self.vms(), "vms"
            elif path.startswith("/api/v1/expected_balance/"):
                found, read = self.balance(path.rstrip("/").rsplit("/", 1)[1]), "balance"
            else:
                return None
            self.reads[read] += 1
            self.lock.notify_all()
            return found

    def vms(self):
        rows = [{"id": number, "vm_id": f"vm{number}", "name": f"web-{number}", "type": "small", "ncpu": 1,
                 "memsize": 1024, "state": state, "monitoring_enabled": False, "storages": [], "ssh_keys": [],
                 "ips": [{"id": number, "ipvalue": f"198.51.100.{number % 250}"}]}
                for number, state in self.states.items()]
        return {"count": len(rows), "next": None, "previous": None, "results": rows}

    def balance(self, until):
        """Ten a day; the money lasts for `days`, and the last of it is used up at noon."""
        noon = self.noon
        last = datetime.datetime.fromisoformat(until).replace(tzinfo=datetime.timezone.utc)
        order = {"id": 1, "comment": "hosting", "last_charge_date": None, "paid_till": None, "end_date": None,
                 "start_date": "2024-01-01T00:00:00", "state": "ORDERED",
                 "tariff": {"id": 1, "amount": "10.00", "billing_period": [1, "day"], "charge_period": [1, "day"],
                            "generic_type": "hosting", "independent": True, "name": "Small", "short_name": "S",
                            "type": "std"}}
        charges, left, day = [], 10 * self.days, 1
        while noon + datetime.timedelta(days=day) <= last:
            left -= 10
            at = noon + datetime.timedelta(days=day)
            charges.append({"amount": "10.00", "balance": f"{left}.00", "moment": at.strftime("%Y-%m-%dT%H:%M:%S"),
                            "positive": left > 0, "order": order})
            day += 1
        off = noon + datetime.timedelta(days=self.days)
        edd = off.strftime("%Y-%m-%dT%H:%M:%S") if off <= last else None
        return {"date": until + "T00:00:00", "edd": edd, "error": None, "expected_balance": f"{left}.00",
                "charge_moments": charges}
