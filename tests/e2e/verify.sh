# Plans change nothing: each against store-all, bit for bit, and the arena measured as planned.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"

# verify WORDS MODEL OPTIONS...: WORDS are conditions on the report, in Python.
verify() {
    local condition=$1
    shift
    neap verify "$@" --updates 2 --json
    expect 0
    check "
import json
report = json.load(open('out'))
differing = {key: report[key]['differing'] for key in 'gradients weights buffers masks'.split()}
assert report['identical'] is True and not any(differing.values()), report['first_difference']
assert report['canaries_intact'] is True, 'something wrote outside its life'
planned, measured = report['arena_planned_bytes'], report['arena_measured_bytes']
# The library need not touch its scratch to the last byte, and scratch may lie on top.
assert 0 <= planned - measured <= 1024, f'{planned} bytes planned, {measured} measured'
assert report['loss'] == report['loss_store_all']
assert $condition, report"
}

recomputes="report['recomputed_ops'] > 0"
masked="report['masks']['tensors'] > 0"

verify True mlp -b 32 --recompute all
verify True mlp -b 32 --micro-batch 5
verify True mlp -b 32 -m min --opt adam --fuse-update off
verify "$recomputes" lenet5 -b 16 --recompute all
verify "$masked" lenet5 -b 16 --micro-batch 5 --recompute sqrt --input-gradient
verify "$recomputes" resnet20 -b 16 --arena 60%
verify "$recomputes and report['buffers']['tensors'] == 2 * 19" resnet20 -b 16 -m min --threads 1
verify "$recomputes" resnet20 -b 16 --micro-batch 5 --recompute all
verify "$recomputes" resnet20 -b 8 --recompute sequential:3 --nesterov
verify "$recomputes" resnet20 -b 8 --arena 60% --fuse-update off --opt adamw --weight-decay 0.01
# (Without AVX-512 the library's scratch is the floor, and nothing need be made again.)
verify True resnet18 --img-size 64 -b 8 -m min
# Two copies of its weights and gradients are 2 GiB, which a sanitizer would double.
if [ -z "${NEAP_SANITIZE:-}" ]; then
    verify "$recomputes and $masked" vgg11 --img-size 32 --num-classes 10 -b 4 --momentum 0 \
        --dropout 0.5 --recompute all
    verify "$masked" vgg11 --img-size 32 --num-classes 10 -b 6 --micro-batch 5 --momentum 0
fi
finish
