# Once training has begun neap allocates nothing, and what it calls nothing above 64 KiB: a run of
# twice the updates makes as many such calls.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
if [ -n "${NEAP_SANITIZE:-}" ]; then
    echo "a sanitizer brings an allocator of its own"
    exit 77
fi
idx data
# Without AVX-512 oneDNN multiplies matrices by a kernel that packs them in memory which it takes
# each time, less than 1 MiB a thread as measured on mlp up to a batch of 1024: the 64 KiB do not
# hold there.
if [ "${ONEDNN_MAX_CPU_ISA:-}" = AVX2 ] || ! grep -qw avx512bw /proc/cpuinfo; then
    export COUNT_ABOVE=$((1 << 20))
fi
"${CC:-gcc}" -D_GNU_SOURCE -O2 -shared -fPIC -o count.so "$SOURCE_DIR/tests/e2e/count_allocations.c" -ldl || exit 1

# counts FILE ARGUMENTS...: a counted run.
counts() {
    local file=$1
    shift
    last="neap $*"
    LD_PRELOAD=$PWD/count.so COUNT_ALLOCATIONS=$file "$NEAP" "$@" >out 2>err </dev/null
    code=$?
    expect 0
}

# same_counts UPDATES MODEL OPTIONS...
data=data
same_counts() {
    local updates=$1
    shift
    counts short train "$@" --data $data --max-updates "$updates" --json
    counts long train "$@" --data $data --max-updates $((2 * updates)) --json
    check '
own, large, every = map(int, open("short").read().split())
own_long, large_long, every_long = map(int, open("long").read().split())
assert every > own > 100, "the counting itself does not work"
assert own_long == own, f"neap allocates while training: {own} calls became {own_long}"
assert large_long == large, f"{large_long - large} large allocations while training"'
}

# Within an epoch, and across the ends of epochs with their short last batch.
same_counts 8 mlp -b 16
same_counts 10 mlp -b 60 --epochs 4
same_counts 10 mlp -b 20 --grad-accum-steps 3 --epochs 4
same_counts 6 resnet20 -b 60 --epochs 4 --arena 60%
same_counts 6 lenet5 -b 60 --epochs 4 --val-data data --opt adam
# What decodes images allocates, a little: that it is not much for these says nothing of photos.
pictures pictures
data=pictures
same_counts 5 lenet5 --img-size 16 -b 20 --epochs 4 --hflip --rotate 9 --random-resized-crop 0.3,1
finish
