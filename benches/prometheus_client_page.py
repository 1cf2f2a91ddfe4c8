"""The data of a page through Python's prometheus_client: registered once, written and compressed at each scrape."""

import gzip
import json
import pathlib
import re
import sys
import time

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

registry = CollectorRegistry()
lines = pathlib.Path(sys.argv[1]).read_text().splitlines(keepends=True)
page = "".join(line for line in lines if re.match(r"(# (HELP|TYPE) )?hosting_", line))
for family in text_string_to_metric_families(page):
    names = list(family.samples[0].labels)
    gauge = Gauge(family.name, family.documentation, names, registry=registry)
    for sample in family.samples:
        gauge.labels(*(sample.labels[name] for name in names)).set(sample.value)
encode, pack = [], []
for _ in range(3):
    began = time.perf_counter()
    text = generate_latest(registry)
    encode.append(time.perf_counter() - began)
    began = time.perf_counter()
    gzip.compress(text, 9)
    pack.append(time.perf_counter() - began)
resident = re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())
print(json.dumps({"encode_ms": 1000 * sorted(encode)[1], "gzip_ms": 1000 * sorted(pack)[1], "bytes": len(text),
                  "rss_mib": int(resident[1]) / 1024}))
