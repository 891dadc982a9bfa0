# Accumulation: the peak does not depend on the number of steps, recompute changes no bit; schedules
# of steps and of the learning rate go by updates; where gradients live is said.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
idx data

# planned FILE MODEL OPTIONS...
planned() {
    local file=$1
    shift
    neap plan "$@" --json
    expect 0
    cp out "$file"
}

for model in mlp lenet5 resnet20; do
    planned once "$model" -b 8
    planned twice "$model" -b 8 --grad-accum-steps 2
    planned often "$model" -b 8 --grad-accum-steps 7
    planned sliced "$model" -b 24 --micro-batch 8
    planned scheduled "$model" -b 8 --grad-accum-steps 0:7,1:1
    check '
import json
once, twice, often, sliced, scheduled = (
    json.load(open(f))["plan"] for f in "once twice often sliced scheduled".split())
assert twice["peak_bytes"] == scheduled["peak_bytes"]
assert once["fused_bytes"] == once["weights_bytes"] and "in the backward" in once["update"], once
assert twice["fused_bytes"] == 0 and "accumulate in fp32" in twice["update"], twice
for key in ("peak_bytes", "arena_bytes", "gradients_bytes", "live_peak_bytes"):
    assert twice[key] == often[key], (key, twice[key], often[key])
for key in ("arena_bytes", "gradients_bytes"): # host bytes are those of the batch
    assert twice[key] == sliced[key], (key, twice[key], sliced[key])
assert once["gradients_bytes"] == 0 and twice["gradients_bytes"] == twice["weights_bytes"]'
done

trained() {
    local run=$1
    shift
    neap train "$@" --data data -b 20 --grad-accum-steps 3 -o "$run" -q
    expect 0
}
for model in lenet5 resnet20; do
    trained "$model-all" "$model" --recompute none
    trained "$model-least" "$model" --recompute all
    cmp -s "$model-all/last/model.safetensors" "$model-least/last/model.safetensors" ||
        failed "recompute changes the weights of $model"
done

# ---- where gradients live ------------------------------------------------------------------------
planned fused lenet5 -b 8
planned stored lenet5 -b 8 --fuse-update off
planned clipped lenet5 -b 8 --clip-grad 1
check '
import json
fused, stored, clipped = (json.load(open(f))["plan"] for f in "fused stored clipped".split())
assert fused["gradients_bytes"] == 0 < stored["gradients_bytes"] == clipped["gradients_bytes"]
assert fused["fused_bytes"] == stored["gradients_bytes"]
assert "--fuse-update is off" in stored["update"] and "--clip-grad" in clipped["update"]'
neap train lenet5 --data data -b 32 --clip-grad 1 --max-updates 1
expect 0 'update behind the backward' 'as --clip-grad takes the norm of all of them'

# ---- schedules -----------------------------------------------------------------------------------
# updates RUN OPTIONS...: a run of 256 samples an epoch; its update events in RUN.json
updates() {
    local run=$1
    shift
    neap train mlp --data data -b 16 --log-interval 1 --json "$@"
    expect 0
    cp out "$run.json"
    cp err "$run.err"
}
updates by-epoch --epochs 4 --grad-accum-steps 0:8,1:3,3:1
updates by-update --epochs 2 --grad-accum-steps s0:8,s1:3
updates effective --effective-batch 48
updates steps --grad-accum-steps 3
for run in by-epoch by-update; do
    grep -qF "accumulation by ${run#by-}, counted from 0, batch 16" $run.err || failed 'no table'
done
grep -qE '^  1-2  +3  +48  +6$' by-epoch.err || failed 'the table lacks an entry'
grep -qF -- '--effective-batch 48: --grad-accum-steps 3' effective.err || failed 'not said'
check '
import json
def events(run, kind="update"):
    lines = [json.loads(line) for line in open(f"{run}.json")]
    return [e for e in lines if e["event"] == kind]
def updates_by_epoch(run):
    epochs = [e["epoch"] for e in events(run)]
    return [epochs.count(e) for e in sorted(set(epochs))]
assert updates_by_epoch("by-epoch") == [2, 6, 6, 16], updates_by_epoch("by-epoch")
# 128 samples, then 48 at a time: 128 = 2 x 48 + 32
assert updates_by_epoch("by-update") == [1 + 3, 6], updates_by_epoch("by-update")
assert updates_by_epoch("effective") == [6]
losses = [[e["train_loss"] for e in events(run)] for run in ("effective", "steps")]
assert losses[0] == losses[1]'
for options in '--grad-accum-steps 0:2,2:1 --epochs 2' '--grad-accum-steps s0:2,s99:1' \
    '--effective-batch 40' '--effective-batch 8' '--effective-batch 64 --grad-accum-steps 4' \
    '--effective-batch 64 -b max -m 1G' '--grad-accum-steps 1:2' '--grad-accum-steps 0:2,x'; do
    # shellcheck disable=SC2086
    neap train mlp --data data -b 16 $options
    expect_error 2
done
neap plan mlp -b 16 --effective-batch 40
expect_error 2 'no multiple of the batch, 16: the nearest is 32 (32 and 48 are possible)'
neap plan mlp -b 16 --effective-batch 8
expect_error 2 'less than the batch, 16: the nearest is 16'

# The learning rate goes by updates, whatever a window is made of.
for sched in 'cosine --warmup-epochs 0.5' onecycle 'step --decay-epochs 1' \
    'multistep --decay-milestones 1,2'; do
    # shellcheck disable=SC2086
    updates whole -b 64 --epochs 3 --sched $sched
    # shellcheck disable=SC2086
    updates parts --grad-accum-steps 4 --epochs 3 --sched $sched
    check '
import json
def rates(run):
    return [e["lr"] for e in map(json.loads, open(f"{run}.json")) if e["event"] == "update"]
assert rates("whole") == rates("parts") and len(set(rates("whole"))) > 2, rates("parts")'
done
finish
