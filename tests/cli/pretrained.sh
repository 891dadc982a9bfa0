#!/bin/bash
# A state_dict of torchvision's loads as it is, and has the losses in neap that it has in PyTorch.
# shellcheck shell=bash
. "$SOURCE_DIR/tests/support/cli.sh"
for python in python3 /usr/bin/python3 none; do
    "$python" -c 'import torchvision' 2>why && break
done
[ "$python" = none ] && { echo "no torchvision: apt-get install python3-torchvision"; exit 77; }

"$python" "$SOURCE_DIR/tests/tools/torch_losses.py" >losses 2>why || { cat why; exit 1; }
options='--num-classes 10 --img-size 32 --data data --normalize none -b 8 --json'
# shellcheck disable=SC2086
neap train resnet18 --pretrained resnet18.safetensors $options --max-updates 1 -o run
expect 0
mv out trained
# shellcheck disable=SC2086
neap eval resnet18 --weights resnet18.safetensors $options
expect 0
check '
import json
train, evaluation = map(float, open("losses"))
losses = [json.loads(line)["train_loss"] for line in open("trained") if "train_loss" in line]
assert losses and abs(losses[0] - train) < 1e-4 * train, (losses, train)
loss = json.load(open("out"))["loss"]
assert abs(loss - evaluation) < 1e-4 * evaluation, (loss, evaluation)'
finish
