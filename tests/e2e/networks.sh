# One network of each family that verify.sh has not, at its least images: recompute changes no bit.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"

# verify TENSORS MODEL OPTIONS...: TENSORS have gradients.
verify() {
    local tensors=$1
    shift
    neap verify "$@" -b 2 --num-classes 10 --updates 1 --json
    expect 0
    check "
import json
report = json.load(open('out'))
assert report['identical'] is True, report['first_difference']
assert report['canaries_intact'] is True, 'something wrote outside its life'
assert report['gradients']['tensors'] == $tensors and report['recomputed_ops'] > 0, report"
}

verify 364 densenet121 --img-size 29 --recompute all
verify 364 densenet121 --img-size 32 -m min
verify 161 resnet50 --img-size 32 --recompute all
verify 284 inception_v3 --img-size 75 --recompute all
# Weights and momentum of both sides, which a sanitizer would double.
if [ -z "${NEAP_SANITIZE:-}" ]; then
    verify 16 alexnet --img-size 63 --recompute all
fi
neap plan densenet121 -b 2 --img-size 28
expect_error 2 'images of 28x28 do not suit densenet121: 29x29 would'
neap plan resnet50 -b 2 --dropout 0.1
expect_error 2 "--dropout 0.1: 'resnet50' has no dropout layers"
neap plan resnet50 -b 2 --dropout 0 --recompute none
expect 0
finish
