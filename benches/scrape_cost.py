#!/usr/bin/env python3
"""What a scrape of hostwatch costs the Prometheus server, by format and coding: CPU and allocations of one that does
nothing else. Started by hand, with Prometheus 2.49 or later on PATH (`.ci/both` keeps 3.5 in its cache):

    benches/scrape_cost.py --binary target/release/hostwatch [--prometheus PROGRAM] [--vms N --containers N --sites N]

Each way is measured in turn, several times over; the ratios to the first row say more than the figures.
"""

import argparse
import json
import pathlib
import statistics
import tempfile
import time
import urllib.parse
import urllib.request

from load import daemon, free_port, listening, process, provider, until

WAYS = [("text 0.0.4, gzip", "PrometheusText0.0.4", True), ("text 0.0.4, not compressed", "PrometheusText0.0.4", False),
        ("OpenMetrics 1.0, gzip", "OpenMetricsText1.0.0", True), ("OpenMetrics 1.0, not compressed", "OpenMetricsText1.0.0", False)]


def own(port):
    """Prometheus's own figures."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = [line for line in answer.read().decode().splitlines() if line and line[0] != "#"]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def is_ready(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=60):
            return True
    except OSError:
        return False


def scraped(port):
    """How many samples the last scrape brought, and how many bytes; nothing before the first."""
    query = urllib.parse.urlencode({"query": '{__name__=~"scrape_samples_scraped|scrape_duration_seconds"}'})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=60) as answer:
        found = json.loads(answer.read())["data"]["result"]
    return {one["metric"]["__name__"]: float(one["value"][1]) for one in found}


def measure(args, work, target, protocol, compressed):
    """CPU in ms, MB and objects allocated, a scrape; and how long Prometheus took over one."""
    port = free_port()
    config = work / "prometheus.yml"
    # JSON is YAML.
    config.write_text(json.dumps({"scrape_configs": [{
        "job_name": "hostwatch", "scrape_interval": f"{args.interval}s", "scrape_timeout": f"{args.interval}s",
        "scrape_protocols": [protocol], "enable_compression": compressed, "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}]}))
    with tempfile.TemporaryDirectory(dir=work) as storage, process(
            [args.prometheus, f"--config.file={config}", f"--storage.tsdb.path={storage}", "--log.level=warn",
             f"--web.listen-address=127.0.0.1:{port}"], work / "prometheus.log"):
        until("Prometheus", lambda: listening(port) and is_ready(port))
        appended = "prometheus_tsdb_head_samples_appended_total{type=\"float\"}"
        # The first scrapes make the series.
        until("the first scrapes", lambda: scraped(port).get("scrape_samples_scraped", 0) > 0, 120, 0.5)
        samples = scraped(port)["scrape_samples_scraped"]
        until("three scrapes", lambda: own(port)[appended] > 3 * samples, 120, 0.5)
        before = own(port)
        time.sleep(args.interval * args.scrapes)
        after, took = own(port), scraped(port)["scrape_duration_seconds"]
    grown = {name: after[name] - before[name] for name in (
        "process_cpu_seconds_total", "go_memstats_alloc_bytes_total", "go_memstats_mallocs_total", appended)}
    scrapes = grown[appended] / samples
    return (grown["process_cpu_seconds_total"] / scrapes * 1e3, grown["go_memstats_alloc_bytes_total"] / scrapes / 1e6,
            grown["go_memstats_mallocs_total"] / scrapes, took * 1e3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=pathlib.Path("target/release/hostwatch"), type=pathlib.Path)
    parser.add_argument("--prometheus", default="prometheus")
    parser.add_argument("--vms", type=int, default=1_000)
    parser.add_argument("--containers", type=int, default=100)
    parser.add_argument("--sites", type=int, default=2_000)
    parser.add_argument("--interval", type=int, default=1, help="seconds between scrapes")
    parser.add_argument("--scrapes", type=int, default=10, help="that are measured at a time")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    args.binary = args.binary.resolve()
    with tempfile.TemporaryDirectory(prefix="hostwatch-cost-") as directory:
        work = pathlib.Path(directory)
        with provider(args, work, args.vms, args.containers, args.sites, "provider") as behind, \
                daemon(args, work, behind, "daemon") as running:
            running.ready()
            found = {way[0]: [] for way in WAYS}
            for _ in range(args.rounds):
                for name, protocol, compressed in WAYS:
                    found[name].append(measure(args, work, running.port, protocol, compressed))
            sizes = {coding: len(fetched(running.port, coding)) for coding in ("identity", "gzip")}
    print("bytes of the page: " + ", ".join(f"{coding} {size}" for coding, size in sizes.items()))
    print("| a scrape | CPU | | allocated | | objects | lasts |\n|---|---|---|---|---|---|---|")
    middle = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in found.items()}
    first = middle[WAYS[0][0]]
    for name, (cpu, size, objects, took) in middle.items():
        print(f"| {name} | {cpu:.0f} ms | {cpu / first[0]:.2f} × | {size:.1f} MB | {size / first[1]:.2f} × | {objects:.0f} | {took:.0f} ms |")


def fetched(port, coding):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept-Encoding": coding})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


if __name__ == "__main__":
    main()
