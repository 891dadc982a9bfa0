# A run that was stopped and resumed ends as one that was not, to the last bit: in the middle of an
# epoch, after a signal, from a checkpoint before a torn one, under another budget or recompute
# strategy, with other loader threads, in another folder, made longer.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
. "$SOURCE_DIR/tests/support/runs.sh"
idx data
norms norms.neap

trained() {
    neap train "$@" --data data --val-data data -q
    expect 0
}
# resumed RUN OPTIONS...: goes on, and says from where.
resumed() {
    local run=$1
    shift
    neap train --resume "$run" "$@"
    expect 0 "resumed from '$run/checkpoint-"
}

# ---- signals: the update under way is finished and saved -----------------------------------------
slow=(norms.neap -b 24 --grad-accum-steps 2 --epochs 30 --opt adamw --weight-decay 0.01 --lr 0.001
    --sched cosine --warmup-epochs 1 --log-interval 1)
trained "${slow[@]}" -o whole
for signal in INT:130 TERM:143 USR1:138; do
    last="${signal%:*} during neap train"
    rm -rf stopped
    "$NEAP" train "${slow[@]}" --data data --val-data data -o stopped >out 2>err </dev/null &
    pid=$!
    until grep -q 'update 8/' stopped/log.txt 2>/dev/null || ! kill -0 "$pid" 2>/dev/null; do
        sleep 0.01
    done
    kill "-${signal%:*}" "$pid"
    wait "$pid"
    code=$?
    expect "${signal#*:}" 'stopped after update' 'saved stopped/checkpoint-'
    at=$(readlink stopped/last)
    [ "${at#*-}" -ge 8 ] || failed "the last checkpoint is $at"
    [ ! -e "stopped/$at/tmp" ] && [ "$(cd stopped/"$at" && echo *)" = \
        'model.safetensors optimizer.safetensors state.json' ] || failed "$at holds other files"
    resumed stopped
    same_run whole stopped
done

# ---- in the middle of an epoch, otherwise than it began --------------------------------------------
# 256 samples: an epoch is five updates, of which the last is short.
half=(resnet20 -b 60 --epochs 2 --recompute none)
trained "${half[@]}" -o all
trained "${half[@]}" --max-updates 3 -o went-on
resumed went-on --max-updates 6 --recompute auto --arena 50%
resumed went-on --max-updates 10 --recompute all --arena 100% --fuse-update off -j 3
same_run all went-on

# By its checkpoint, into another folder: rows and best weights come along.
trained norms.neap -b 60 --epochs 3 -o small
trained norms.neap -b 60 --epochs 3 --max-updates 8 -o begun
neap train --resume begun/last -o elsewhere --max-updates 15
expect 0 "resumed from '" "begun/checkpoint-8'"
same_run small elsewhere
[ "$(readlink begun/last)" = checkpoint-8 ] || failed 'the run that was resumed has changed'

# Made longer: the schedule is constant, so that the epochs are the same.
trained norms.neap -b 60 --epochs 1 -o longer
resumed longer --epochs 3
same_run small longer

# ---- torn checkpoints ------------------------------------------------------------------------------
torn=(norms.neap -b 60 --epochs 3 --save-interval 2 --keep 9)
trained "${torn[@]}" -o sound
tear() {
    rm -rf broken
    cp -r sound broken
    rm -r broken/checkpoint-1[0-9] # 256 samples: 15 updates
}
tear
truncate -s -1 broken/checkpoint-8/model.safetensors
printf x | dd of=broken/checkpoint-6/optimizer.safetensors bs=1 seek=3000 conv=notrunc status=none
sed -i 's/"update": 4/"update": 5/' broken/checkpoint-4/state.json
neap train "${torn[@]}" --data data --val-data data --resume auto -o broken
expect 0 "'broken/checkpoint-8' is torn and skipped: broken/checkpoint-8/model.safetensors" \
    "checkpoint-6/optimizer.safetensors: its checksum is wrong" \
    "checkpoint-4/state.json: its checksum is wrong" "resumed from 'broken/checkpoint-2'"
same_run sound broken
[ "$(cd sound && echo *)" = "$(cd broken && echo *)" ] || failed "other files: $(echo broken/*)"
tear
rm broken/checkpoint-*/state.json
neap train "${torn[@]}" --data data --val-data data --resume auto -o broken
expect 0 "checkpoint-2' is torn" 'starting anew' "is now in 'broken/earlier-1'"
same_run sound broken

# ---- the slices are kept whatever the budget ---------------------------------------------------------
trained lenet5 -b 64 --arena 1M --micro-batch auto --epochs 2 -o slices
trained lenet5 -b 64 --arena 1M --micro-batch auto --epochs 1 -o resliced
resumed resliced --epochs 2 -m 1G --micro-batch auto --arena 1G
same_run slices resliced
check '
import json
for run in ("slices", "resliced"):
    assert 0 < json.load(open(f"{run}/args.json"))["micro-batch"] < 64'
neap train --resume resliced --epochs 3 --arena 100K
expect_error 5 'goes on with its batch of 64 in slices of' 'does not fit'
finish
