"""Sites that are created at the provider are probed from outside, with no line of configuration for each.

A case of .ci/prometheus: config/prometheus/discovery.yml as it is shipped, blackbox_exporter, and two local web servers, of which one
is broken. With the labels that .ci/rules assumes. Needs prometheus-blackbox-exporter.
"""

import http.server
import json
import threading
import time

from servers import RULES, api, control, expect, fetch, replaced, value, wait

# The longest that a user waits from a site's creation to its first probe.
PATIENCE = 120


class Site(http.server.ThreadingHTTPServer):
    """A site on this machine that answers with its status."""

    def __init__(self, status):
        self.status = status
        super().__init__(("127.0.0.1", 0), Page)
        self.name = f"127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        pass


def targets(base, job):
    """The targets of a job by their instance, with the labels that they are given."""
    found = api(base, "/api/v1/targets", state="active")["data"]["activeTargets"]
    return {one["labels"]["instance"]: one["labels"] for one in found if one["labels"]["job"] == job}


def discovery(world):
    """A created site is probed and a deleted one is not; Prometheus sees which opens."""
    world.does("remove_site", site="*")
    world.daemon()
    servers, daemon = world.servers, world.address("daemon")
    modules = {name: {"prober": prober} for name, prober in (("http_2xx", "http"), ("icmp", "icmp"))}
    config = servers.write("blackbox.yml", json.dumps({"modules": modules}))
    exporter = servers.web("blackbox_exporter", "prometheus-blackbox-exporter", f"--config.file={config}", ready="/-/healthy")
    base = servers.prometheus("global: {scrape_timeout: 1s}\n" + replaced(
        (RULES / "discovery.yml").read_text().replace("127.0.0.1:10245", daemon).replace("127.0.0.1:9115", exporter)
        .replace("scrape_interval: 30s", "scrape_interval: 1s").replace("_interval: 1m", "_interval: 1s"),
        [("scrape_timeout: 30s", "scrape_timeout: 1s")]))
    wait("the list is known", 30, lambda: fetch(f"http://{daemon}/sd/sites"))
    began, sites = time.monotonic(), [Site(200), Site(500)]
    for site in sites:
        control(world.provider, "add_site", container="shop", name=site.name)
    urls = [f"http://{site.name}" for site in sites]
    wait("the new site is probed", PATIENCE, lambda: value(base, f'probe_success{{instance="{urls[0]}"}}') == 1)
    took = time.monotonic() - began
    wait("the broken one is, too", 30, lambda: value(base, f'probe_success{{instance="{urls[1]}"}}') == 0)
    labels = targets(base, "hosting-sites")[urls[0]]
    expect("labels of a site", labels, {"account": "main", "container": world.id_of("container", "shop"), "instance": urls[0],
                                        "job": "hosting-sites", "name": sites[0].name, "site": world.id_of("site", sites[0].name)})
    nodes = targets(base, "node")
    expect("VMs that are probed", {one["vm"] for one in targets(base, "hosting-vms").values()}, {one["vm"] for one in nodes.values()})
    expect("node_exporter's port", {instance.rsplit(":", 1)[1] for instance in nodes}, {"9100"})
    world.does("remove_site", site=int(labels["site"]))
    wait("a deleted site is probed no longer", 30, lambda: sorted(targets(base, "hosting-sites")) == [urls[1]])
    return f"a new site was probed {took:.0f} s after it was created"
