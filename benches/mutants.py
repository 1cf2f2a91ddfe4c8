#!/usr/bin/env python3
"""Mutation testing of what must not be wrong; docs/dev/judges.md says when it is run.

    benches/mutants.py [AREA]... [--again] [--jobs N] [--list]

Areas: forecast, engine, wire, outbox; all of them where none is named. cargo-mutants (27 or later) says which mutants
there are; `--again` tries only those that the last run did not catch. Results are left in target/mutants/AREA.tsv.

Built one by one, a thousand mutants of this package would take hours. So each area is copied into a crate of its own,
which has only the modules that it imports and its tests, all in one binary; and all its mutants are compiled in at
once, each an arm of a `match` in its function, switched on by the environment variable MUTANT. A mutant then costs one
run of the tests. What does not compile is no mutant. A function that returns `impl Trait` cannot have such arms; its
mutants are built one by one.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "target" / "mutants"

# modules: files and folders of src/ that are copied; tests: modules of tests/unit (and of tests/common) beside the tests
# in src/; filter: which of all those are run; mutated: globs.
AREAS = {
    "forecast": {
        "modules": ["model"],
        "tests": [],
        "filter": ["model"],
        "mutated": [f"src/model/{name}.rs" for name in "forecast changes billing moments pay_by money".split()],
    },
    "engine": {
        # The random histories of alert_histories would catch some more, at three times the price.
        "modules": ["model", "alert", "clock.rs", "failpoint.rs", "store", "view"],
        "tests": ["account", "alert_support", "alert_stories"],
        "filter": ["alert"],
        "mutated": ["src/alert/*.rs", "src/alert/rules/*.rs"],
    },
    "wire": {
        "modules": ["model", "clock.rs", "failpoint.rs", "provider"],
        "tests": ["api_fixtures"],
        "filter": ["wire", "records", "billing", "api_fixtures"],
        "mutated": ["src/provider/wire/*.rs", "src/provider/report.rs"],
    },
    "outbox": {
        "modules": ["model", "alert", "failpoint.rs", "store", "mail/settings.rs", "mail/smtp", "daemon/delivery.rs"],
        "tests": ["certificates", "smtp", "store", "smtp_transport"],
        "filter": ["store", "smtp", "delivery"],
        "mutated": ["src/store/log.rs", "src/store/sent.rs", "src/daemon/delivery.rs",
                    "src/mail/smtp/reply.rs", "src/mail/smtp/error.rs"],
    },
}

# Longer than the tests take, even beside others; a mutant that never ends is caught.
TIMEOUT_SECONDS = 90

SWITCH = """
/// The mutant that is switched on; 0 is none.
pub fn mutant() -> u32 {
    static MUTANT: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *MUTANT.get_or_init(|| std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0))
}
"""


def environment(**more):
    # Property tests: fewer cases, and the same for each mutant; what they find is not kept.
    fixed = {"PROPTEST_CASES": "24", "PROPTEST_RNG_SEED": "1", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
             "CARGO_PROFILE_DEV_DEBUG": "none", "CARGO_PROFILE_TEST_DEBUG": "none", "RUST_BACKTRACE": "0"}
    # Compiled dependencies are shared with ordinary builds.
    target = {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    return {**os.environ, **fixed, **target, **more}


def make_crate(area, crate):
    """The area's crate: the package without its benches, its binary and itself as a dependency."""
    lib, mail = [], []
    for module in area["modules"]:
        source, copy = ROOT / "src" / module, crate / "src" / module
        copy.parent.mkdir(parents=True, exist_ok=True)
        parts = source.with_suffix("")
        if parts != source and parts.is_dir():
            shutil.copytree(parts, copy.with_suffix(""))
        if source.is_dir():
            shutil.copytree(source, copy, dirs_exist_ok=True)
        else:
            shutil.copy(source, copy)
        folder, _, name = module.removesuffix(".rs").rpartition("/")
        if folder == "mail":
            mail.append(name)
        elif folder:
            lib.append(f"mod {folder} {{ mod {name}; }}")
        else:
            lib.append(f"mod {name};")
    if mail:
        modules = " ".join(f"pub mod {name};" for name in dict.fromkeys(mail))
        lib.append(f"pub mod mail {{ {modules} pub(crate) use settings::{{MailServer, Security}}; }}")
    places = {path.stem if path.name != "mod.rs" else path.parent.name: path.relative_to(ROOT)
              for folder in ("tests/common/*.rs", "tests/unit/*.rs", "tests/unit/*/mod.rs") for path in ROOT.glob(folder)}
    tests = " ".join(f'#[path = "../../{places[test]}"] mod {test};' for test in area["tests"])
    lib.append(f"#[cfg(test)] mod unit {{ {tests} }}")
    # The paths of the tests start there.
    (crate / "src" / "unit").mkdir()
    (crate / "src" / "lib.rs").write_text("\n".join(lib) + "\n" + SWITCH)
    shutil.copytree(ROOT / "tests", crate / "tests")
    shutil.copy(ROOT / "Cargo.lock", crate)
    manifest = (ROOT / "Cargo.toml").read_text()
    manifest = re.sub(r"(?ms)^\[\[bench\]\].*?\n\n", "", manifest)
    manifest = re.sub(r"(?m)^(default-run|hostwatch) = .*\n", "", manifest)
    manifest = re.sub(r"(?m)^failpoints = ", 'default = ["failpoints"]\nfailpoints = ', manifest)
    manifest = re.sub(r"(?m)^edition = .*$", r"\g<0>\nautotests = false", manifest)
    (crate / "Cargo.toml").write_text(manifest)


