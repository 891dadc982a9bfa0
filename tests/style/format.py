"""clang-format 14, Debian 12's, changes nothing; other versions lay out a few things otherwise."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import source

SKIP = 77
VERSION = "14"


def formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            text = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {VERSION}\.", text):
                return program
    print(f"clang-format {VERSION} is not installed")
    sys.exit(SKIP)


def main():
    program = formatter()
    paths = source.files(["include", "src", "tests", "examples", "bench"], [".c", ".h"])
    offenders = []
    if paths:
        run = subprocess.run([program, "--dry-run", "-Werror", *map(str, paths)], cwd=source.ROOT,
                             capture_output=True, text=True)
        found = re.findall(r"^(\S+?:\d+):.*\[-Wclang-format-violations\]$", run.stderr, re.M)
        offenders = list(dict.fromkeys(found))
        if run.returncode != 0 and not offenders:
            offenders = run.stderr.splitlines()
    source.finish(offenders, f"layout of {len(paths)} files (`make format` mends it)")


main()
