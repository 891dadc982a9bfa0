# --config: its keys, its errors with line and column, and args.json, which is one.
# shellcheck shell=bash disable=SC1091,SC2034
. "$SOURCE_DIR/tests/support/cli.sh"

# with CONFIG ARGUMENTS...: runs neap with that text as its config.
with() {
    printf '%s' "$1" >conf.json
    shift
    neap "$@" --config conf.json
}

# The command line goes before the config, the config before defaults.
with '{"batch": 32, "opt": "adam"}' plan mlp --json
expect 0
expect_out '"batch": 32' '"optimizer": "adam"'
with '{"batch": 32, "opt": "adam"}' plan mlp --json -b 16
expect 0
expect_out '"batch": 16' '"optimizer": "adam"'
with '{"model": "mlp", "batch": 8}' plan --json
expect 0
expect_out '"model": "mlp"'
with '{"model": "resnet20", "batch": 8}' plan mlp --json
expect 0
expect_out '"model": "mlp"'

# Values as JSON has them, or as on the command line.
with '{"memory": "512M"}' plan mlp --json
expect 0
expect_out '"budget_bytes": 536870912'
with '{"memory": 536870912, "nesterov": true, "micro-batch": "off", "momentum": 0.5}' \
    plan mlp --json
expect 0
expect_out '"budget_bytes": 536870912'
with '{"no-json": false}' plan mlp
expect 0
expect_out '"model"'
with '{}' plan mlp
expect 0
with '{"b\u0061tch": 32}' plan mlp --json
expect 0
expect_out '"batch": 32'

# Errors have a place.
with '{"batch": 32,
  "grad-acum-steps": 4}' plan mlp
expect_error 2 "conf.json:2:3: unknown key 'grad-acum-steps' (did you mean 'grad-accum-steps'?)"
with '{"opt": "sgd",
      "batch": 32, "batch": 64}' plan mlp
expect_error 2 "conf.json:2:20: duplicate key 'batch'"
with '{"opt": "sgd", "optimizer": "adam"}' plan mlp
expect_error 2 "conf.json:1:16: duplicate key 'optimizer'"
with '{"batch": 32,
"batch": 64}' plan mlp -b 8
expect_error 2 "conf.json:2:1: duplicate key 'batch'"
with '{"batch": 0}' plan mlp
expect_error 2 "conf.json:1:2: 'batch': '0' is not a whole number of at least 1"
with '{"batch": 0}' plan mlp -b 8
expect_error 2 "conf.json:1:2: 'batch': '0' is not a whole number"
with '{"batch": true}' plan mlp
expect_error 2 "conf.json:1:2: 'batch' does not take"
with '{"nesterov": 1}' plan mlp
expect_error 2 "conf.json:1:2: 'nesterov' does not take"
with '{"recompute": null}' plan mlp
expect_error 2 "conf.json:1:2: 'recompute' does not take null"
with '{"batch": [32]}' plan mlp
expect_error 2 "conf.json:1:2: 'batch' does not take an object or an array"
with '{"epochs": 3}' plan mlp
expect_error 2 "conf.json:1:2: 'neap plan' does not take 'epochs', an option of train"
with '{"config": "other.json"}' plan mlp
expect_error 2 "'config' is for the command line alone"
with '{"batch": 32,}' plan mlp
expect_error 2 'conf.json:1:'
with '{"batch": 32
"opt": "sgd"}' plan mlp
expect_error 2 'conf.json:2:'
with '[1]' plan mlp
expect_error 2 'conf.json:1:1: a config is one object'
with '' plan mlp
expect_error 2 'conf.json:1:'
neap plan mlp --config no-such.json
expect_error 2 'no-such.json: cannot read the config'
neap plan mlp --config .
expect_error 2 '.: cannot read the config'

# A run leaves its options, from which it can be run again.
neap train mlp --data synthetic -b 32 --max-updates 2 --seed 7 --lr 0.1 --no-shuffle -m 1G -q -o run
expect 0
check '
import json
args = json.load(open("run/args.json"))
want = {"model": "mlp", "data": "synthetic", "batch": 32, "max-updates": 2, "seed": 7, "lr": 0.1,
        "shuffle": False, "memory": 1 << 30, "opt": "sgd", "output": "run"}
assert {key: args.get(key) for key in want} == want, args'
expect_missing run/args.json.tmp
neap train --config run/args.json -o again -q
expect 0
check '
import json
first, second = (json.load(open(f"{run}/args.json")) for run in ("run", "again"))
assert second.pop("output") == "again" and first.pop("output") == "run"
assert first == second, (first, second)'
finish
