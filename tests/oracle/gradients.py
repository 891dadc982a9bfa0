"""Writes gradients/<network>.txt; README.md describes them.

    /usr/bin/python3 tests/oracle/gradients.py [network ...]    # Debian 12: python3-torchvision
"""

import copy
import os
import sys

import torch

from formula import batch, fill, signs
from networks import SHAPES, float32_kernels, make

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gradients")


def step(model, images, labels):
    """The loss, the running statistics after one forward, and the gradients, by name."""
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    tensors = {"loss": loss.detach()}
    tensors |= {name: p.grad for name, p in model.named_parameters()}
    tensors |= {name: b for name, b in model.named_buffers() if b.is_floating_point()}
    return {name: tensor.double() for name, tensor in tensors.items()}


def errors_of(model, images, labels, exact):
    errors = dict.fromkeys(exact, 0.0)
    for tensors in float32_kernels(lambda m, x: step(m, x, labels), model, images):
        for name, tensor in tensors.items():
            error = ((tensor - exact[name]).norm() / exact[name].norm()).item()
            errors[name] = max(errors[name], error)
    return errors


def write(network, shape, exact, errors):
    with open(os.path.join(FOLDER, f"{network}.txt"), "w") as file:
        print(f"# made by tests/oracle/gradients.py with PyTorch {torch.__version__}", file=file)
        print("batch", *shape, file=file)
        print("# name norm projection float32_error", file=file)
        for name, tensor in exact.items():
            projection = (tensor.flatten() * signs(name, tensor.numel())).sum()
            print(f"{name} {tensor.norm():.10e} {projection:.10e} {errors[name]:.1e}", file=file)


def main():
    torch.set_num_threads(2)
    for network in sys.argv[1:] or SHAPES:
        shape = SHAPES[network]
        images, labels = batch(shape)
        model = fill(make(network)).train()
        exact = step(copy.deepcopy(model).double(), images.double(), labels)
        errors = errors_of(model, images, labels, exact)
        write(network, shape, exact, errors)
        worst = max(errors, key=errors.get)
        print(f"{network}: {len(exact)} tensors, loss within {errors['loss']:.1e}, "
              f"{worst} within {errors[worst]:.1e} of float64", file=sys.stderr, flush=True)


main()
