"""The documentation names what exists: files linked to, commands of neap, targets of make."""
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import source

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)")
# Code is what stands in a fence or between backticks.
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"(?:^|[\s;&|(/])neap +([a-z][a-z-]*)")
MAKE = re.compile(r"(?:^|[\s;&|(])make +([a-z][a-z-]*)")
PLACEHOLDERS = {"command"}


def documents():
    named = [Path("README.md"), Path("CONTRIBUTING.md")]
    return named + source.files(["docs"], [".md"])


def check_links(path, text):
    offenders = []
    for number, line in enumerate(text.splitlines(), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:|#", target):
                continue
            if not (source.ROOT / path.parent / target.split("#")[0]).exists():
                offenders.append(f"{path}:{number}: links to {target}, which does not exist")
    return offenders


def code_of(text):
    """Pieces of shell code; a fence of another language is not one."""
    pieces = [body for language, body in FENCE.findall(text) if language in ("", "sh", "bash")]
    return pieces + INLINE.findall(FENCE.sub("", text))


def names_in(text, pattern):
    """Words that follow the pattern, comments and messages ("neap: …") left out."""
    lines = [line.split(" #")[0] for piece in code_of(text) for line in piece.splitlines()]
    return sorted({word for line in lines for word in pattern.findall(line)} - PLACEHOLDERS)


def check_commands(path, text):
    neap = os.environ["NEAP"]
    return [f"{path}: `neap {name}` is not a command"
            for name in names_in(text, COMMAND)
            if subprocess.run([neap, name, "--help"], capture_output=True).returncode != 0]


def check_targets(path, text):
    targets = set(re.findall(r"^([a-z][a-z-]*):", source.read("Makefile"), re.M))
    return [f"{path}: `make {name}` is not a target of the Makefile"
            for name in names_in(text, MAKE) if name not in targets]


def main():
    offenders = []
    for path in documents():
        if not (source.ROOT / path).is_file():
            offenders.append(f"{path}: missing")
            continue
        text = source.read(path)
        offenders += check_links(path, text) + check_commands(path, text)
        offenders += check_targets(path, text)
    source.finish(offenders, "documentation")


main()
