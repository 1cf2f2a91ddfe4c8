"""axe-core from the npm registry: what it finds on a page that keeps somebody out."""

import pathlib
import shutil
import subprocess
import tempfile

PACKAGE = "axe-core@4.14.1"
# The rule meta-refresh cannot know that the page has a link that stops its refresh, as WCAG 2.2.1 asks for; .ci/page.js does.
RUN = """axe.run(document, { preload: false, resultTypes: ['violations'], rules: { 'meta-refresh': { enabled: false } } }).then((found) => found.violations
  .filter((one) => ['serious', 'critical'].includes(one.impact))
  .flatMap((one) => one.nodes.map((node) => `axe: ${one.impact}, ${one.id}: ${node.html.slice(0, 160)}`)))"""


def source():
    """Its script; None where npm is not installed."""
    if not shutil.which("npm"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, PACKAGE],
                       check=True, timeout=300, stdout=subprocess.DEVNULL)
        return pathlib.Path(folder, "node_modules/axe-core/axe.min.js").read_text()


def findings(browser, script):
    """Its serious and critical findings on the page that is open, as sentences."""
    if script is None:
        return []
    browser.evaluate(script + "; 0")
    return browser.evaluate(RUN)
