"""Writes ten_losses.txt and <model>_gradients.txt; README.md describes them.

    /usr/bin/python3 tests/oracle/ten_losses.py    # Debian 12: python3-torch python3-torchvision
"""

import copy
import os
import sys

import torch

from formula import batch, fill
from networks import NETWORKS

FOLDER = os.path.dirname(os.path.abspath(__file__))
HEADER = f"# made by tests/oracle/ten_losses.py with PyTorch {torch.__version__}"


def ten_updates(model, images, labels, lr):
    """Losses before each of ten updates on one batch; gradients and buffers of the first."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses, first = [], None
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        if first is None:
            first = {("gradient", n): p.grad.double().clone() for n, p in model.named_parameters()}
            first |= {("buffer", n): b.double().clone() for n, b in model.named_buffers()
                      if b.is_floating_point()}
        optimizer.step()
        losses.append(loss.item())
    return losses, first


def float32_runs(model, images, labels, lr):
    """The same by three sets of float32 kernels: how far rounding alone may lead."""
    last = torch.channels_last
    yield ten_updates(copy.deepcopy(model), images, labels, lr)
    yield ten_updates(copy.deepcopy(model).to(memory_format=last),
                      images.to(memory_format=last), labels, lr)
    with torch.backends.mkldnn.flags(enabled=False):
        yield ten_updates(copy.deepcopy(model), images, labels, lr)


def write_tensors(path, exact, errors):
    with open(path, "w") as file:
        print(HEADER, file=file)
        print("# kind name elements norm projection float32_error first three", file=file)
        for (kind, name), tensor in exact.items():
            flat = tensor.flatten()
            index = torch.arange(flat.numel(), dtype=torch.float64)
            projection = (flat * torch.cos(1.3 * index)).sum().item()
            first = " ".join(f"{x:.12e}" for x in flat[:3].tolist())
            print(f"{kind} {name} {flat.numel()} {flat.norm().item():.12e} {projection:.12e} "
                  f"{errors[kind, name]:.1e} {first}", file=file)


def main():
    torch.set_num_threads(2)
    lines = []
    for name, (make, shape, lr) in NETWORKS.items():
        images, labels = batch(shape)
        model = fill(make()).train()
        losses64, exact = ten_updates(copy.deepcopy(model).double(), images.double(), labels, lr)
        loss_error, errors, losses32 = 0.0, dict.fromkeys(exact, 0.0), None
        for losses, first in float32_runs(model, images, labels, lr):
            losses32 = losses32 or losses
            loss_error = max(loss_error, *(abs(a - b) for a, b in zip(losses, losses64)))
            for key, tensor in first.items():
                error = ((tensor - exact[key]).norm() / exact[key].norm()).item()
                errors[key] = max(errors[key], error)
        write_tensors(os.path.join(FOLDER, f"{name}_gradients.txt"), exact, errors)
        lines.append(" ".join([name, str(shape[0]), f"{lr:g}", f"{loss_error:.1e}", "|",
                               *(f"{x:.7f}" for x in losses32), "|",
                               *(f"{x:.12f}" for x in losses64)]))
        print(f"{name}: losses within {loss_error:.1e}, gradients within "
              f"{max(errors.values()):.1e} of float64", file=sys.stderr)
    with open(os.path.join(FOLDER, "ten_losses.txt"), "w") as file:
        print(HEADER, file=file)
        print("# model batch lr float32_error | ten losses in float32 | in float64", file=file)
        print("\n".join(lines), file=file)


main()
