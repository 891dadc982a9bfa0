#!/bin/sh
# The plain Fashion-MNIST recipe (784-512-512-10, SGD 1e-3, twenty epochs, no shuffling) beside what
# PyTorch reaches, from PyTorch's own start, from neap's, and with accumulation.
#
#   bench/seed_run.sh [START.safetensors]
#
# START holds PyTorch's initial weights of seed 0; without it PyTorch makes them. NEAP names the
# binary (default build/release/neap). Exit status 1: a number is off, or something is missing.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "seed_run.sh: error: $*" >&2
    exit 1
}

neap=${NEAP:-build/release/neap}
command -v "$neap" >/dev/null ||
    fail "no neap at '$neap': run make, or say where it is with NEAP=path"
command -v python3 >/dev/null || fail "no python3: apt-get install python3"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

start=${1:-$work/start.safetensors}
if [ $# -eq 0 ]; then
    torch_python=${TORCH_PYTHON:-/usr/bin/python3}
    "$torch_python" -c 'import torch' 2>/dev/null ||
        fail "no START given and no PyTorch to make it: apt-get install python3-torch," \
            "or say which Python has it with TORCH_PYTHON=python"
    "$torch_python" bench/torch_mlp.py --save-start "$start"
fi
[ -r "$start" ] || fail "cannot read '$start'"

# train NAME OPTIONS... : the run's events in $work/NAME
train() {
    name=$1
    shift
    echo "neap train mlp $*" >&2
    "$neap" train mlp --data fashion-mnist --epochs 20 --opt sgd --lr 1e-3 --momentum 0 \
        --no-shuffle --json "$@" >"$work/$name" || fail "neap train ended with $?"
}

train pytorch_start -b 64 --pretrained "$start"
train own_start -b 64
train accumulated -b 16 --grad-accum-steps 4 --pretrained "$start"

python3 - "$work" <<'END'
import json, sys

def evaluations(name):
    with open(f"{sys.argv[1]}/{name}") as file:
        events = [json.loads(line) for line in file if line.startswith("{")]
    found = [(e["top1"], e["loss"]) for e in events if e["event"] == "eval"]
    if len(found) < 20:
        sys.exit(f"seed_run.sh: error: {name}: {len(found)} evaluations, expected 20")
    return found

ok = True

def compare(what, epoch, peer, peer_name, points, loss):
    """points, loss: the difference allowed; None: not asked for."""
    global ok
    top1, mean = evaluations(what)[epoch - 1]
    good = abs(top1 - peer[0]) <= points and (loss is None or abs(mean - peer[1]) <= loss)
    ok &= good
    allowed = f"{points} points" + (f" and {loss}" if loss else "")
    print(f"{what:<14} epoch {epoch:2}  neap {top1:6.2f} % {mean:.4f}   "
          f"{peer_name} {peer[0]:6.2f} % {peer[1]:.4f}   within {allowed}: "
          f"{'ok' if good else 'NOT MET'}")

compare("pytorch_start", 1, (49.47, 2.1624), "PyTorch", 0.3, 0.003)
compare("pytorch_start", 20, (78.84, 0.6152), "PyTorch", 0.3, 0.003)
compare("own_start", 20, (78.84, 0.6152), "PyTorch", 2, 0.03)
compare("accumulated", 20, evaluations("pytorch_start")[19], "batch 64", 0.1, None)
sys.exit(0 if ok else 1)
END
