"""Writes ops.txt: single ops in float64, where conventions matter or no formula is short.

    /usr/bin/python3 tests/oracle/ops.py        # Debian 12: python3-torch

Element i of input k (0 first) is sin(0.37 i + k), changed by the case's own words if it has any:
    values=ties       floor(2 sin): many equal maxima
    values=negative   sin - 2: a padding of zeros would win
    values=N          N sin
and 1 + 0.5 sin for a running variance. Labels are (7 k + 3) mod classes. The gradient that enters
the backward pass is cos(0.37 j) at output element j (1 for a loss).
"""

import math
import os

import torch
from torch.nn import functional as F

FOLDER = os.path.dirname(os.path.abspath(__file__))


def wave(shape, k, how=None):
    values = torch.sin(0.37 * torch.arange(math.prod(shape), dtype=torch.float64) + k)
    if how == "ties":
        values = torch.floor(2 * values)
    elif how == "negative":
        values = values - 2
    elif how is not None:
        values = values * how
    return values.reshape(shape)


def max_pool2d(inputs, kernel, stride, padding=0, dilation=1, ceil_mode=0):
    return F.max_pool2d(*inputs, kernel, stride, padding, dilation, bool(ceil_mode))


def avg_pool2d(inputs, kernel, stride, padding=0, ceil_mode=0, count_include_pad=1):
    return F.avg_pool2d(*inputs, kernel, stride, padding, bool(ceil_mode), bool(count_include_pad))


def adaptive_avg_pool2d(inputs, output):
    return F.adaptive_avg_pool2d(*inputs, output)


def conv2d(inputs, stride=1, padding=0, dilation=1, groups=1):
    return F.conv2d(*inputs, stride, padding, dilation, groups)


def linear(inputs):
    return F.linear(*inputs)


def softmax(inputs):
    return F.softmax(*inputs, dim=1)


def log_softmax(inputs):
    return F.log_softmax(*inputs, dim=1)


def mse(inputs):
    return F.mse_loss(*inputs)


def cross_entropy(inputs, label_smoothing=0.0):
    n_samples, n_classes = inputs[0].shape
    labels = torch.tensor([(7 * k + 3) % n_classes for k in range(n_samples)])
    return F.cross_entropy(inputs[0], labels, label_smoothing=label_smoothing)


# op, its words, shapes of its inputs
CASES = [
    (max_pool2d, {"kernel": 2, "stride": 2}, [(1, 2, 4, 6)]),
    (max_pool2d, {"kernel": 3, "stride": 2, "padding": 1, "values": "ties"}, [(1, 2, 7, 7)]),
    (max_pool2d, {"kernel": 3, "stride": 2, "padding": 1, "values": "negative"}, [(2, 1, 6, 5)]),
    (max_pool2d, {"kernel": 3, "stride": 2, "ceil_mode": 1, "values": "ties"}, [(1, 2, 8, 7)]),
    (max_pool2d, {"kernel": 2, "stride": 2, "padding": 1, "ceil_mode": 1}, [(1, 1, 5, 6)]),
    (max_pool2d, {"kernel": 2, "stride": 1, "dilation": 2}, [(1, 1, 5, 6)]),
    (avg_pool2d, {"kernel": 2, "stride": 2}, [(1, 2, 4, 6)]),
    (avg_pool2d, {"kernel": 3, "stride": 2, "padding": 1, "count_include_pad": 1}, [(1, 2, 7, 5)]),
    (avg_pool2d, {"kernel": 3, "stride": 2, "padding": 1, "count_include_pad": 0}, [(1, 2, 7, 5)]),
    (avg_pool2d, {"kernel": 3, "stride": 2, "padding": 1, "ceil_mode": 1, "count_include_pad": 1},
     [(1, 1, 6, 8)]),
    (avg_pool2d, {"kernel": 3, "stride": 2, "padding": 1, "ceil_mode": 1, "count_include_pad": 0},
     [(1, 1, 6, 8)]),
    (avg_pool2d, {"kernel": 2, "stride": 2, "padding": 1, "ceil_mode": 1}, [(1, 1, 5, 6)]),
    (adaptive_avg_pool2d, {"output": (1, 1)}, [(2, 3, 5, 4)]),
    (adaptive_avg_pool2d, {"output": (3, 2)}, [(1, 2, 7, 5)]),
    (adaptive_avg_pool2d, {"output": (7, 7)}, [(1, 2, 1, 1)]),
    (adaptive_avg_pool2d, {"output": (7, 7)}, [(1, 1, 10, 4)]),
    (conv2d, {}, [(2, 3, 5, 4), (2, 3, 3, 3), (2,)]),
    (conv2d, {"stride": 2, "padding": 1}, [(1, 2, 6, 7), (3, 2, 3, 3), (3,)]),
    (conv2d, {"padding": 2, "dilation": 2, "groups": 2}, [(1, 4, 5, 5), (6, 2, 3, 3), (6,)]),
    (conv2d, {"stride": 2, "padding": 2, "groups": 3}, [(1, 3, 7, 6), (3, 1, 5, 5), (3,)]),
    (linear, {}, [(3, 5), (4, 5), (4,)]),
    (softmax, {"values": 3}, [(3, 5)]),
    (softmax, {"values": 1000}, [(2, 5)]),
    (log_softmax, {"values": 1000}, [(2, 5)]),
    (mse, {}, [(3, 4), (3, 4)]),
    (cross_entropy, {}, [(4, 10)]),
    (cross_entropy, {"values": 1000}, [(4, 10)]),
    (cross_entropy, {"label_smoothing": 0.1}, [(4, 10)]),
]
BATCH_NORMS = [
    ({"momentum": 0.1, "eps": 1e-5}, (2, 3, 3, 2)),
    ({"momentum": 0.3, "eps": 1e-3}, (4, 2, 1, 1)),
    ({"momentum": 0.1, "eps": 1e-5}, (5, 3)),
]


