#!/bin/sh
# The demonstration: ResNet-20 on Fashion-MNIST, an epoch with all the memory it likes and an epoch in
# half of it. The losses and accuracies must be the same to the last bit; the script fails if not.
#   scripts/demo.sh            NEAP=path/to/neap  BATCH=256
set -eu
cd "$(dirname "$0")/.."
neap=${NEAP:-build/release/neap}
batch=${BATCH:-256}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT INT TERM

# field FILE EVENT KEY: the number of KEY in the last line of that event.
field() {
    sed -n "/\"event\": *\"$2\"/p" "$1" | tail -n 1 |
        sed -n "s/.*\"$3\": *\([-0-9.e+]*\).*/\1/p"
}

# run NAME [OPTIONS]: trains an epoch, its result in $out/NAME.json.
run() {
    name=$1
    shift
    "$neap" train resnet20 --data fashion-mnist -b "$batch" --epochs 1 --lr 0.05 --momentum 0.9 \
        -o "$out/$name" --json "$@" | tee "$out/$name.json" | show_progress
}

# A line every 20 updates; on a terminal the command's own bar does.
show_progress() {
    if [ -t 2 ]; then
        cat >/dev/null
        return
    fi
    awk '/"event": *"update"/ {
        match($0, /"update": *[0-9]+/)
        update = substr($0, RSTART + 9) + 0
        match($0, /"train_loss": *[0-9.]+/)
        loss = substr($0, RSTART + 13) + 0
        if (update % 20 == 0) {
            printf "  update %3d  loss %.4f\n", update, loss
            fflush()
        }
    }'
}

mib() {
    awk -v bytes="$1" 'BEGIN { printf "%.1f MiB", bytes / 1048576 }'
}

row() {
    printf '%-26s %22s %22s\n' "$1" "$2" "$3"
}

echo "1/2: ResNet-20, Fashion-MNIST, batch $batch, one epoch, everything kept"
run all
peak=$(field "$out/all.json" done peak_planned_bytes)
half=$((peak / 2))
echo "2/2: the same with -m $half: half of that peak"
run half -m "$half"

a=$out/all.json b=$out/half.json
echo
row "" "everything kept" "-m $half"
for key in peak_planned_bytes peak_measured_bytes rss_bytes; do
    row "$key" "$(mib "$(field "$a" done $key)")" "$(mib "$(field "$b" done $key)")"
done
for key in train_loss train_top1 seconds; do
    row "$key" "$(field "$a" epoch $key)" "$(field "$b" epoch $key)"
done
for key in loss top1; do
    row "test $key" "$(field "$a" eval $key)" "$(field "$b" eval $key)"
done

same=yes
for pair in epoch:train_loss epoch:train_top1 eval:loss eval:top1; do
    [ "$(field "$a" "${pair%:*}" "${pair#*:}")" = "$(field "$b" "${pair%:*}" "${pair#*:}")" ] || same=no
done
cmp -s "$out"/all/last/model.safetensors "$out"/half/last/model.safetensors || same=no
row "weights, losses identical" "" "$same"
[ "$same" = yes ]
