"""Every #include in src/, examples/ and bench/ is allowed by the tables below.

A module is a folder of src/. Everything may include neap.h and its own module. Only what a file
includes itself counts, not what that brings along.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import source

# Who may include whom, from the ground up.
MAY_INCLUDE = {
    "base": "",
    "ir": "base",
    "ops": "base ir",
    "models": "base ir",
    "pass": "base ir ops",
    "fmt": "base ir ops plan",
    "plan": "base",
    "backend": "base ir ops",
    "comm": "base",
    "compile": "base ir ops pass plan backend",
    "exec": "base ir plan backend comm",
    "data": "base",
    "report": "base",
    "train": "base ir ops plan backend compile exec data comm fmt report",
    "cli": "",
    "examples": "",
    "bench": "base data",
}

# Kernels live beside their op and count as backend: src/ops/conv2d_dnn.c.
KERNEL = re.compile(r"^src/ops/.*_(dnn|cpu|cuda)\.(c|h|cu)$")

# Headers of other libraries, and the only files that may include them.
FOREIGN = {
    r"(oneapi/dnnl/)?dnnl\w*\.h": r"src/backend/cpu/dnn\.[ch]",
    r"jansson\.h": r"src/(fmt|cli|report)/.*",
    r"zlib\.h": r"src/(data|fmt)/.*",
    r"jpeglib\.h|jerror\.h": r"src/data/decode_jpeg\.c",
    r"png\.h": r"src/data/decode_png\.c",
    r"mpi\.h|nccl\.h": r"src/comm/.*",
    r"cu\w*\.h": r"src/backend/cuda/.*|src/ops/.*_cuda\.(c|h|cu)",
}

# Our own headers that fewer files may include than the module table says.
OWN = {
    r"backend/cpu/dnn\.h": r"src/backend/cpu/.*|src/ops/.*_dnn\.[ch]",
    r"cli/.*": r"src/cli/.*",
}

# Words that stand in one file only.
WORDS = {
    r"\bdnnl_version\b|\bDNNL_VERSION\w*": r"src/backend/cpu/dnn\.[ch]",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def module_of(path):
    if KERNEL.match(str(path)):
        return "backend"
    return path.parts[1] if path.parts[0] == "src" else path.parts[0]


def check_quoted(path, header):
    """The rule that this include breaks, or None."""
    module = module_of(path)
    if header == "neap.h":
        return None
    if not (source.ROOT / "src" / header).is_file():
        return f'"{header}" is neither neap.h nor a file below src/ named from there'
    for pattern, allowed in OWN.items():
        if re.fullmatch(pattern, header) and not re.fullmatch(allowed, str(path)):
            return f"only {allowed} may include {header}"
    if module not in MAY_INCLUDE:
        return f"the module {module} is not in the table of tests/style/layering.py"
    target = module_of(Path("src") / header)
    home = path.parts[1] if path.parts[0] == "src" else module
    if target not in (module, home) and target not in MAY_INCLUDE[module].split():
        allowed = MAY_INCLUDE[module] or "neap.h only"
        return f"{module} may not include {target} (allowed: {allowed})"
    return None


def check_foreign(path, header):
    for pattern, allowed in FOREIGN.items():
        if re.fullmatch(pattern, header) and not re.fullmatch(allowed, str(path)):
            return f"only {allowed} may include {header}"
    return None


def check(path):
    offenders = []
    text = source.read(path)
    for number, line in enumerate(source.uncommented(text).splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            quoted, header = include[1] == '"', include[2]
            broken = check_quoted(path, header) if quoted else None
            broken = check_foreign(path, header) or broken
            if broken:
                offenders.append(f"{path}:{number}: {broken}")
    for number, line in enumerate(source.code(text).splitlines(), 1):
        for pattern, allowed in WORDS.items():
            word = re.search(pattern, line)
            if word and not re.fullmatch(allowed, str(path)):
                offenders.append(f"{path}:{number}: only {allowed} may mention {word[0]}")
    return offenders


def main():
    paths = source.files(["src", "examples", "bench"], [".c", ".h", ".def", ".cu"])
    source.finish([offender for path in paths for offender in check(path)],
                  f"layering of {len(paths)} files")


main()
