# Mixed precision: plans change nothing in it, losses stay near those of fp32, the arena shrinks, and
# fp16 recovers from gradients that overflow.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
idx data

verify() {
    neap verify "$@" --updates 2 --json
    expect 0
    check "
import json
report = json.load(open('out'))
assert report['identical'] is True, report['first_difference']
assert report['canaries_intact'] is True, 'something wrote outside its life'
assert report['recomputed_ops'] > 0 and report['losses_differing'] == 0"
}
for precision in bf16 fp16; do
    verify lenet5 -b 16 --precision "$precision" --recompute all --micro-batch 5
    verify resnet20 -b 8 --precision "$precision" --arena 60%
    verify resnet20 -b 8 --precision "$precision" -m min --opt adam --weight-decay 0.01
done
verify mlp -b 32 --precision bf16 --recompute all --grad-accum-steps 2

# The loss after each of a few updates, in fp32 and beside it.
trained() {
    neap train "$1" --data data -b 32 --lr 0.02 --max-updates 6 --precision "$2" --log-interval 1 \
        --threads 2 --json -q -o "$1-$2"
    expect 0
    grep '"update"' out >"$1-$2.lines"
}
for model in lenet5 resnet20; do
    for precision in fp32 bf16 fp16; do trained "$model" "$precision"; done
    check "
import json
def losses(precision):
    events = [json.loads(line) for line in open(f'$model-{precision}.lines')]
    return [event['train_loss'] for event in events if event['event'] == 'update']
fp32 = losses('fp32')
assert len(fp32) == 6
# A bf16 has 8 bits: a rounding is off by 2^-9 at most, which a mean over few steps stays near.
for precision, most in (('bf16', 0.02), ('fp16', 0.01)):
    worst = max(abs(a - b) / a for a, b in zip(fp32, losses(precision)))
    assert 0 < worst < most, (precision, worst)"
done

# Half of the bytes and a little more: casts, masks, what stays in fp32.
for precision in fp32 bf16; do
    neap plan resnet20 -b 64 --precision "$precision" --recompute none --json
    expect 0
    cp out "$precision.json"
done
check '
import json
arenas = [json.load(open(f"{p}.json"))["store_all"]["arena_bytes"] for p in ("bf16", "fp32")]
assert arenas[0] <= 0.62 * arenas[1], arenas'

# Gradients that overflow: skipped, halved, recovered; reported where runs are.
neap train lenet5 --data data -b 16 --precision fp16 --loss-scale dynamic:1e9 --json -o over
expect 0 'a gradient is not finite' 'the loss scale goes to 5e+08'
check '
import json
updates = [event for event in map(json.loads, open("out")) if event["event"] == "update"]
skipped = [event["skipped"] for event in updates]
last = updates[-1]
assert 3 < last["skipped"] < len(updates) and skipped[0] == 1, skipped
assert last["loss_scale"] == 1e9 / 2 ** last["skipped"], last
assert last["train_loss"] < 2.5
header, row = open("over/metrics.csv").read().split()
scale = float(row.split(",")[header.split(",").index("loss_scale")])
state = json.load(open("over/last/state.json"))["loss_scaler"]
assert state["scale"] == scale == last["loss_scale"]
assert state["good_updates"] == len(updates) - last["skipped"]'

# A scale that may not change cannot recover: exit code 6.
neap train lenet5 --data data -b 8 --precision fp16 --loss-scale 1e15 -q
expect_error 6 'updates in a row were left out'
finish
