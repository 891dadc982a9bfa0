# Accumulation: the peak does not depend on the number of steps, recompute changes no bit.
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
    check '
import json
once, twice, often, sliced = (json.load(open(f))["plan"] for f in "once twice often sliced".split())
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
finish