def list_mutants(area, crate):
    files = [part for pattern in area["mutated"] for part in ("--file", pattern)]
    command = ["cargo", "mutants", "--list", "--json", *files]
    listed = subprocess.run(command, cwd=crate, env=environment(), check=True, stdout=subprocess.PIPE)
    return [mutant for mutant in json.loads(listed.stdout) if mutant["function"]]


class Source:
    """A file of the crate, and its mutants as arms."""

    def __init__(self, crate, name):
        self.path = crate / name
        self.text = self.path.read_text()
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, span):
        """Columns count characters, from 1."""
        at = [self.starts[span[end]["line"] - 1] + span[end]["column"] - 1 for end in ("start", "end")]
        return at[0], at[1]

    def body(self, function):
        """Where the function's signature starts, and its body inside of the braces."""
        start, end = self.span(function["span"])
        signature = re.compile(r"(?m)^(?![ \t]*//)(.*?)\bfn " + re.escape(function["function_name"].split("::")[-1]))
        found = signature.search(self.text, self.text.rfind("\n", 0, start) + 1, end)
        opening = self.text.index("{", found.end())
        return found.start(), opening + 1, self.text.rindex("}", opening, end)

    def has_arms(self, mutant):
        start, opening, _ = self.body(mutant["function"])
        return "-> impl" not in self.text[start:opening]

    def mutated(self, mutant, start, end):
        """This part of the text with the mutant in it."""
        from_, to = self.span(mutant["span"])
        assert start <= from_ <= to <= end, mutant["name"]
        return self.text[start:from_] + mutant["replacement"] + self.text[to:end]

    def write_arms(self, numbered):
        """Writes the file with these mutants; returns the lines of each."""
        functions = {}
        for number, mutant in numbered:
            functions.setdefault(self.body(mutant["function"]), []).append((number, mutant))
        out, lines, done = [], {}, 0
        line = lambda: sum(part.count("\n") for part in out) + 1
        for (start, opening, closing), mutants in sorted(functions.items()):
            assert start >= done, "a function within a function"
            signature = self.text[start:opening].replace("const fn ", "fn ", 1)
            out += [self.text[done:start], signature, " match crate::mutant() {\n"]
            for number, mutant in mutants:
                first = line()
                out.append(f"{number}u32 => {{ {self.mutated(mutant, opening, closing)}\n}}\n")
                lines[number] = (first, line())
            out += ["_ => {", self.text[opening:closing], "}\n}\n"]
            done = closing
        self.path.write_text("".join(out + [self.text[done:]]))
        return lines


