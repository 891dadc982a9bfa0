"""What the style tests share: the source tree, and C text without its comments and strings."""
import os
import re
import sys
from pathlib import Path

ROOT = Path(os.environ.get("SOURCE_DIR") or Path(__file__).resolve().parents[3])

COMMENT_OR_STRING = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.DOTALL | re.VERBOSE)


def files(folders, suffixes):
    """Paths below the folders that end so, relative to the root, sorted."""
    found = []
    for folder in folders:
        found += [path.relative_to(ROOT) for path in (ROOT / folder).rglob("*")
                  if path.suffix in suffixes and path.is_file()]
    return sorted(found)


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def code(text):
    """The text with comments and strings blanked out; every line keeps its number."""
    return COMMENT_OR_STRING.sub(blank, text)


def uncommented(text):
    """The text with comments blanked out, strings kept."""
    return COMMENT_OR_STRING.sub(lambda m: blank(m) if m[0].startswith("/") else m[0], text)


def finish(offenders, what):
    """Prints the offenders and exits with the test's result."""
    for offender in offenders:
        print(offender)
    print(f"{what}: {len(offenders)} offenders")
    sys.exit(1 if offenders else 0)
