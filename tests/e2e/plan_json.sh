#!/bin/bash
# plan.json is enough for a stranger: a checker written from the format's description alone accepts
# the plans of every model and strategy, and refuses them when anything in them is changed.
set -eu
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
checker=$SOURCE_DIR/tests/tools/check_plan.py

check() {
    "$NEAP" plan "$@" -o plan.json -q >plan.txt 2>&1 || { cat plan.txt; exit 1; }
    python3 "$checker" plan.json >result.txt || { echo "plan $*"; head -20 result.txt; exit 1; }
}

check resnet18 -b 256
check resnet18 -b 16 --arena 50%
check resnet18 -b 16 --arena 50% --fuse-update off
check resnet20 -b 64 -m min
check resnet20 -b 30 --micro-batch 8 --recompute sqrt
check vgg11 -b 8 --recompute all
check vgg11 -b 8 --input-gradient --opt adam
check lenet5 -b 100 --grad-accum-steps 4
check mlp -b 64 --grad-accum-steps 2 --opt adamw
check resnet20 -b 16 --recompute sequential:3 --device null
python3 "$SOURCE_DIR/tests/tools/test_check_plan.py"

# The gradient of the input batch is computed when it is asked for, and only then.
ops() {
    "$NEAP" plan lenet5 -b 4 -q -o plan.json "$@" >/dev/null 2>&1
    python3 -c 'import json; print(sum(op["kind"] == "conv2d_backward_data" for op in json.load(open("plan.json"))["ops"]))'
}
[ "$(ops)" = 1 ] || { echo "lenet5: $(ops) convolutions with a gradient of their input"; exit 1; }
[ "$(ops --input-gradient)" = 2 ] || { echo "--input-gradient has no effect"; exit 1; }
