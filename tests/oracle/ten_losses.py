"""Writes ten_losses.txt; README.md describes it.

    /usr/bin/python3 tests/oracle/ten_losses.py    # Debian 12: python3-torch python3-torchvision
"""

import copy
import os
import sys

import torch

from formula import batch, fill
from networks import SHAPES, float32_kernels, make

FOLDER = os.path.dirname(os.path.abspath(__file__))
# Learning rates. With them float32 arithmetic of any kernel stays near float64's path: no ReLU or
# maximum lies on the edge of flipping.
RATES = {"mlp": 0.01, "lenet5": 0.01, "resnet20": 0.01, "resnet18": 0.003, "vgg11": 1e-5}


def ten_updates(model, images, labels, lr):
    """Losses before each of ten updates on one batch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.set_num_threads(2)
    lines = []
    for name, lr in RATES.items():
        images, labels = batch(SHAPES[name])
        model = fill(make(name)).train()
        exact = ten_updates(copy.deepcopy(model).double(), images.double(), labels, lr)
        runs = float32_kernels(lambda m, x: ten_updates(m, x, labels, lr), model, images)
        error = max(abs(a - b) for losses in runs for a, b in zip(losses, exact))
        lines.append(" ".join([name, f"{lr:g}", f"{error:.1e}", "|",
                               *(f"{x:.7f}" for x in runs[0]), "|",
                               *(f"{x:.12f}" for x in exact)]))
        print(f"{name}: losses within {error:.1e} of float64: {exact}", file=sys.stderr)
    with open(os.path.join(FOLDER, "ten_losses.txt"), "w") as file:
        print(f"# made by tests/oracle/ten_losses.py with PyTorch {torch.__version__}", file=file)
        print("# model lr float32_error | ten losses in float32 | in float64", file=file)
        print("\n".join(lines), file=file)


main()
