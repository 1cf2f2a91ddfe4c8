"""Writes a docker-archive of one image anew, without what is of the one build: names of containers, times of its files.

    packaging/settle-image.py FROM TO SECONDS
"""

import hashlib
import io
import json
import sys
import tarfile


def settled(config):
    """The image's configuration, without the container that it was made in."""
    config.pop("container", None)
    for part in ("config", "container_config"):
        config.get(part, {}).pop("Hostname", None)
    return json.dumps(config, sort_keys=True, separators=(",", ":")).encode()


def main(source, target, seconds):
    with tarfile.open(source) as archive, tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as out:

        def put(name, file, size):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = size, seconds, 0o644
            out.addfile(entry, file)

        (image,) = json.load(archive.extractfile("manifest.json"))
        config = settled(json.load(archive.extractfile(image["Config"])))
        image["Config"] = f"{hashlib.sha256(config).hexdigest()}.json"
        manifest = json.dumps([image], separators=(",", ":")).encode()
        put("manifest.json", io.BytesIO(manifest), len(manifest))
        put(image["Config"], io.BytesIO(config), len(config))
        for layer in image["Layers"]:
            put(layer, archive.extractfile(layer), archive.getmember(layer).size)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