def build(crate):
    """The test binary, or where the compiler finds errors: whether it is the error's place, file, line, text."""
    command = ["cargo", "test", "--lib", "--no-run", "--message-format", "json"]
    built = subprocess.run(command, cwd=crate, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    binary, errors = None, []
    for told in map(json.loads, built.stdout.splitlines()):
        binary = told.get("executable") or binary
        message = told.get("message")
        if not isinstance(message, dict) or message.get("level") != "error":
            continue
        for span in message["spans"]:
            while span["expansion"] and not span["file_name"].startswith("src/"):
                span = span["expansion"]["span"]
            errors.append((span["is_primary"], span["file_name"], span["line_start"], message["message"]))
    return binary if built.returncode == 0 else None, errors


def test(binary, area, crate, number):
    command = [binary, "--quiet", *area["filter"]]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    manifest = {"CARGO_MANIFEST_DIR": str(crate)}
    try:
        ran = subprocess.run(command, cwd=crate, env=environment(MUTANT=str(number), **manifest),
                             timeout=TIMEOUT_SECONDS, **quiet)
    except subprocess.TimeoutExpired:
        return "timeout"
    return "missed" if ran.returncode == 0 else "caught"


def try_all(area, crate, mutants, jobs):
    """What became of each mutant."""
    sources = {name: Source(crate, name) for name in {mutant["file"] for mutant in mutants}}
    outcome = {}
    arms = {n: mutant for n, mutant in enumerate(mutants, 1) if sources[mutant["file"]].has_arms(mutant)}
    alive = dict(arms)
    while True:
        lines = {}
        for name, source in sources.items():
            mine = [(number, mutant) for number, mutant in alive.items() if mutant["file"] == name]
            lines[name] = source.write_arms(mine)
        binary, found = build(crate)
        if binary:
            break
        broken = set()
        for _, file, line, _ in sorted(found, key=lambda error: not error[0]):
            broken |= {n for n, (first, last) in lines.get(file, {}).items() if first <= line <= last}
        if not broken:
            sys.exit("\n".join(f"{file}:{line}: {text}" for _, file, line, text in found) or "it does not compile")
        for number in broken:
            outcome[number] = "unviable"
            del alive[number]
        print(f"  {len(outcome)} do not compile", flush=True)
    if test(binary, area, crate, 0) != "missed":
        sys.exit("the tests fail without a mutant")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(test, binary, area, crate, number): number for number in alive}
        for done, run in enumerate(concurrent.futures.as_completed(runs), 1):
            outcome[runs[run]] = run.result()
            if run.result() != "caught":
                print(f"  {run.result()}: {alive[runs[run]]['name']}", flush=True)
            if done % 100 == 0:
                print(f"  {done} of {len(alive)}", flush=True)
    for number, mutant in enumerate(mutants, 1):
        if number in arms:
            continue
        for source in sources.values():
            source.path.write_text(source.text)
        source = sources[mutant["file"]]
        source.path.write_text(source.mutated(mutant, 0, len(source.text)))
        binary, _ = build(crate)
        outcome[number] = test(binary, area, crate, 0) if binary else "unviable"
    return [(outcome[number], mutant["name"]) for number, mutant in enumerate(mutants, 1)]


def main():
    parser = argparse.ArgumentParser(description="Mutation testing, an area at a time.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(AREAS))
    parser.add_argument("--again", action="store_true", help="only what the last run did not catch")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="test binaries at a time")
    parser.add_argument("--list", action="store_true", help="only count")
    options = parser.parse_args()
    unknown = set(options.areas) - set(AREAS)
    if unknown:
        parser.error(f"no such area: {', '.join(sorted(unknown))}; there are {', '.join(AREAS)}")
    if not shutil.which("cargo-mutants"):
        sys.exit("cargo-mutants is missing: cargo install --locked cargo-mutants")
    RESULTS.mkdir(parents=True, exist_ok=True)
    enough = True
    for name in options.areas or AREAS:
        area, results = AREAS[name], RESULTS / f"{name}.tsv"
        with tempfile.TemporaryDirectory() as folder:
            crate = pathlib.Path(folder)
            make_crate(area, crate)
            mutants = list_mutants(area, crate)
            print(f"{name}: {len(mutants)} mutants", flush=True)
            if options.list:
                continue
            known = []
            if options.again and results.exists():
                before = dict(line.split("\t")[::-1] for line in results.read_text().splitlines())
                listed = {mutant["name"] for mutant in mutants}
                known = [(was, it) for it, was in before.items() if was in ("caught", "unviable") and it in listed]
                mutants = [mutant for mutant in mutants if mutant["name"] not in dict(map(reversed, known))]
            tried = known + (try_all(area, crate, mutants, options.jobs) if mutants else [])
        results.write_text("".join(f"{outcome}\t{mutant}\n" for outcome, mutant in tried))
        count = {what: sum(outcome == what for outcome, _ in tried) for what in ("caught", "timeout", "missed", "unviable")}
        viable = len(tried) - count["unviable"]
        caught = count["caught"] + count["timeout"]
        print(f"{name}: {len(tried)} mutants, {viable} viable, {caught} caught, {count['timeout']} of them because they "
              f"never end, {count['missed']} missed: {100 * caught / max(viable, 1):.1f} %", flush=True)
        enough &= caught >= 0.9 * viable
    sys.exit(0 if enough else 1)


if __name__ == "__main__":
    main()
