# Image folders on the command line: what is refused, what is left out, and what is said about it.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"

pictures good
idx idx
train() {
    neap train lenet5 --img-size 16 -b 16 --recompute none "$@"
}
with_folder() {
    train --data good --max-updates 1 -q "$@"
}

# ---- what the folder is
neap inspect good
expect 0
expect_out 'good: data, format imagefolder' 'training: 80 images, 2 classes' \
    'good/train: 0 JPEG, 80 PNG, 12x' 'classes: blue (40), red (40)' 'validation: 20 images'

# ---- options that make no sense, or do nothing
with_folder --random-crop 2 --random-resized-crop 0.5,1
expect_error 2 'there can be only one'
for crop in 0.5 0.5,2 0,1 0.9,0.1 0.5,1,2 0.5,1,2,1 0.5,1, nan,1 0.5,1,1,inf 0.5,1,1,2,3 a,b; do
    with_folder --random-resized-crop "$crop"
    expect_error 2 "--random-resized-crop" "'$crop' is not S0,S1 or S0,S1,R0,R1"
done
with_folder --rotate 0
expect_error 2 "'--rotate'"
with_folder --rotate 181
expect_error 2 'at most 180'
with_folder --random-crop -1
expect_error 2 'at least 0'
with_folder --random-crop 16
expect_error 2 'padding of 16 is not less than the 16x16 pixels'
train --data idx --img-size 28 --random-crop 0
expect_error 2 'a random crop without padding has no effect' '28x28'
train --data synthetic --hflip
expect_error 2 'synthetic data is not augmented'
train --data idx --img-size 28 --skip-bad
expect_error 2 "only an imagefolder's files can be skipped"
neap eval lenet5 --weights x --data good --hflip
expect_error 2 "'neap eval' does not take '--hflip', an option of train"
train --data good --data-format folder
expect_error 2 "unknown data format 'folder'" imagefolder cifar100

# ---- a run says what it was given, and how long it waited
train --data good --max-updates 2 --json --hflip --rotate 7.5 --random-resized-crop 0.5,1 -j 3 -o run
expect 0
check '
import json
events = [json.loads(line) for line in open("out")]
epoch = [e for e in events if e["event"] == "epoch"][0]
assert 0 <= epoch["data_seconds"] <= epoch["seconds"] * 1.01, epoch
args = json.load(open("run/args.json"))
assert args["hflip"] is True and args["rotate"] == 7.5, args
low, high = 3 / 4, 4 / 3
assert [float(x) for x in args["random-resized-crop"].split(",")] == [0.5, 1, low, high], args
assert "random-crop" not in args, args'
rm -rf again
neap train --config run/args.json -o again --json
expect 0
cmp -s run/checkpoint-2/model.safetensors again/checkpoint-2/model.safetensors ||
    failed 'a run from args.json differs'
train --data good --max-updates 5
expect 0
expect_out '% waiting for data)'

# Every loader thread decodes in memory of its own, which the plan counts.
peak() {
    train --data good --dry-run --json -j "$1"
    expect 0
    python3 -c 'import json; print(json.loads(open("out").readline())["plan"]["peak_bytes"])'
}
[ "$(peak 4)" -gt "$(peak 1)" ] || failed 'more loader threads take no more memory'

# ---- bad files
cp -r good bad
printf 'RIFF....WEBPVP8 ' >bad/train/blue/007.jpg
with_folder
expect 0
train --data bad -o stopped
expect_error 4 'bad/train/blue/007.jpg: not a JPEG or PNG (starts 52 49 46 46, WEBP)'
expect_missing stopped
train --data bad --max-updates 1 --skip-bad
expect 0 'bad/train/blue/007.jpg: not a JPEG or PNG' "left out 1 of 80 files of 'bad'"

# One whose header is fine is met in its place.
cp good/train/blue/007.jpg bad/train/blue/007.jpg
truncate -s -40 bad/train/blue/007.jpg
truncate -s -40 bad/val/red/003.jpg
train --data bad -q
expect_error 4 'bad/train/blue/007.jpg: a PNG that ends after' 'truncated?'
train --data bad --skip-bad --json
expect 0 'bad/train/blue/007.jpg: a PNG that ends' 'bad/val/red/003.jpg: a PNG that ends' \
    "left out 1 of 80 files of 'bad'" "left out 1 of 20 files of 'bad'"
check '
import json
events = [json.loads(line) for line in open("out")]
assert [e["images"] for e in events if e["event"] == "eval"] == [19], events'

# ---- folders
mv bad/val bad/other
train --data bad --skip-bad -q
expect_error 4 "no folder val, valid, validation or test in 'bad'" '--val-data'
train --data bad --val-data good/val --skip-bad --max-updates 1 -q
expect 0
mv bad/other/red bad/other/green
train --data bad --val-data bad/other --skip-bad -q
expect_error 4 "class 1 is 'red' in 'bad' to train on, 'green' in 'bad/other'"
finish
