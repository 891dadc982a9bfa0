# Comparing run folders; sourced after cli.sh.
# shellcheck shell=bash

# norms FILE: a small network with batch norm and dropout, for the data of cli.sh's idx.
norms() {
    cat >"$1" <<'NEAP'
neap-graph 1 norms

input images f32 8x1x28x28
parameter conv1.weight f32 8x1x3x3 init=normal(0.16)
conv1 = conv2d(images, conv1.weight) stride=2 padding=1
parameter bn1.weight f32 8 init=constant(1)
parameter bn1.bias f32 8
buffer bn1.running_mean f32 8
buffer bn1.running_var f32 8 init=constant(1)
bn1 = batch_norm(conv1, bn1.weight, bn1.bias, bn1.running_mean, bn1.running_var)
relu1 = relu(bn1)
parameter conv2.weight f32 16x8x3x3 init=normal(0.11)
conv2 = conv2d(relu1, conv2.weight) stride=2 padding=1
parameter bn2.weight f32 16 init=constant(1)
parameter bn2.bias f32 16
buffer bn2.running_mean f32 16
buffer bn2.running_var f32 16 init=constant(1)
bn2 = batch_norm(conv2, bn2.weight, bn2.bias, bn2.running_mean, bn2.running_var)
relu2 = relu(bn2)
flatten = flatten(relu2)
drop = dropout(flatten) p=0.3
parameter fc.weight f32 10x784 init=uniform(0.03)
parameter fc.bias f32 10 init=uniform(0.03)
fc = linear(drop, fc.weight, fc.bias)
input labels i32 8
loss = softmax_cross_entropy(fc, labels)
loss loss.total f64 scalar persistent
[loss.add] metric_add(loss) updates loss.total
top1 = top_k_correct(fc, labels)
loss top1.total f64 scalar persistent
[top1.add] metric_add(top1) updates top1.total

roles logits=fc labels=labels loss=loss
NEAP
}

# same_run RUN RUN: weights, moments, best weights and metrics but for times, to the last bit.
same_run() {
    local file
    for file in last/model.safetensors last/optimizer.safetensors best.safetensors; do
        [ -e "$1/$file" ] || [ "$file" = best.safetensors ] || failed "$1/$file is missing"
        [ ! -e "$1/$file" ] || cmp "$1/$file" "$2/$file" >why 2>&1 || failed "$(cat why)"
    done
    check "
import csv
rows = [[{k: v for k, v in row.items() if 'second' not in k}
         for row in csv.DictReader(open(f'{run}/metrics.csv'))] for run in ('$1', '$2')]
assert rows[0] == rows[1] and rows[0], rows"
}
