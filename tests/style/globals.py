"""The library has no mutable globals: nothing of its own lies in .data, .bss or thread storage."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import source

SKIP = 77
# A line of `objdump -t`: value, flags (an object has O, one of a thread none), section, size, name.
SYMBOL = re.compile(r"^[0-9a-f]+ .{6}[O ] (\S+)\s+([0-9a-f]+)\s+(?:\.hidden )?(\S+)$")
# .data.rel.ro is constant once the program is loaded.
MUTABLE = re.compile(r"^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)(?!\.rel\.ro)")


def main():
    if not shutil.which("objdump"):
        print("objdump is not installed")
        sys.exit(SKIP)
    library = os.environ["NEAP_LIBRARY"]
    run = subprocess.run(["objdump", "-t", library], capture_output=True, text=True, check=True)
    offenders, member, n_members = [], "", 0
    for line in run.stdout.splitlines():
        header = re.match(r"^(\S+):\s+file format", line)
        if header:
            member, n_members = header[1], n_members + 1
        symbol = SYMBOL.match(line)
        if symbol and MUTABLE.match(symbol[1]) and int(symbol[2], 16) > 0:
            offenders.append(f"{member}: {symbol[3]}: {int(symbol[2], 16)} bytes in {symbol[1]}")
    source.finish(offenders, f"mutable globals in {n_members} members of the library")


main()
