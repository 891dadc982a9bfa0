"""What the benchmark scripts share: finding neap and a Python with PyTorch, running both, medians.

Standard library only. NEAP names the binary (default: build/release/neap), TORCH_PYTHON the
interpreter that has PyTorch (default: this one, else /usr/bin/python3).
"""

import json
import os
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BENCH = os.path.join(ROOT, "bench")


def fail(message):
    print(f"{os.path.basename(sys.argv[0])}: error: {message}", file=sys.stderr)
    sys.exit(1)


def environment(threads):
    return {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}


def run(command, threads):
    """Standard output of a command; the script ends with the command's own words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment(threads))
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip())[-2000:]
        fail(f"'{' '.join(command)}' ended with {done.returncode}\n{words}")
    return done.stdout


def find_neap():
    path = os.environ.get("NEAP", os.path.join(ROOT, "build", "release", "neap"))
    found = shutil.which(path)
    if not found:
        fail(f"no neap at '{path}': run make, or say where it is with NEAP=path")
    return found


def find_torch_python():
    """An interpreter that has PyTorch and torchvision."""
    asked = os.environ.get("TORCH_PYTHON")
    for python in [asked] if asked else [sys.executable, "/usr/bin/python3"]:
        if shutil.which(python) and subprocess.run(
                [python, "-c", "import torch, torchvision"], capture_output=True).returncode == 0:
            return python
    fail("no Python with PyTorch: apt-get install python3-torch python3-torchvision "
         "libopenblas0-pthread, or say which with TORCH_PYTHON=python")


def neap_events(arguments, threads):
    """The JSON lines of a neap command (`train`: one event a line)."""
    events = []
    for line in run([find_neap(), *arguments, "--threads", str(threads), "--json"],
                    threads).splitlines():
        if line.startswith("{"):
            events.append(json.loads(line))
    return events


def of_kind(events, kind):
    found = [event for event in events if event.get("event") == kind]
    if not found:
        fail(f"neap printed no '{kind}' event")
    return found


def torch_json(script, arguments, threads):
    """The last line, a JSON object, of one of the PyTorch scripts beside this file."""
    python = find_torch_python()
    command = [python, os.path.join(BENCH, script), "--threads", str(threads), *arguments]
    return json.loads(run(command, threads).splitlines()[-1])


def describe(name, seconds):
    listed = " ".join(f"{s:.3f}" for s in seconds)
    print(f"{name:<24} median {statistics.median(seconds):8.3f} s   of {listed}")
    return statistics.median(seconds)


def verdict(ratio, wanted):
    """Prints the ratio and returns the exit status."""
    ok = ratio >= wanted
    words = "ok" if ok else "NOT MET"
    print(f"neap is {ratio:.2f} times as fast; wanted: at least {wanted:g}: {words}")
    return 0 if ok else 1
