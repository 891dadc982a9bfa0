"""Writes optimizers.txt: fifty updates of every optimizer on seven numbers, in float64.

    /usr/bin/python3 tests/oracle/optimizers.py        # Debian 12: python3-torch

The parameter starts at w[i] = sin(i). Update t = 0, 1, ... sees the gradient
g[i] = sin(t + i) + 0.1 w[i], w being the parameter before the update.
"""

import os

import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))
SHOWN = (1, 2, 3, 10, 50)  # after so many updates
SGD = torch.optim.SGD
CASES = [
    ("sgd", SGD, {"lr": 0.05}),
    ("sgd", SGD, {"lr": 0.05, "momentum": 0.9}),
    ("sgd", SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    ("sgd", SGD, {"lr": 0.05, "weight_decay": 0.01}),
    ("sgd", SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}),
    ("sgd", SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("adam", torch.optim.Adam, {"lr": 0.01}),
    ("adam", torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.01}),
    ("adam", torch.optim.Adam, {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-3}),
    ("adamw", torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.0}),
    ("adamw", torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
]


def trajectory(make, options):
    t = torch.arange(7, dtype=torch.float64)
    w = torch.nn.Parameter(torch.sin(t))
    optimizer = make([w], **options)
    for update in range(max(SHOWN)):
        w.grad = torch.sin(update + t) + 0.1 * w.detach()
        optimizer.step()
        if update + 1 in SHOWN:
            yield update + 1, w.tolist()


def text(key, value):
    if key == "betas":
        return f"beta1={value[0]:g} beta2={value[1]:g}"
    return f"{key}={int(value) if value is True else format(value, 'g')}"


def main():
    with open(os.path.join(FOLDER, "optimizers.txt"), "w") as file:
        print(f"# made by tests/oracle/optimizers.py with PyTorch {torch.__version__}", file=file)
        print("# optimizer options | updates | the seven numbers after them", file=file)
        for name, make, options in CASES:
            words = " ".join([name, *(text(k, v) for k, v in options.items())])
            for n_updates, values in trajectory(make, options):
                print(f"{words} | {n_updates} |", *(f"{x:.15e}" for x in values), file=file)


main()
