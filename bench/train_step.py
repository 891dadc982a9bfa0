"""A training step, ResNet-18's at batch 32 or another: neap against PyTorch's better format.

    python3 bench/train_step.py [--model resnet18] [--rounds 3] [--threads 2] [--batch 32]
                                [--wanted 1.2]

Forward, loss, backward and SGD with momentum on synthetic input. Each round runs PyTorch in both
formats and neap, each in its own process, so that a machine whose speed drifts treats them alike;
two steps of every run warm up. Exit status 1: the ratio is missed, or something is missing.
"""

import argparse

import common

WARM_UP, STEPS = 2, 6
FORMATS = ("contiguous", "channels_last")


def neap_steps(model, batch, threads):
    """Seconds of each step after the warm-up: update events carry the seconds since the start."""
    events = common.neap_events(
        ["train", model, "--data", "synthetic", "-b", str(batch), "--lr", "0.01",
         "--momentum", "0.9", "--max-updates", str(WARM_UP + STEPS), "--log-interval", "1"],
        threads)
    clock = {event["update"]: event["seconds"] for event in common.of_kind(events, "update")}
    if len(clock) < WARM_UP + STEPS:
        common.fail(f"neap reported {len(clock)} updates, expected {WARM_UP + STEPS}")
    ends = [clock[update] for update in sorted(clock)][WARM_UP - 1:]
    return [later - earlier for earlier, later in zip(ends, ends[1:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--wanted", type=float, default=1.2)
    args = parser.parse_args()
    common.find_neap()
    common.find_torch_python()
    seconds = {name: [] for name in (*FORMATS, "neap")}
    for _ in range(args.rounds):
        for layout in FORMATS:
            options = ["--model", args.model, "--batch", str(args.batch), "--format", layout,
                       "--warm-up", str(WARM_UP), "--steps", str(STEPS)]
            seconds[layout] += common.torch_json("torch_step.py", options, args.threads)["seconds"]
        seconds["neap"] += neap_steps(args.model, args.batch, args.threads)
    torch_median = min(common.describe(f"PyTorch {name}", seconds[name]) for name in FORMATS)
    neap_median = common.describe("neap", seconds["neap"])
    raise SystemExit(common.verdict(torch_median / neap_median, args.wanted))


main()
