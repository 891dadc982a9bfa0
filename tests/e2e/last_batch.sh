# A last batch or window that is shorter counts as what it is: against softmax regression computed
# here in float64, and slicings of one window against each other.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
idx data # 256 samples: 60 leave 16
cat >softmax.neap <<'NEAP'
neap-graph 1 softmax

input images f32 1x1x28x28
flatten = flatten(images)
parameter fc.weight f32 10x784 init=uniform(0.03571428571428571)
parameter fc.bias f32 10 init=uniform(0.03571428571428571)
fc = linear(flatten, fc.weight, fc.bias)
input labels i32 1
loss = softmax_cross_entropy(fc, labels)
loss loss.total f64 scalar persistent
[loss.add] metric_add(loss) updates loss.total
top1 = top_k_correct(fc, labels)
loss top1.total f64 scalar persistent
[top1.add] metric_add(top1) updates top1.total

roles logits=fc labels=labels loss=loss
NEAP
cat >tensors.py <<'PYTHON'
import json, struct
def tensors(run):
    with open(f"{run}/last/model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: struct.unpack(f"<{(entry['data_offsets'][1] - entry['data_offsets'][0]) // 4}f",
                                data[slice(*entry["data_offsets"])])
            for name, entry in header.items()}
def distance(a, b):
    return max(abs(x - y) for name in a for x, y in zip(a[name], b[name], strict=True))
PYTHON

trained() {
    local run=$1
    shift
    neap train --lr 0.1 "$@" --data data --no-shuffle -o "$run" -q
    expect 0
}

# ---- against the same thing computed here --------------------------------------------------------
trained start softmax.neap -b 60 --max-updates 1 --lr 0
trained plain softmax.neap -b 60 --epochs 2
trained accumulated softmax.neap -b 20 --grad-accum-steps 3 --epochs 2
trained sliced softmax.neap -b 60 --micro-batch 7 --epochs 2
trained stored softmax.neap -b 60 --fuse-update off --epochs 2
check '
import csv, math
from tensors import tensors, distance
pixels = open("data/train-images-idx3-ubyte", "rb").read()[16:]
labels = open("data/train-labels-idx1-ubyte", "rb").read()[8:]
start = tensors("start")
weight = [list(start["fc.weight"][784 * c:784 * (c + 1)]) for c in range(10)]
bias = list(start["fc.bias"])
speed, speed_bias = [[0.0] * 784 for _ in range(10)], [0.0] * 10
losses = []
for epoch in range(2):
    total = 0.0
    for first in range(0, len(labels), 60):
        window = range(first, min(first + 60, len(labels)))
        slope, slope_bias = [[0.0] * 784 for _ in range(10)], [0.0] * 10
        for k in window:
            image = [p / 255 for p in pixels[784 * k:784 * (k + 1)]]
            logits = [sum(map(float.__mul__, w, image)) + b for w, b in zip(weight, bias)]
            most = max(logits)
            odds = [math.exp(z - most) for z in logits]
            total += math.log(sum(odds)) + most - logits[labels[k]]
            for c in range(10):
                d = (odds[c] / sum(odds) - (c == labels[k])) / len(window)
                slope[c] = [s + d * x for s, x in zip(slope[c], image)]
                slope_bias[c] += d
        for c in range(10):
            speed[c] = [0.9 * v + s for v, s in zip(speed[c], slope[c])]
            weight[c] = [w - 0.1 * v for w, v in zip(weight[c], speed[c])]
            speed_bias[c] = 0.9 * speed_bias[c] + slope_bias[c]
            bias[c] -= 0.1 * speed_bias[c]
    losses.append(total / len(labels))
exact = {"fc.weight": sum(weight, []), "fc.bias": bias}
for run in "plain accumulated sliced stored".split():
    off = distance(exact, tensors(run))
    assert off < 2e-6, f"{run}: weights {off:.1e} off"
    rows = list(csv.DictReader(open(f"{run}/metrics.csv")))
    told = [float(row["train_loss"]) for row in rows]
    assert all(abs(a - b) < 2e-6 for a, b in zip(told, losses, strict=True)), (run, told, losses)
    assert [int(row["update"]) for row in rows] == [5, 10], rows'

# ---- a deeper network: slicings of one window agree within rounding --------------------------------
trained whole mlp -b 64 --epochs 2
trained parts mlp -b 16 --grad-accum-steps 4 --epochs 2
trained whole-60 mlp -b 60 --epochs 2
trained parts-60 mlp -b 20 --grad-accum-steps 3 --epochs 2
trained slices-60 mlp -b 60 --micro-batch 7 --epochs 2
check '
from tensors import tensors, distance
for a, b in (("whole", "parts"), ("whole-60", "parts-60"), ("whole-60", "slices-60")):
    off = distance(tensors(a), tensors(b))
    assert off < 1e-5, f"{a} and {b}: weights {off:.1e} off"'

# ---- layouts of the stored weights serve the short batch too, a single sample included ---------------
for batch in 51 85 255; do # 256 = 5 x 51 + 1
    for model in mlp lenet5; do
        trained "run-$batch" "$model" -b "$batch" --fuse-update off --val-data data
    done
done
finish