def commas(shape):
    return ",".join(map(str, shape)) or "1"


def write(file, op, words, what, shapes, tensor):
    listed = " ".join(f"{k}={commas(v) if isinstance(v, tuple) else v}"
                      for k, v in words.items())
    values = " ".join(f"{x:.15g}" for x in tensor.detach().flatten().tolist())
    print(f"{op} {listed}".strip(), what, " ".join(map(commas, shapes)), commas(tensor.shape),
          values, sep=" | ", file=file)


def backward(y):
    """From cos(0.37 j), or 1 where y is a loss."""
    flat = torch.arange(y.numel(), dtype=torch.float64)
    y.backward(torch.cos(0.37 * flat).reshape(y.shape))


def write_case(file, op, words, shapes):
    options = {k: v for k, v in words.items() if k != "values"}
    inputs = [wave(s, k, words.get("values")).requires_grad_() for k, s in enumerate(shapes)]
    y = op(inputs, **options)
    backward(y)
    write(file, op.__name__, words, "y", shapes, y)
    for k, tensor in enumerate(inputs):
        if op is not mse or k == 0:
            write(file, op.__name__, words, f"d{k}", shapes, tensor.grad)


def write_batch_norm(file, words, shape):
    """Inputs: x, weight, bias, running mean, running variance."""
    shapes = [shape] + [(shape[1],)] * 4
    x, weight, bias, mean, variance = (wave(s, k) for k, s in enumerate(shapes))
    variance = 1 + 0.5 * variance
    write(file, "batch_norm evaluation", words, "y", shapes,
          F.batch_norm(x, mean, variance, weight, bias, False, **words))
    inputs = [t.requires_grad_() for t in (x, weight, bias)]
    y = F.batch_norm(x, mean, variance, weight, bias, True, **words)
    backward(y)
    results = {"y": y, "running_mean": mean, "running_var": variance}
    results |= {f"d{k}": t.grad for k, t in enumerate(inputs)}
    for what, tensor in results.items():
        write(file, "batch_norm training", words, what, shapes, tensor)


def main():
    with open(os.path.join(FOLDER, "ops.txt"), "w") as file:
        print(f"# made by tests/oracle/ops.py with PyTorch {torch.__version__}", file=file)
        print("# op words | result | shapes of the inputs | its shape | values", file=file)
        for op, words, shapes in CASES:
            write_case(file, op, words, shapes)
        for words, shape in BATCH_NORMS:
            write_batch_norm(file, words, shape)


main()
