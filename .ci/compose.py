"""What no schema says of packaging/compose.yml; .ci/compose runs it."""

import pathlib
import re
import sys

from ruamel.yaml import YAML

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Whoever starts it makes this one.
OWN = {"./credentials"}
PORTS = {"10245": "hostwatch", "9115": "blackbox", "9090": "prometheus", "9093": "alertmanager"}


def load(path):
    return YAML(typ="safe").load((ROOT / path).read_text())


def moved(value):
    """The value with addresses on this machine as the services have them."""
    if isinstance(value, dict):
        return {key: moved(one) for key, one in value.items()}
    if isinstance(value, list):
        return [moved(one) for one in value]
    if isinstance(value, str):
        return re.sub(r"127\.0\.0\.1:(\d+)", lambda at: f"{PORTS[at[1]]}:{at[1]}", value)
    return value


def wrong(compose):
    services = compose["services"]
    for name, service in services.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                if source not in OWN and not (ROOT / "packaging" / source).exists():
                    yield f"{name} mounts {source}, which is not there"
            elif source not in compose["volumes"]:
                yield f"{name} mounts {source}, which is no volume"
        if service.get("read_only") is not True or service.get("cap_drop") != ["ALL"]:
            yield f"{name} may write its root or has capabilities"
        if "no-new-privileges:true" not in service.get("security_opt", []):
            yield f"{name} may gain privileges"
        if name != "hostwatch" and "healthcheck" not in service:
            yield f"{name} has no health check"
        for port in service.get("ports", []):
            if not port.startswith("127.0.0.1:"):
                yield f"{name} is open to others at {port}"
        if f"`{service['image']}`" not in (ROOT / "docs/containers.md").read_text():
            yield f"docs/containers.md does not name {service['image']}"
    for name in set(PORTS.values()) - services.keys():
        yield f"there is no service {name}"
    if (copy := load("packaging/compose/grafana.yml")) != moved(load("config/grafana/provisioning/datasources/prometheus.yml")):
        yield f"compose/grafana.yml is not the shipped one with other addresses: {copy}"
    shipped = [job for job in load("config/prometheus/discovery.yml")["scrape_configs"] if job["job_name"] != "node"]
    for ours, theirs in zip(load("packaging/compose/prometheus.yml")["scrape_configs"], moved(shipped), strict=True):
        if ours != theirs:
            yield f"compose/prometheus.yml: {ours['job_name']} is not the shipped job with other addresses"


def main():
    found = list(wrong(load("packaging/compose.yml")))
    sys.exit("\n".join(found) or 0)


main()
