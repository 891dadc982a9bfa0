# The same weights to the last byte: run again, with other loader threads, under any plan.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
idx data

# trained RUN MODEL OPTIONS...: two epochs with a short last batch.
trained() {
    local run=$1
    shift
    neap train "$@" --data data --epochs 2 -b 60 -o "$run" -q
    expect 0
}
# same_weights RUN RUN
same_weights() {
    cmp "$1/last/model.safetensors" "$2/last/model.safetensors" >why 2>&1 ||
        failed "the weights of $1 and $2 differ: $(cat why)"
}
same_metrics() {
    # All columns but those of time and memory.
    check "
import csv
rows = [[{k: v for k, v in row.items() if 'loss' in k or 'top' in k or k in ('epoch', 'update', 'lr')}
         for row in csv.DictReader(open(f'{run}/metrics.csv'))] for run in ('$1', '$2')]
assert rows[0] == rows[1] and len(rows[0]) == 2, rows"
}

trained first mlp --val-data data
for threads in 1 2 3; do
    trained "loader-$threads" mlp --val-data data -j "$threads"
    same_weights first "loader-$threads"
    same_metrics first "loader-$threads"
done
trained other-seed mlp --seed 1
cmp -s first/last/model.safetensors other-seed/last/model.safetensors &&
    failed 'two seeds give the same weights'

# Where the update is fused into backward, stored and accumulated gradients give the same bits too.
trained not-fused mlp --fuse-update off
same_weights first not-fused

trained all resnet20 --recompute none
trained all-again resnet20 --recompute none -j 3
same_weights all all-again
half=$(python3 -c '
import json
print(json.load(open("all/plan.json"))["arena_bytes"] // 2)')
trained half resnet20 --arena "$half"
same_weights all half
same_metrics all half
neap plan resnet20 -b 60 --json
peak=$(python3 -c '
import json
print(json.load(open("out"))["store_all"]["peak_bytes"] * 6 // 10)')
trained bound resnet20 -m "$peak"
same_weights all bound
trained every resnet20 --recompute all --fuse-update off
same_weights all every

trained two-threads mlp --threads 2
check '
import json
assert json.load(open("two-threads/args.json"))["threads"] == 2'
finish
