"""PyTorch's plain training loop on Fashion-MNIST: 784-512-512-10, SGD, no shuffling.

Prints a line for each epoch on stderr and, last, one JSON object on stdout. `seconds` holds the
epochs' training alone: the images are in memory as one tensor before, and a throw-away network
has warmed the kernels up. --save-start writes the initial weights (seed 0) as safetensors.
"""

import argparse
import copy
import gzip
import json
import os
import struct
import sys
import time

import numpy
import torch

from torch_blas import require_fast_blas

FOLDERS = [f for f in (os.environ.get("NEAP_DATA"), "data", "/usr/share/datasets") if f]


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


def read_idx(name, header_bytes, shape):
    for folder in FOLDERS:
        path = os.path.join(folder, "fashion-mnist", name)
        if os.path.exists(path):
            with gzip.open(path) as file:
                data = numpy.frombuffer(file.read(), numpy.uint8, offset=header_bytes)
                return data.reshape(shape)
    sys.exit(f"no {name} in {', '.join(FOLDERS)}: apt-get install dataset-fashion-mnist")


def read_set(part):
    images = read_idx(f"{part}-images-idx3-ubyte.gz", 16, (-1, 1, 28, 28))
    labels = read_idx(f"{part}-labels-idx1-ubyte.gz", 8, (-1,))
    return torch.tensor(images).float().div(255), torch.tensor(labels.astype(numpy.int64))


def save_safetensors(tensors, path):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        raw = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def train_epoch(model, images, labels, args, n_batches=None):
    """Accumulated batches count as one update; the last window may be short. Returns seconds."""
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    loss_of = torch.nn.CrossEntropyLoss()
    total = (len(images) + args.batch - 1) // args.batch
    total = min(total, n_batches or total)
    start = time.perf_counter()
    for k in range(total):
        part = slice(k * args.batch, (k + 1) * args.batch)
        (loss_of(model(images[part]), labels[part]) / args.accumulate).backward()
        if (k + 1) % args.accumulate == 0 or k + 1 == total:
            optimizer.step()
            optimizer.zero_grad()
    return time.perf_counter() - start


def evaluate(model, images, labels):
    with torch.no_grad():
        output = model(images)
        loss = torch.nn.functional.cross_entropy(output, labels).item()
        return loss, 100 * (output.argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save-start", metavar="FILE")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    model = Mlp()
    if args.save_start:
        save_safetensors(model.state_dict(), args.save_start)
        return
    blas = require_fast_blas()
    images, labels = read_set("train")
    test = read_set("t10k")
    train_epoch(copy.deepcopy(model), images, labels, args, n_batches=50)
    seconds, evaluations = [], []
    for epoch in range(args.epochs):
        seconds.append(train_epoch(model, images, labels, args))
        evaluations.append(evaluate(model, *test))
        print("epoch %d: %.3f s, test loss %.4f, top-1 %.2f %%"
              % (epoch + 1, seconds[-1], *evaluations[-1]), file=sys.stderr)
    print(json.dumps({"torch": torch.__version__, "blas": blas, "seconds": seconds,
                      "eval_loss": [e[0] for e in evaluations],
                      "eval_top1": [e[1] for e in evaluations]}))


main()
