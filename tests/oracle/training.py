"""Writes training.txt: fifty updates of the MLP under schedules, clipping, smoothing and decay.

    /usr/bin/python3 tests/oracle/training.py        # Debian 12: python3-torch python3-torchvision

Weights, batch and labels are those of formula.py; the batch repeats, ten updates an epoch. A case
is a line of options by their names on neap's command line.
"""

import os

import torch
from torch.optim import lr_scheduler as lrs

from formula import batch, fill
from networks import Mlp

FOLDER = os.path.dirname(os.path.abspath(__file__))
UPDATES, PER_EPOCH = 50, 10
SHOWN = (1, 2, 3, 10, 25, 50)
CASES = [
    "lr=0.01",
    "lr=0.01 sched=step decay-epochs=2 decay-rate=0.3",
    "lr=0.01 sched=multistep decay-milestones=1,4",
    "lr=0.01 sched=cosine min-lr=0.001",
    "lr=0.01 sched=cosine warmup-epochs=1",
    "lr=0.02 sched=onecycle",
    "lr=0.01 sched=onecycle warmup-epochs=2 min-lr=0.0005",
    "lr=0.02 clip-grad=0.5",
    "lr=0.01 clip-grad=1000",
    "lr=0.01 label-smoothing=0.1",
    "lr=0.01 weight-decay=0.1 decay-norms=0",
    "lr=0.0004 opt=adamw weight-decay=0.2 decay-norms=0 clip-grad=0.3 sched=onecycle",
    "lr=0.0003 opt=adam label-smoothing=0.2 sched=cosine warmup-epochs=0.5",
]


def make_optimizer(model, options):
    lr, decay = float(options["lr"]), float(options.get("weight-decay", 0))
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    others = [p for p in model.parameters() if p.ndim > 1]
    spared = 0 if options.get("decay-norms") == "0" else decay
    groups = [{"params": others, "weight_decay": decay},
              {"params": vectors, "weight_decay": spared}]
    make = {"sgd": lambda: torch.optim.SGD(groups, lr=lr, momentum=0.9),
            "adam": lambda: torch.optim.Adam(groups, lr=lr),
            "adamw": lambda: torch.optim.AdamW(groups, lr=lr)}
    return make[options.get("opt", "sgd")]()


def make_schedule(optimizer, options):
    """The scheduler, and whether it steps by epoch."""
    name, lr = options.get("sched", "constant"), float(options["lr"])
    least, rate = float(options.get("min-lr", 0)), float(options.get("decay-rate", 0.1))
    warmup = int(float(options.get("warmup-epochs", 0)) * PER_EPOCH)
    if name == "step":
        return lrs.StepLR(optimizer, int(options["decay-epochs"]), rate), True
    if name == "multistep":
        milestones = [int(e) for e in options["decay-milestones"].split(",")]
        return lrs.MultiStepLR(optimizer, milestones, rate), True
    if name == "onecycle":
        last = lr / least if least else 25e4  # of PyTorch's two divisors the product
        return lrs.OneCycleLR(optimizer, lr, UPDATES, cycle_momentum=False, div_factor=25,
                              final_div_factor=last / 25,
                              pct_start=warmup / UPDATES if warmup else 0.3), False
    if name == "cosine":
        cosine = lrs.CosineAnnealingLR(optimizer, UPDATES - warmup, least)
        if not warmup:
            return cosine, False
        rise = lrs.LinearLR(optimizer, 1 / warmup, total_iters=warmup - 1)
        return lrs.SequentialLR(optimizer, [rise, cosine], [warmup]), False
    return lrs.LambdaLR(optimizer, lambda _: 1), False


def train(options, dtype, noise=0):
    """`noise` seeds a relative change of every weight by up to a float32's rounding."""
    images, labels = batch((16, 1, 28, 28))
    images, model = images.to(dtype), fill(Mlp()).to(dtype)
    if noise:
        torch.manual_seed(noise)
        with torch.no_grad():
            for p in model.parameters():
                p.mul_(1 + 2**-24 * (2 * torch.rand_like(p) - 1))
    optimizer = make_optimizer(model, options)
    schedule, by_epoch = make_schedule(optimizer, options)
    clip = float(options.get("clip-grad", 0))
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=float(options.get("label-smoothing", 0)))
    losses, norms, rates = [], [], []
    for update in range(UPDATES):
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), clip).item() if clip else 0)
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        losses.append(loss.item())
        if not by_epoch or (update + 1) % PER_EPOCH == 0:
            schedule.step()
    return losses, norms, rates


def main():
    with open(os.path.join(FOLDER, "training.txt"), "w") as file:
        print(f"# made by tests/oracle/training.py with PyTorch {torch.__version__}", file=file)
        print("# options | rounding's error | update loss norm, of some updates | fifty rates",
              file=file)
        for case in CASES:
            options = dict(word.split("=") for word in case.split())
            losses, norms, rates = train(options, torch.float64)
            others = [train(options, torch.float32)[0]]
            others += [train(options, torch.float64, noise)[0] for noise in range(1, 9)]
            error = max(abs(a - b) for other in others for a, b in zip(losses, other))
            shown = " ".join(f"{u} {losses[u - 1]:.12f} {norms[u - 1]:.12g}" for u in SHOWN)
            print(f"{case} | {error:.1e} | {shown} |", *(f"{x:.15g}" for x in rates), file=file)


main()
