"""Lists the tests that a run skipped, each with its reason: the last line it printed.

usage: skipped.py JUNIT.xml

ctest counts a skipped test as passed and cmocka's ctest a program with skipped cases, so both are
said here.
"""
import re
import sys
import xml.etree.ElementTree


def main(path):
    skipped = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        lines = [line for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
        if case.find("skipped") is not None:
            skipped.append((case.get("name"), lines[-1].strip() if lines else "no reason printed"))
        for line in lines:
            inside = re.match(r"\[  SKIPPED \] (\w+)$", line)
            if inside:
                skipped.append((case.get("name"), f"the case {inside[1]}"))
    skipped = dict.fromkeys(skipped) # cmocka names a skipped case twice
    print(f"\nskipped: {len(skipped)}")
    for name, reason in skipped:
        print(f"  {name}: {reason}")


main(sys.argv[1])
