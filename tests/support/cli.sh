# What the scripts of cli/ share; they source it: . "$SOURCE_DIR/tests/support/cli.sh"
# shellcheck shell=bash disable=SC2034
set -u
export NO_COLOR=1
failures=0

# neap ARGUMENTS...: runs the command; its exit code in $code, its output in the files out and err.
neap() {
    last="neap $*"
    "$NEAP" "$@" >out 2>err </dev/null
    code=$?
}

failed() {
    failures=$((failures + 1))
    printf 'FAILED %s: %s\n' "$last" "$1"
    sed 's/^/  out: /' out | head -n 20
    sed 's/^/  err: /' err | head -n 20
}

# expect CODE [TEXT...]: the last run's exit code, and texts (as they are) in its diagnostics.
expect() {
    [ "$code" = "$1" ] || failed "exit code $code instead of $1"
    shift
    for text; do
        grep -qF -- "$text" err || failed "no '$text' on standard error"
    done
    grep -qE 'Sanitizer|runtime error' err && failed 'a sanitizer reports'
    return 0
}

# One error, which names the program and ends without a full stop.
expect_error() {
    expect "$@"
    [ "$(grep -c '^neap: error: ' err)" = 1 ] || failed 'not exactly one error'
    grep '^neap: error: ' err | grep -q '\.$' && failed 'an error ends with a full stop'
    return 0
}

expect_out() {
    for text; do
        grep -qF -- "$text" out || failed "no '$text' on standard output"
    done
}

expect_missing() {
    for path; do
        if [ -e "$path" ]; then failed "$path was left behind"; fi
    done
}

# python TEXT: a check of its own; what it prints is why it failed.
check() {
    python3 -c "$1" >why 2>&1 || failed "$(tail -n 3 why)"
}

# idx FOLDER: a small data set in IDX files, the same bytes every time.
idx() {
    mkdir -p "$1"
    python3 - "$1" <<'PYTHON'
import random, struct, sys
random.seed(1)
for part, n in (('train', 256), ('t10k', 64)):
    labels = bytes(i % 10 for i in range(n))
    images = bytearray(random.randrange(64) for _ in range(n * 784))
    for i, label in enumerate(labels):  # a bright row tells the class
        images[i * 784 + 28 * 2 * label:i * 784 + 28 * (2 * label + 1)] = bytes([255] * 28)
    with open(f'{sys.argv[1]}/{part}-images-idx3-ubyte', 'wb') as file:
        file.write(struct.pack('>4I', 0x803, n, 28, 28) + images)
    with open(f'{sys.argv[1]}/{part}-labels-idx1-ubyte', 'wb') as file:
        file.write(struct.pack('>2I', 0x801, n) + labels)
PYTHON
}

# pictures FOLDER: an image folder of two classes in PNG files of many sizes, the same every time:
# red ones and blue ones.
pictures() {
    python3 - "$1" <<'PYTHON'
import os, random, struct, sys, zlib
random.seed(2)

def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

def png(width, height, strong):
    rows = b''
    for _ in range(height):
        row = bytearray(random.randrange(140) for _ in range(3 * width))
        row[strong::3] = bytes(random.randrange(100, 256) for _ in range(width))
        rows += b'\0' + row
    header = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(rows)) +
            chunk(b'IEND', b''))

for split, n in (('train', 40), ('val', 10)):
    for strong, name in ((0, 'red'), (2, 'blue')):
        os.makedirs(f'{sys.argv[1]}/{split}/{name}')
        for i in range(n):
            with open(f'{sys.argv[1]}/{split}/{name}/{i:03}.jpg', 'wb') as file:
                file.write(png(random.randrange(12, 40), random.randrange(12, 40), strong))
PYTHON
}

# norms N: a network of N convolutions with batch norm and ReLU, and a linear layer, as text.
norms() {
    printf 'neap-graph 1 norms\n\ninput relu0 f32 1x1x28x28\n'
    local i channels=1
    for ((i = 1; i <= $1; i++)); do
        cat <<NEAP
parameter conv$i.weight f32 16x${channels}x3x3 init=normal(0.1)
conv$i = conv2d(relu$((i - 1)), conv$i.weight) padding=1
parameter bn$i.weight f32 16 init=constant(1)
parameter bn$i.bias f32 16
buffer bn$i.running_mean f32 16
buffer bn$i.running_var f32 16 init=constant(1)
bn$i = batch_norm(conv$i, bn$i.weight, bn$i.bias, bn$i.running_mean, bn$i.running_var)
relu$i = relu(bn$i)
NEAP
        channels=16
    done
    cat <<NEAP
flatten = flatten(relu$1)
parameter fc.weight f32 10x12544 init=uniform(0.01)
parameter fc.bias f32 10
fc = linear(flatten, fc.weight, fc.bias)
input labels i32 1
loss = softmax_cross_entropy(fc, labels)

roles logits=fc labels=labels loss=loss
NEAP
}

finish() {
    [ "$failures" = 0 ] && exit 0
    echo "$failures failed"
    exit 1
}
