"""Writes state_dicts.txt: what torchvision's networks hold, for models to be compared with.

    /usr/bin/python3 tests/oracle/state_dicts.py       # Debian 12: python3-torchvision

A network's tensors are one line of text each, "name d0 d1 ...\\n", sorted by name; BatchNorm's
num_batches_tracked, a counter, is left out. The digest is FNV-1a, 64 bits, of these lines.
"""

import os
import sys

import torchvision

FOLDER = os.path.dirname(os.path.abspath(__file__))
NETWORKS = [
    "alexnet", "vgg11", "vgg13", "vgg16", "vgg19",
    "resnet18", "resnet34", "resnet50", "resnet101", "resnet152",
    "densenet121", "densenet161", "densenet169", "densenet201", "inception_v3"]


def make(name):
    # Initial values do not matter here, and those of Inception take long.
    options = {"aux_logits": False, "init_weights": False} if name == "inception_v3" else {}
    return getattr(torchvision.models, name)(**options)


def lines_of(network):
    state = network.state_dict()
    return [" ".join([name, *map(str, state[name].shape)]) + "\n"
            for name in sorted(state) if not name.endswith("num_batches_tracked")]


def digest(lines):
    value = 0xCBF29CE484222325
    for byte in "".join(lines).encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def main():
    if len(sys.argv) > 1:  # one network's lines, to see what differs
        print("".join(lines_of(make(sys.argv[1]))), end="")
        return
    with open(os.path.join(FOLDER, "state_dicts.txt"), "w") as file:
        version = torchvision.__version__
        print(f"# made by tests/oracle/state_dicts.py with torchvision {version}", file=file)
        print("# network | trainable parameters | tensors | digest of names and shapes", file=file)
        for name in NETWORKS:
            network = make(name)
            count = sum(p.numel() for p in network.parameters())
            lines = lines_of(network)
            print(f"{name} | {count} | {len(lines)} | {digest(lines):016x}", file=file)


main()
