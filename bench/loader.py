"""Decoding and augmenting an image folder on one core: neap's loader against PIL with torchvision.

    python3 bench/loader.py [--data FOLDER] [--size 224] [--rounds 3] [--wanted 1]

Two ways: `evaluate` (resize, centre crop) and `augment` (random resized crop, flip), each with
normalisation, both sides alternating in processes of their own. What is compared is processor
seconds, which a busy machine stretches less than it does the clock's. Exit status 1: the ratio is
missed, or something is missing.
"""

import argparse
import json
import os
import statistics

import common

DATA = os.path.join(common.ROOT, "..", "shared", "data", "cats-dogs")


def per_second(measured):
    return measured["images"] / measured["processor_seconds"]


def compare(how, args):
    loader = os.path.join(os.path.dirname(os.path.abspath(common.find_neap())), "bench", "loader")
    if not os.path.exists(loader):
        common.fail(f"no '{loader}': scripts/build.sh release --tests builds it")
    mine, peer = [], []
    for _ in range(args.rounds):
        flags = ["--data", args.data, "--size", str(args.size), "--how", how]
        peer.append(per_second(common.torch_json("torch_loader.py", flags, 1)))
        mine.append(per_second(json.loads(
            common.run([loader, args.data, str(args.size), how], 1))))
    for name, rates in ("PIL + torchvision", peer), ("neap", mine):
        listed = " ".join(f"{rate:.0f}" for rate in rates)
        print(f"{how}: {name:<18} median {statistics.median(rates):6.0f} images per processor "
              f"second   of {listed}")
    return common.verdict(statistics.median(mine) / statistics.median(peer), args.wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=DATA)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wanted", type=float, default=1.0)
    args = parser.parse_args()
    if not os.path.isdir(args.data):
        common.fail(f"no folder '{args.data}': name an image folder with --data")
    raise SystemExit(compare("evaluate", args) | compare("augment", args))


main()
