# One network of each family at small images: a step under a budget changes no bit, at half of
# store-all's arena and at the smallest budget. AlexNet and VGG, whose largest layer alone needs more
# than half, at three quarters.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"

# verify MODEL OPTIONS...: planning is cut short; whatever the plan, it has to be exact.
verify() {
    neap verify "$@" --num-classes 10 --updates 1 --time-limit 2 --json
    expect 0
    check "
import json
report = json.load(open('out'))
assert report['identical'] is True, report['first_difference']
assert report['canaries_intact'] is True, 'something wrote outside its life'
assert report['gradients']['tensors'] > 0 and report['recomputed_ops'] > 0, report"
}

for network in 'resnet50 --img-size 32' 'densenet121 --img-size 32' 'inception_v3 --img-size 75'; do
    # shellcheck disable=SC2086 # words
    verify $network -b 2 --arena 50%
    # shellcheck disable=SC2086
    verify $network -b 2 -m min
done
# Weights, gradients and momentum of both sides, which a sanitizer would double.
if [ -z "${NEAP_SANITIZE:-}" ]; then
    verify alexnet --img-size 63 -b 32 --fuse-update off --arena 75%
    verify alexnet --img-size 63 -b 32 --fuse-update off -m min
    verify vgg11 --img-size 32 -b 32 --fuse-update off --arena 75%
fi
finish
