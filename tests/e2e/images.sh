# An image folder trains: the loss falls, the network tells the classes apart, and neither the
# number of loader threads nor a stricter budget changes a bit of it.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
pictures data

# train RUN OPTIONS...
train() {
    local run=$1
    shift
    neap train resnet20 --data data --img-size 16 -b 24 --epochs 3 --lr 0.02 --hflip --rotate 10 \
        --random-resized-crop 0.4,1 -o "$run" --json "$@"
    expect 0
    mv out "$run.jsonl"
}
train one -j 1
train three -j 3 --arena 50%
for run in one three; do
    cut -d, -f1-7 $run/metrics.csv >$run.losses
done
cmp -s one.losses three.losses || failed 'other losses'
cmp -s one/last/model.safetensors three/last/model.safetensors || failed 'other weights'
check '
import json
events = [json.loads(line) for line in open("one.jsonl")]
losses = [e["train_loss"] for e in events if e["event"] == "epoch"]
evals = [e for e in events if e["event"] == "eval"]
assert losses[-1] < 0.5 * losses[0], losses
assert evals[-1]["top1"] >= 95 and evals[-1]["images"] == 20, evals'

# The same images by themselves give the same accuracy.
neap eval resnet20 --weights one --data data/val --img-size 16 -b 24 --json
expect 0
check '
import json
report = json.load(open("out"))
last = [json.loads(line) for line in open("one.jsonl") if "\"eval\"" in line][-1]
assert (report["loss"], report["top1"]) == (last["loss"], last["top1"]), (report, last)'

finish
