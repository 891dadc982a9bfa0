# --resume, --save-interval and --keep: what is refused, what is said, what is in the folder.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
. "$SOURCE_DIR/tests/support/runs.sh"
idx data
norms norms.neap
small=(norms.neap --data data -b 64)

# ---- which checkpoints stay ------------------------------------------------------------------------
names() {
    local expected="$2" found
    found=$(cd "$1" && echo checkpoint-*)
    [ "$found" = "$expected" ] || failed "$1 holds $found instead of $expected"
}
neap train "${small[@]}" --epochs 5 -o run -q
expect 0
names run 'checkpoint-12 checkpoint-16 checkpoint-20' # one an epoch, of which three stay
[ "$(readlink run/last)" = checkpoint-20 ] || failed "'last' leads to $(readlink run/last)"
neap train "${small[@]}" --epochs 2 --save-interval 3 --keep 2 -o every-3 -q
expect 0
names every-3 'checkpoint-6 checkpoint-8' # the run's end is saved too
check '
import json, struct
def tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    header.pop("__metadata__")
    return {name: entry["shape"] for name, entry in header.items()}
model = tensors("run/last/model.safetensors")
moments = tensors("run/last/optimizer.safetensors")
buffers = {name for name in model if ".running_" in name}
assert len(buffers) == 4 and len(model) == 12
assert moments == {f"{name}.momentum_buffer": shape for name, shape in model.items()
                   if name not in buffers}
assert tensors("run/best.safetensors") == model
state = json.load(open("run/last/state.json"))
assert state["format"] == "neap-checkpoint/1"
assert state["position"]["update"] == 20 and state["position"]["epoch"] == 5
assert state["options"]["micro-batch"] == 0 and state["made"]["threads"] >= 1
rows = open("run/metrics.csv").read().splitlines()[1:]
assert [row.split(",")[0] for row in rows] == list("12345"), rows
best = max(rows, key=lambda row: (float(row.split(",")[5]), -float(row.split(",")[4])))
assert state["best"]["update"] == int(best.split(",")[1]), (state["best"], rows)'

# What reads a run reads a checkpoint and the best weights.
for weights in run run/last run/checkpoint-16 run/best.safetensors; do
    neap eval norms.neap --data data --weights "$weights"
    expect 0
done
neap eval norms.neap --data data --weights data
expect_error 4 'data: neither a run'
neap inspect run
expect 0
expect_out 'checkpoint-20: update 20, epoch 5, whole' 'best.safetensors: update'
neap inspect run/checkpoint-16
expect 0
expect_out 'run/checkpoint-16: a checkpoint' 'update: 16'

# ---- options that were recorded ---------------------------------------------------------------------
# The whole table: what is not recorded is known not to change a bit.
neap help train
python3 - out run/last/state.json >why 2>&1 <<'PYTHON' || failed "$(tail -n 3 why)"
import json, re, sys
options = set(re.findall(r"^  (?:-\w, |    )--(?:no-)?([a-z0-9-]+)", open(sys.argv[1]).read(), re.M))
recorded = {name.split(":")[0] for name in json.load(open(sys.argv[2]))["options"]}
may_change = set("""arena config cost device dry-run effective-batch epochs fuse-update help input-gradient json keep
    loader-threads log-interval max-overhead max-updates memory on-nan order output plan quiet recompute
    recompute-layers resume save-interval tensorboard threads time-limit verbose""".split())
assert len(options) > 40 and recorded <= options, recorded - options
both, neither = recorded & may_change, options - recorded - may_change
assert not both, both
assert not neither, f"recorded by checkpoints, or of no effect on a bit? {neither}"
PYTHON

refused() {
    neap train --resume run --epochs 6 "${@:3}"
    expect_error 2 "cannot resume 'run/checkpoint-20'" "$1" "$2"
}
refused '--lr is 0.1, recorded 0.05' '--pretrained run/checkpoint-20/model.safetensors' --lr 0.1
refused '--batch is 32, recorded 64' '' -b 32
refused '--opt is adam, recorded sgd' '--seed is 3, recorded 0' --opt adam --seed 3
refused '--model is mlp, recorded norms.neap' '' mlp
refused '--data is synthetic, recorded data' '' --data synthetic
refused '--shuffle is off, recorded on' '--micro-batch is 8, recorded 0' --no-shuffle --micro-batch 8
refused '--val-data is data, recorded none' '--hflip is on, recorded off' --val-data data --hflip
refused '--random-resized-crop: least scale is 0.5, recorded 0' '--random-crop is 2, recorded none' \
    --random-resized-crop 0.5,1 --random-crop 2
cp -r data more
neap train --resume run --epochs 6 --data more
expect_error 2 '--data is more, recorded data'
neap train --resume run --epochs 2
expect_error 2 "--epochs is 2, 'run/checkpoint-20' has begun epoch 5"
neap train --resume run --max-updates 7
expect_error 2 "--max-updates is 7, 'run/checkpoint-20' has had 20"
[ "$(wc -l <run/metrics.csv)" = 6 ] || failed 'a run that was refused has changed metrics.csv'

# Those of the run are taken from it, the command line goes first, and args.json keeps up.
neap train --resume run --epochs 6 --arena 3M -v
expect 0 '--batch 64 (the run)' '--epochs 6 (command line)' "resumed from 'run/checkpoint-20'"
check '
import json
args = json.load(open("run/args.json"))
assert args["epochs"] == 6 and args["arena"] == 3 << 20 and args["output"] == "run", args
assert "resume" not in args and args["batch"] == 64'
grep -q "^resumed from 'run/checkpoint-20'" run/log.txt || failed 'log.txt does not say so'
# Nothing is left to do: that is no error, and nothing changes.
cp run/metrics.csv before
neap train --resume run
expect 0 'update 24, after 6 epochs'
cmp -s before run/metrics.csv || failed 'metrics.csv has changed'

