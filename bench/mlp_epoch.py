"""One epoch of Fashion-MNIST on 784-512-512-10 at batch 64: neap against PyTorch's plain loop.

    python3 bench/mlp_epoch.py [--rounds 5] [--threads 2] [--wanted 6] [--primitives]

The two alternate, each in its own process, so that a machine whose speed drifts treats them alike.
--primitives adds one run under oneDNN's verbose mode and compares the epoch with the sum of the
times its primitives took. Exit status 1: the ratio is missed, or something is missing.
"""

import argparse
import os
import statistics

import common

TRAIN = ["train", "mlp", "--data", "fashion-mnist", "--epochs", "1", "-b", "64", "--opt", "sgd",
         "--lr", "1e-3", "--momentum", "0", "--no-shuffle"]
PRIMITIVES_LIMIT = 2.0  # an epoch may take this many times its primitives


def primitive_seconds(threads):
    """The sum over one training of what oneDNN says each execution took."""
    os.environ["ONEDNN_VERBOSE"] = os.environ["DNNL_VERBOSE"] = "1"
    output = common.run([common.find_neap(), *TRAIN, "--threads", str(threads)], threads)
    marks = ("onednn_verbose,exec,", "dnnl_verbose,exec,")
    milliseconds = [float(line.rsplit(",", 1)[1])
                    for line in output.splitlines() if line.startswith(marks)]
    if not milliseconds:
        common.fail("no verbose lines: this oneDNN is built without them, or neap did not use it")
    return len(milliseconds), sum(milliseconds) / 1000


def check_primitives(epoch_seconds, threads):
    n, seconds = primitive_seconds(threads)
    ratio = epoch_seconds / seconds
    ok = ratio <= PRIMITIVES_LIMIT
    print(f"{n} primitive executions (evaluation included) sum to {seconds:.3f} s: the epoch takes "
          f"{ratio:.2f} times that; wanted: at most {PRIMITIVES_LIMIT:g}: "
          f"{'ok' if ok else 'NOT MET'}")
    return 0 if ok else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--wanted", type=float, default=6.0)
    parser.add_argument("--primitives", action="store_true")
    args = parser.parse_args()
    common.find_neap()
    common.find_torch_python()
    torch_seconds, neap_seconds, peer = [], [], None
    for _ in range(args.rounds):
        peer = common.torch_json("torch_mlp.py", [], args.threads)
        torch_seconds += peer["seconds"]
        epoch = common.of_kind(common.neap_events(TRAIN, args.threads), "epoch")[0]
        neap_seconds.append(epoch["seconds"])
    common.describe(f"PyTorch {peer['torch']} {peer['blas']}", torch_seconds)
    common.describe("neap", neap_seconds)
    mine = statistics.median(neap_seconds)
    status = common.verdict(statistics.median(torch_seconds) / mine, args.wanted)
    if args.primitives:
        status |= check_primitives(mine, args.threads)
    raise SystemExit(status)


main()
