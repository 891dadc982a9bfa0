"""What STYLE asks of the text of every C file and can be checked by a machine.

clang-format decides the layout of C (tests/style/format.py); this looks at the rest.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import source

MAX_LINES = 800
MAX_COLUMNS = 100

# (what, pattern, which files, which of them are free to). Patterns see code without its comments
# and strings.
LIBRARY = r"src/(?!cli/).*"
FORBIDDEN = [
    ("the library never exits", r"\b(exit|_exit|_Exit|quick_exit|abort)\s*\(", LIBRARY, None),
    ("the library never prints unasked", r"\b(printf|vprintf|puts|putchar|perror)\s*\(", LIBRARY,
     None),
    ("the library never prints unasked", r"\b(stdout|stderr)\b", LIBRARY, None),
    ("a private type is `struct foo`, not a typedef", r"\btypedef\s+(struct|union|enum)\b",
     r"src/.*", None),
    ("#if is for header guards, extern \"C\" and the version of oneDNN",
     r"^\s*#\s*(if|elif|ifdef)\b(?!\s*__cplusplus)", r".*", r"src/backend/cpu/dnn\.[ch]"),
    ("#if is for header guards, extern \"C\" and the version of oneDNN",
     r"^\s*#\s*ifndef\s+(?!NEAP_\w*H\b)", r".*", r"src/backend/cpu/dnn\.[ch]"),
]
# These see comments and strings too.
FORBIDDEN_ANYWHERE = [
    ("unfinished work belongs to an issue", r"\b(TODO|FIXME|XXX)\b"),
    ("a tab", r"\t"),
    ("trailing space", r"[ \r]$"),
]


def check_lines(path, text):
    offenders = []
    plain = source.code(text).splitlines()
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        if len(line) > MAX_COLUMNS:
            offenders.append(f"{where}: {len(line)} columns, at most {MAX_COLUMNS}")
        for what, pattern in FORBIDDEN_ANYWHERE:
            if re.search(pattern, line):
                offenders.append(f"{where}: {what}")
        for what, pattern, files, free in FORBIDDEN:
            found = re.search(pattern, plain[number - 1])
            if not found or not re.fullmatch(files, str(path)):
                continue
            if not (free and re.fullmatch(free, str(path))):
                offenders.append(f"{where}: {found[0].strip()}: {what}")
    return offenders


def guard_of(path):
    """src/base/memory.h and include/neap.h give NEAP_BASE_MEMORY_H and NEAP_H."""
    parts = path.parts[1:] if path.parts[0] in ("src", "include") else path.parts
    name = re.sub(r"\W", "_", "/".join(parts)).upper()
    return name if name.startswith("NEAP_") else f"NEAP_{name}"


def check_file(path):
    text = source.read(path)
    offenders = check_lines(path, text)
    n_lines = text.count("\n")
    if n_lines > MAX_LINES:
        offenders.append(f"{path}: {n_lines} lines, at most {MAX_LINES}")
    if not text.endswith("\n"):
        offenders.append(f"{path}: no newline at the end")
    if path.parts[0] != "tests" and not re.match(r"/\*", text):
        offenders.append(f"{path}: does not open with a comment that says what it is for")
    if path.suffix == ".h":
        guard = guard_of(path)
        guarded = re.compile(rf"^#ifndef {guard}\n#define {guard}\n.*^#endif.*\Z", re.M | re.S)
        if not guarded.search(text):
            offenders.append(f"{path}: the header guard is not {guard}")
    return offenders


def check_build():
    """No flag that changes results or ties the binary to the builder's processor."""
    offenders = []
    paths = [Path("CMakeLists.txt"), Path("CMakePresets.json"), Path("Makefile")]
    paths += source.files(["cmake", "tests", "scripts"], [".cmake", ".txt", ".sh"])
    for path in paths:
        for number, line in enumerate(source.read(path).splitlines(), 1):
            found = re.search(r"-ffast-math|-Ofast|-march=|-mtune=|-funsafe-math", line)
            if found and not line.lstrip().startswith("#"):
                offenders.append(f"{path}:{number}: {found[0]}: changes results or where they run")
    return offenders


def main():
    paths = source.files(["include", "src", "tests", "examples", "bench"], [".c", ".h", ".def"])
    offenders = [offender for path in paths for offender in check_file(path)]
    source.finish(offenders + check_build(), f"style of {len(paths)} files")


main()
