# --micro-batch auto against every slicing by hand, and the advice where slicing is off.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
idx data

# A small network with batch norm, which plans in no time.
norms 5 >norms.neap

# ---- auto picks what comparing all of them picks --------------------------------------------------
# auto BATCH MODEL OPTIONS...
auto() {
    local batch=$1 halvings=1 size=$1
    shift
    rm -f by-hand-*.json
    neap plan "$@" -b "$batch" --micro-batch auto --json
    expect 0 '--micro-batch auto: '
    cp out auto.json
    cp err auto.err
    while :; do
        "$NEAP" plan "$@" -b "$batch" --micro-batch "$size" --json -q >"by-hand-$size.json" 2>err
        code=$?
        [ "$code" = 0 ] || [ "$code" = 5 ] || failed "--micro-batch $size ends with $code"
        [ "$size" = 1 ] && break
        size=$(((batch + (1 << halvings) - 1) >> halvings)) # half, a quarter, …, rounded up
        halvings=$((halvings + 1))
    done
    check "
import glob, json
auto = json.load(open('auto.json'))
plans = [json.load(open(name)) for name in glob.glob('by-hand-*.json')]
seconds = sorted((p['plan']['step_seconds'], p['micro_batch']) for p in plans if p['fits'])
chosen = auto['plan']['step_seconds']
assert chosen <= seconds[0][0] * 1.001, (chosen, auto['micro_batch'], seconds)
clear = len(seconds) == 1 or seconds[1][0] > seconds[0][0] * 1.01
assert not clear or auto['micro_batch'] == seconds[0][1], (auto['micro_batch'], seconds)
whole = auto['micro_batch'] == auto['batch']
flag = '--micro-batch off' if whole else f'--micro-batch {auto[\"micro_batch\"]}'
assert f'({flag}' in auto['decision'] and auto['decision'] in open('auto.err').read()
assert 'slicing' not in auto"
}
auto 64 mlp
auto 37 lenet5 -m 3M --opt adam
auto 48 lenet5 --arena 40% --grad-accum-steps 2 --recompute none
grep -qF 'sums in another order' auto.err || failed 'does not say what slices change'
auto 32 norms.neap --arena 30%
grep -qF ': batch norm over ' auto.err || failed 'does not say what slices change'
neap plan lenet5 -b 64 -m 3M --micro-batch auto -q
expect 0
[ -s err ] && failed 'a note in spite of -q'

# The smallest budget is that of the best slicing, and nothing fits in less than it.
for model in mlp lenet5; do
    neap plan $model -b 64 -m min --micro-batch auto --json
    expect 0 'the least memory'
    cp out least.json
    for size in 64 16 1; do
        neap plan $model -b 64 -m min --micro-batch $size --json
        expect 0
        check '
import json
assert json.load(open("least.json"))["budget_bytes"] <= json.load(open("out"))["budget_bytes"]'
    done
done
neap plan lenet5 -b 64 -m 1M --micro-batch auto
expect_error 5 'least possible is'

# A single value a channel is none for batch norm: slices of one sample are no choice here.
sed 's/conv5.weight f32 16x16x3x3/conv5.weight f32 16x16x28x28/; s/10x12544/10x16/
    s/conv5.weight) padding=1/conv5.weight)/' norms.neap >single.neap
neap plan single.neap -b 2 --micro-batch 1
expect_error 3 'one value per channel'
for options in '' '-m min' '--arena 70%'; do
    # shellcheck disable=SC2086
    neap plan single.neap -b 2 --micro-batch auto $options --json
    expect 0
    check 'import json; assert json.load(open("out"))["micro_batch"] == 2'
done
neap plan single.neap -b 2 --arena 70% --json
expect 0
check 'import json; assert json.load(open("out"))["plan"]["recomputed_ops"] > 0'

# ---- a run records the slices, another run from its record has the same ---------------------------
neap train lenet5 --data data -b 64 -m 3M --micro-batch auto -o run
expect 0 '--micro-batch auto: slices of '
check '
import json
args = json.load(open("run/args.json"))
assert args["batch"] == 64 and args["micro-batch"] in (32, 16, 8, 4, 2, 1), args'
neap train --config run/args.json -m 1G -o again
expect 0
cmp -s run/last/model.safetensors again/last/model.safetensors || failed 'other slices: other weights'
neap verify lenet5 -b 64 -m 3M --micro-batch auto --updates 1 --json
expect 0 '--micro-batch auto: slices of '
check '
import json
report = json.load(open("out"))
assert report["identical"] is True and report["micro_batch"] < report["batch"] == 64, report'

# ---- advice: only where slices would win, and what it says comes true -------------------------------
# advised REASON MODEL OPTIONS...
advised() {
    local reason=$1
    shift
    neap plan "$@" --json
    cp out whole.json
    flag=$(python3 -c 'import json; print(json.load(open("whole.json"))["slicing"]["flag"])')
    # shellcheck disable=SC2086
    neap plan "$@" $flag --json
    expect 0
    check "
import json
whole, sliced = json.load(open('whole.json')), json.load(open('out'))
advice = whole['slicing']
assert advice['reason'] == '$reason' and advice['micro_batch'] == sliced['micro_batch']
assert whole['fits'] is ('$reason' == 'faster') and sliced['fits'] is True
seconds = sliced['plan']['step_seconds'] / sliced['batch']
assert abs(seconds / advice['seconds_per_sample'] - 1) < 1e-2, (seconds, advice)
assert advice['mixes_samples'] is (whole['model'] == 'norms')
assert '$reason' == 'fits' or sliced['plan']['step_seconds'] < whole['plan']['step_seconds']
assert abs(sliced['plan']['peak_bytes'] / advice['peak_bytes'] - 1) < 1e-2, advice"
}
advised faster norms.neap -b 32 --arena 50%
advised fits norms.neap -b 32 --arena 4M
advised fits lenet5 -b 64 -m 3M
advised fits lenet5 -b 64 --arena 60% --recompute none
neap plan lenet5 -b 64 -m 3M
expect_error 5 '--micro-batch ' 'sums in another order'
neap train norms.neap --data synthetic -b 32 --arena 50% --dry-run
expect 0 '--micro-batch ' 'batch norm over '
expect_out 'slicing is off' '--micro-batch ' 'faster than' 'batch norm over '
for options in 'mlp -b 64' 'norms.neap -b 1' 'lenet5 -b 64 -m 3M --micro-batch 16'; do
    # shellcheck disable=SC2086
    neap plan $options --json
    expect 0
    grep -q '"slicing"' out && failed 'advice where slices would not win'
done
finish
