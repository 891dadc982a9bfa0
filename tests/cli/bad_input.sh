# Bad data, bad budgets and places that cannot be written: one clear error each, the right exit
# code, and nothing half written.
# shellcheck shell=bash disable=SC1091,SC2034
. "$SOURCE_DIR/tests/support/cli.sh"

idx good

# bad NAME: a copy of the good data set to break; then: train on it.
bad() {
    rm -rf bad run
    cp -r good bad
}
train() {
    neap train mlp --data bad -b 64 -q -o run
}
no_run() {
    expect_missing run/model.safetensors run/args.json.tmp
    [ -z "$(find run -name 'checkpoint-*' 2>/dev/null)" ] || failed 'a checkpoint was left behind'
}

# The data set itself is good.
neap train mlp --data good -b 64 --max-updates 2 -q
expect 0

bad
truncate -s -16 bad/train-images-idx3-ubyte
train
expect_error 4 'train-images-idx3-ubyte' '200,704' '200,720' 'truncated'
no_run

bad
truncate -s 9 bad/train-images-idx3-ubyte
train
expect_error 4 'train-images-idx3-ubyte'
no_run

bad
: >bad/train-labels-idx1-ubyte
train
expect_error 4 'train-labels-idx1-ubyte'
no_run

bad
printf 'PK\003\004' | dd of=bad/train-images-idx3-ubyte conv=notrunc status=none
train
expect_error 4 'train-images-idx3-ubyte' '50 4b 03 04'
no_run

bad
cp good/t10k-labels-idx1-ubyte bad/train-labels-idx1-ubyte
train
expect_error 4 '64 labels' '256 images'
no_run

bad
printf '\013' | dd of=bad/train-labels-idx1-ubyte bs=1 seek=108 conv=notrunc status=none
train
expect_error 4 'train-labels-idx1-ubyte' 'label 11' '100'
no_run

bad
rm bad/train-labels-idx1-ubyte
train
expect_error 4 'train-labels'
no_run

rm -rf bad run
train
expect_error 4 'bad'
no_run
NEAP_DATA=/nonexistent neap train mlp --data fasion-mnist -q
expect_error 4 'fasion-mnist'

# Usage.
neap train mlp --data good --no-such-flag
expect_error 2 "unknown option '--no-such-flag'"
neap train mlp --data good -b 0
expect_error 2 'whole number of at least 1'
neap train mlp --data good --grad-accum-steps 0
expect_error 2 'whole number of at least 1'
neap train mlp --data good --pretrained no-such.safetensors -q
expect_error 4 'no-such.safetensors'
neap eval mlp --data good --weights no-such.safetensors
expect_error 4 'no-such.safetensors'
head -c 64 /dev/urandom >noise.safetensors
neap eval mlp --data good --weights noise.safetensors
expect_error 4 'noise.safetensors'

# A budget below any plan names the least possible bytes and the worst moment.
for command in plan verify; do
    neap "$command" resnet20 -m 1M
    expect_error 5 'does not fit in 1.0 MiB' 'least possible is' 'at the worst moment'
done
rm -rf run
neap train resnet20 --data synthetic -m 1M -o run
expect_error 5 'does not fit in 1.0 MiB' 'least possible is'
no_run
neap plan resnet20 -m 1M --json
expect_error 5
expect_out '"fits": false'

# Places that cannot be written.
echo text >file
for place in file /proc/neap; do
    neap train mlp --data good --max-updates 2 -q -o "$place"
    expect_error 1 "$place"
    neap plan mlp -o "$place/plan.json"
    expect_error 1 "$place"
done
[ "$(cat file)" = text ] || failed 'a file in the way was changed'
if [ "$(id -u)" != 0 ]; then
    mkdir -p read-only && chmod a-w read-only
    neap train mlp --data good --max-updates 2 -q -o read-only/run
    expect_error 1 'read-only/run'
fi

# Full disks: behind standard output ...
for arguments in models 'plan mlp' 'plan mlp --json' 'verify mlp -b 8' 'inspect mlp' \
    'train mlp --data good --max-updates 2' 'train mlp --data good --max-updates 2 --json'; do
    last="neap $arguments >/dev/full"
    : >out
    # shellcheck disable=SC2086
    "$NEAP" $arguments >/dev/full 2>err </dev/null
    code=$?
    expect_error 1 'cannot write to standard output'
done

# ... and behind the run's folder, where that can be had.
mkdir -p small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
    trap 'umount small' EXIT
    neap train mlp --data good --max-updates 2 -q -o small/run
    expect_error 1 'small/run'
    [ -z "$(find small -name '*.safetensors')" ] || failed 'half a file of weights was left'
    neap plan resnet20 -o small/plan.json
    expect_error 1 'small/plan.json'
    expect_missing small/plan.json
    umount small && trap - EXIT
else
    echo 'not checked: a full disk behind -o (no right to mount a tmpfs here)'
fi
finish
