"""Writes resnet18.safetensors, a state_dict of torchvision's, and the folder data in CIFAR-10's
binary format, and prints the loss of a network with these weights on these images: trained as one
batch, and evaluated. In float64.

    /usr/bin/python3 tests/tools/torch_losses.py        # Debian 12: python3-torchvision
"""

import copy
import json
import os
import struct

import torch
import torchvision

DTYPES = {torch.float32: "F32", torch.int64: "I64"}


def save(state, path):
    """https://github.com/huggingface/safetensors: a JSON header behind its length, then the data."""
    header, blobs, offset = {}, [], 0
    for name, tensor in state.items():
        blob = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def images():
    os.makedirs("data")
    pixels = torch.randint(256, (8, 3, 32, 32), dtype=torch.uint8)
    labels = torch.arange(8, dtype=torch.uint8)
    records = torch.cat([labels[:, None], pixels.flatten(1)], 1).numpy().tobytes()
    for part in ("data_batch_1", "test_batch"):
        with open(f"data/{part}.bin", "wb") as file:
            file.write(records)
    return pixels.double() / 255, labels.long()


def main():
    torch.manual_seed(1)
    x, labels = images()
    model = torchvision.models.resnet18(num_classes=10)
    model(torch.rand(8, 3, 32, 32))  # moves the running statistics
    save(model.state_dict(), "resnet18.safetensors")
    for mode in (copy.deepcopy(model).double().train(), model.double().eval()):
        print(torch.nn.functional.cross_entropy(mode(x), labels).item())


main()
