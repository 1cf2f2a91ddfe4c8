"""A client that knows the interface document and nothing of hostwatch: lists, pages, starts, stops, renames and
deletes VMs, with form fields and page numbers. Standard library only. Argument: the provider's URL."""
import json, sys, time
from urllib import parse, request

BASE = sys.argv[1] + "/api/cvds/v1/vms/"


def call(method, url, **fields):
    body = parse.urlencode(fields).encode() if fields else None
    ask = request.Request(url, data=body, method=method, headers={"Authorization": "Token vm-api-key"})
    if fields:
        ask.add_header("Content-Type", "application/x-www-form-urlencoded")
    with request.urlopen(ask, timeout=10) as answer:
        raw = answer.read()
        return answer.status, answer.headers, json.loads(raw) if raw else None


def wait_for(url, state):
    end = time.time() + 20
    while time.time() < end:
        if call("GET", url)[2]["state"] == state:
            return
        time.sleep(0.1)
    sys.exit(f"{url} is not {state} within 20 s")


def every_page():
    page, rows = 1, []
    while True:
        _, _, answer = call("GET", f"{BASE}?page={page}")
        rows += answer["results"]
        if answer["next"] is None:
            assert answer["count"] == len(rows), (answer["count"], len(rows))
            return rows
        page += 1


before = every_page()
assert len(before) == 30 and len({row["id"] for row in before}) == 30

status, headers, made = call("POST", BASE, type="small", arch="x86_64", image="7", storage_type="vgssd", storage_size="20")
assert status == 201 and made["ip"] and made["users"], made
mine = parse.urljoin(BASE, headers["Location"])
wait_for(mine, "active")
assert len(every_page()) == 31

status, _, stopped = call("POST", mine + "stop/")
assert status == 200 and "ssh_keys" not in stopped and all(isinstance(ip, int) for ip in stopped["ips"]), stopped
wait_for(mine, "stopped")
call("POST", mine + "start/")
wait_for(mine, "active")

status, _, renamed = call("PATCH", mine, name="renamed")
assert status == 200 and renamed["name"] == "renamed", renamed

status, _, nothing = call("DELETE", mine, delete_storages="true")
assert status == 204 and nothing is None
assert {row["id"] for row in every_page()} == {row["id"] for row in before}
print("ok")
