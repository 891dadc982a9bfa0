# --tensorboard: event files as TensorBoard reads them, decoded here: records with their checksums,
# protobuf by its wire format. And --log-interval, which they keep to.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
idx data
cat >events.py <<'PYTHON'
import glob, struct
def crc32c(data):
    sum = 0xffffffff
    for byte in data:
        sum ^= byte
        for _ in range(8):
            sum = sum >> 1 ^ (0x82f63b78 if sum & 1 else 0)
    return sum ^ 0xffffffff
assert crc32c(b"123456789") == 0xe3069283
def masked(data):
    sum = crc32c(data)
    return ((sum >> 15 | sum << 17) + 0xa282ead8) & 0xffffffff
def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
def message(data):
    fields, at = [], 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            n, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at:at + n], at + n
        fields.append((key >> 3, value))
    assert at == len(data)
    return fields
def events(path):
    """(step, {tag: number} or text or "start") of every record."""
    found, data = [], open(path, "rb").read()
    while data:
        length, = struct.unpack_from("<Q", data)
        assert struct.unpack_from("<I", data, 8) == (masked(data[:8]),)
        body, = data[12:12 + length],
        assert len(body) == length
        assert struct.unpack_from("<I", data, 12 + length) == (masked(body),)
        data = data[16 + length:]
        fields = dict(message(body))
        assert struct.unpack("<d", fields[1])[0] > 1.6e9
        what = fields.get(3, b"").decode()
        if 7 in fields:
            assert message(fields[7]) == [(1, 1)]
            what = "start"
        if 5 in fields:
            values = [dict(message(value)) for field, value in message(fields[5]) if field == 1]
            what = {v[1].decode(): struct.unpack("<f", v[2])[0] for v in values}
        found.append((fields[2], what))
    return found
def files(run):
    return sorted(glob.glob(f"{run}/events.out.tfevents.*"))
PYTHON

neap train mlp --data data -b 32 --epochs 2 --tensorboard -o run --json
expect 0
check '
import csv, json, struct
from events import events, files
path, = files("run")
found = events(path)
assert found[0] == (0, "brain.Event:2") and found[1] == (1, "start"), found[:2]
lines = [json.loads(line) for line in open("out")]
def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]
expected = []
for line in lines:
    if line["event"] == "update":
        expected.append((line["update"], {"update/loss": single(line["update_loss"]),
                                          "update/lr": single(line["lr"])}))
    if line["event"] == "epoch":
        expected.append((line["update"], {
            "train/loss": single(line["train_loss"]), "train/top1": single(line["train_top1"]),
            "train/images_per_second": single(line["images_per_second"])}))
    if line["event"] == "eval":
        expected.append((line["update"], {f"eval/{key}": single(line[key])
                                          for key in ("loss", "top1", "top5")}))
assert len(expected) == 16 + 2 + 2
assert found[2:] == expected, (found, expected)
# The mean of the first epoch is that of its updates.
mean = sum(what["update/loss"] for step, what in expected[:8]) / 8
assert abs(mean - expected[8][1]["train/loss"]) < 1e-6'

# A run that goes on has a file more, which begins behind the checkpoint.
sleep 1 # names are of seconds
neap train --resume run --epochs 3 --log-interval 3
expect 0
check '
from events import events, files
first, second = files("run")
found = events(second)
assert found[1] == (17, "start")
assert [step for step, what in found if "update/loss" in what] == [18, 21, 24]'
grep -c '^epoch' run/log.txt >lines
[ "$(cat lines)" = 3 ] || failed "log.txt: $(cat lines) updates instead of 3"
finish
