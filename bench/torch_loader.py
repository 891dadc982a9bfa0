"""torchvision's way through an image folder: ImageFolder, PIL and transforms, in one process.

    /usr/bin/python3 bench/torch_loader.py --data FOLDER --size 224 --how evaluate|augment
"""

import argparse
import json
import random
import time

import torch
import torchvision
from torchvision import transforms as T

IMAGENET = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def pipeline(how, size):
    if how == "augment":
        geometry = [T.RandomResizedCrop(size), T.RandomHorizontalFlip()]
    else:
        geometry = [T.Resize(size * 256 // 224), T.CenterCrop(size)]
    return T.Compose([*geometry, T.ToTensor(), IMAGENET])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--how", choices=["evaluate", "augment"], default="evaluate")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    images = torchvision.datasets.ImageFolder(f"{args.data}/train", pipeline(args.how, args.size))
    order = list(range(len(images)))
    random.Random(0).shuffle(order)
    start, processor_start = time.perf_counter(), time.process_time()
    for first in range(0, len(order), 64):
        torch.stack([images[i][0] for i in order[first:first + 64]])
    print(json.dumps({"images": len(order), "seconds": time.perf_counter() - start,
                      "processor_seconds": time.process_time() - processor_start,
                      "torchvision": torchvision.__version__}))


main()