threads=$(python3 -c 'import json; print(json.load(open("run/last/state.json"))["made"]["threads"] + 1)')
neap train --resume run --epochs 7 --threads "$threads"
expect 0 "$threads threads, recorded $((threads - 1))"
neap train "${small[@]}" --sched cosine --epochs 1 -q -o cosine
neap train --resume cosine --epochs 2
expect 0 '8 updates in all, recorded 4' 'cosine'

# ---- what cannot be resumed -------------------------------------------------------------------------
neap train "${small[@]}" --resume auto
expect_error 2 '-o DIR'
neap train "${small[@]}" --resume nowhere
expect_error 4 "'nowhere'" 'no such folder'
neap train "${small[@]}" --resume data
expect_error 4 "'data'" 'no checkpoint in it'
neap train "${small[@]}" --resume auto -o fresh
expect 0 "no checkpoint in 'fresh'" 'starting anew'
neap train --resume run/checkpoint-20
expect_error 2 "checkpoint-28' is newer than" "-o DIR"
truncate -s 100 run/checkpoint-28/optimizer.safetensors
neap train --resume run/checkpoint-28
expect_error 4 "checkpoint-28'" 'optimizer.safetensors: 100 bytes, state.json promises'
neap inspect run
expect_out 'checkpoint-28: torn'
neap train --resume run --epochs 7
expect 0 "'run/checkpoint-28' is torn and skipped" "resumed from 'run/checkpoint-24'"
[ "$(wc -l <run/metrics.csv)" = 8 ] || failed 'metrics.csv has rows twice'
mv fresh/last/state.json state
for text in '' '{' '{"format": "other"}' '{"format": "neap-checkpoint/1"}' '[]'; do
    printf '%s' "$text" >fresh/last/state.json
    neap train "${small[@]}" --resume fresh/last
    expect_error 4 'state.json'
done
mv state fresh/last/state.json
cp -r fresh/checkpoint-4 alone
neap train "${small[@]}" --resume alone
expect_error 2 "does not lie in a run's folder" '-o DIR'
neap train "${small[@]}" --tensorboard
expect_error 2 "'--tensorboard' needs a folder"
for option in --keep --save-interval; do
    neap train "${small[@]}" "$option" 2
    expect_error 2 "'$option' needs a folder"
    neap train "${small[@]}" "$option" 0 -o other
    expect_error 2 'whole number of at least 1'
done
neap train "${small[@]}" --pretrained run/last/model.safetensors --max-updates 1 -q
expect 0

# ---- a folder that is in use, or holds another run ----------------------------------------------------
cp fresh/args.json before
"$NEAP" train "${small[@]}" --epochs 100000 -o busy >/dev/null 2>&1 </dev/null &
pid=$!
until [ -e busy/args.json ] || ! kill -0 "$pid" 2>/dev/null; do
    sleep 0.01
done
neap train "${small[@]}" -o busy
expect_error 1 "'busy'" 'another process'
kill -KILL "$pid"
wait "$pid" 2>/dev/null

neap train "${small[@]}" --lr 0.2 -o fresh
expect 0 "the run that was in 'fresh' is now in 'fresh/earlier-1'"
cmp -s before fresh/earlier-1/args.json || failed 'the earlier run has other arguments'
[ -e fresh/earlier-1/last/state.json ] || failed 'the earlier run lost its checkpoint'
neap train --resume fresh/earlier-1 --epochs 2 -q
expect 0

# ---- losses that are not finite --------------------------------------------------------------------------
neap train "${small[@]}" --epochs 9 --lr 1e30 --save-interval 1 -o nan
expect_error 6 'the loss is' 'at update' "'--on-nan skip'" 'the newest checkpoint is nan/checkpoint-1'
neap train "${small[@]}" --epochs 9 --lr 1e30 --on-nan skip --json
expect_error 6 '20 updates in a row were left out' 'update 3 is left out'
check '
import json
lines = [json.loads(line) for line in open("out")]
assert [line["skipped"] for line in lines if line["event"] == "update"][:4] == [0, 1, 2, 3], lines'
# Looking changes nothing, and skips go on being counted.
neap train "${small[@]}" -q -o looked-at --on-nan skip
neap train "${small[@]}" -q -o not-looked-at
same_run looked-at not-looked-at
neap train "${small[@]}" --epochs 9 --lr 1e30 --on-nan skip --save-interval 5 --max-updates 10 -o skips
expect 0 'update 10 is left out'
neap train --resume skips --max-updates 36
expect_error 6 '20 updates in a row were left out, the last was 21'

# ---- full disks: the checkpoint before stays ------------------------------------------------------------
mkdir -p small
if mount -t tmpfs -o size=400k tmpfs small 2>/dev/null; then
    trap 'umount small' EXIT
    neap train "${small[@]}" --epochs 20 --save-interval 1 --keep 9 -o small/run
    expect_error 1 'cannot write' 'small/run/checkpoint-'
    [ -z "$(find small -name '*.tmp*')" ] || failed "left behind: $(find small -name '*.tmp*')"
    rm -r small/run/checkpoint-1 # room for one more
    neap train --resume small/run --keep 1
    expect 0 "resumed from 'small/run/checkpoint-"
    umount small && trap - EXIT
else
    echo 'not checked: a full disk behind a checkpoint (no right to mount a tmpfs here)'
fi
finish
