"""Seconds of PyTorch's training steps on a torchvision or cell network with synthetic input.

Forward, cross-entropy, backward and SGD's update, in one memory format; one JSON object on stdout.
"""

import argparse
import json
import os
import resource
import sys
import time

import torch
import torchvision

from torch_blas import require_fast_blas

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "oracle"))
from cell_networks import CELLS, CellNetwork  # noqa: E402

FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def make(name):
    """The network, side of its images, classes."""
    if name in CELLS:
        return CellNetwork(name), 32, 10
    return getattr(torchvision.models, name)(), 224, 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--format", choices=FORMATS, default="contiguous")
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    blas = require_fast_blas()
    layout = FORMATS[args.format]
    model, side, n_classes = make(args.model)
    model = model.to(memory_format=layout)
    images = torch.randn(args.batch, 3, side, side).to(memory_format=layout)
    labels = torch.randint(0, n_classes, (args.batch,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    seconds = []
    for _ in range(args.warm_up + args.steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss_of(model(images), labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    rss_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"torch": torch.__version__, "blas": blas, "format": args.format,
                      "rss_bytes": rss_bytes, "seconds": seconds[args.warm_up:]}))


main()
