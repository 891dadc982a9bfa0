# The largest batch: it fits, one sample more does not; in plan and in train.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
idx data

# largest MODEL OPTIONS...: sets $batch.
largest() {
    neap plan "$@" -b max --json
    expect 0 '-b max: '
    cp out max.json
    batch=$(python3 -c 'import json; print(json.load(open("max.json"))["max_batch"]["batch"])')
    grep -qF -- "(-b $batch)" err || failed 'the flag that reproduces it is missing'
    check '
import json
plan = json.load(open("max.json"))
found = plan["max_batch"]
assert plan["fits"] is True and found["batch"] == plan["batch"] > 1
assert found["micro_batch"] == plan["micro_batch"]
for key in ("peak_bytes", "arena_bytes", "overhead"):
    assert found[key] == plan["plan"][key], key
assert plan["plan"][plan["budget_unit"]] <= plan["budget_bytes"]
assert abs(found["seconds_per_sample"] * found["batch"] / plan["plan"]["step_seconds"] - 1) < 1e-9
assert plan["decision"].startswith("-b max: ") and isinstance(found["proven"], bool)'
    neap plan "$@" -b "$batch"
    expect 0
    neap plan "$@" -b $((batch + 1))
    expect_error 5 'does not fit'
}
largest mlp -m 7M
largest mlp --arena 3M --opt adam
largest lenet5 -m 6M
largest lenet5 -m 6M --grad-accum-steps 2
largest lenet5 -m 2M --micro-batch 8
largest lenet5 -m 2M --micro-batch auto
largest resnet20 -m 40M
largest lenet5 -m 6M --recompute none

# --max-batch: beside the plan of another batch, and in its error.
neap plan mlp -m 7M -b max --json
cp out max.json
neap plan mlp -m 7M -b 2 --max-batch --json
expect 0
check '
import json
plan, best = json.load(open("out")), json.load(open("max.json"))
assert plan["batch"] == 2 and plan["max_batch"] == best["max_batch"]'
neap plan mlp -m 7M --max-batch --json
expect 0
check '
import json
plan, best = json.load(open("out")), json.load(open("max.json"))
assert plan["batch"] == best["batch"] and plan["max_batch"] == best["max_batch"]'
neap plan mlp -m 7M --max-batch
expect 0
expect_out 'largest batch'
neap plan mlp -m 7M -b 4000 --max-batch
expect_error 5 'the largest batch'
neap plan mlp --json
expect 0
grep -q '"max_batch"' out && failed 'a search that nobody asked for'

# Limits: none given, too small, and those that make no sense.
neap plan mlp -b max
expect 0 'no budget given' '-b max: '
neap plan mlp -b max -m 1M
expect_error 5 'mlp at batch 1 does not fit'
neap plan mlp -b max -m min
expect_error 2 'the largest batch in the smallest memory'
neap plan mlp -b max --arena 50%
expect_error 2 'needs a limit in bytes'
neap plan mlp -b max --arena 3M --micro-batch 8
expect_error 2 'every batch fits'
neap verify mlp -b max
expect_error 2 "'max' is not a whole number"

# trained OPTIONS...: two updates of the largest batch, within the budget; sets $batch.
trained() {
    rm -rf run
    neap train "$@" --data data --val-data data -b max --max-updates 2 --json -o run
    expect 0 '-b max: '
    batch=$(python3 -c 'import json; print(json.load(open("run/args.json"))["batch"])')
    check '
import json
lines = [json.loads(line) for line in open("out")]
banner, done = lines[0], lines[-1]
args = json.load(open("run/args.json"))
assert banner["batch"] == args["batch"] == banner["max_batch"]["batch"], args
unit = banner["budget_unit"].split("_")[0]
measured, planned = (done[f"{unit}_{how}_bytes"] for how in ("measured", "planned"))
assert planned - 1024 <= measured <= planned <= banner["budget_bytes"], done  # scratch on top
# The data, and two batches of each of two loaders: as fp32 with labels.
queue = 2 * (args["batch"] + min(args["batch"], 64)) * 4 * (784 + 1)
assert banner["plan"]["host_bytes"] >= (256 + 64) * 784 + queue, banner["plan"]'
}
for options in 'mlp -m 7M' 'lenet5 -m 6M' 'resnet20 -m 16M'; do
    # Planning takes ten times as long under a sanitizer.
    [ -n "${NEAP_SANITIZE:-}" ] && [ "${options%% *}" = resnet20 ] && continue
    # shellcheck disable=SC2086
    trained $options
    # shellcheck disable=SC2086
    neap train $options --data data --val-data data -b $((batch * 5 / 4 + 1)) --dry-run
    expect_error 5 'does not fit'
done
for options in 'mlp -m 1G' 'lenet5 -m 4M --micro-batch auto' 'lenet5 --arena 1M --micro-batch 8'; do
    # shellcheck disable=SC2086
    trained $options
    [ "$batch" = 256 ] || failed "batch $batch of 256 samples"
    grep -qF 'all the data has' err || failed 'does not say what bounds the batch'
done
neap train mlp --data data -b max --micro-batch 300
expect_error 2 'the data has 256 samples'
finish
