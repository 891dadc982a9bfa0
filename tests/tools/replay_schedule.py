#!/usr/bin/env python3
"""Replays a schedule of a bare planning problem:
replay_schedule.py [--fixed-order] FILE.problem SCHEDULE

Knows the two formats and the problem's definition (docs/problem-format.md) and nothing of how
schedules are made. Prints "peak BYTES cost SECONDS steps N recomputed N" and exits 0 where the
schedule is valid; otherwise prints what is wrong with it and exits 1.

A value lives from an execution of its producer to its last reader before the next execution. At a
step count the value being made and every life that spans the step, the running op's inputs
included.
"""
import sys
from fractions import Fraction


class Invalid(Exception):
    """What is wrong, in words."""


def words_of(path):
    with open(path, encoding="ascii") as file:
        return [line.split() for line in file]


def read_problem(path):
    """(seconds, bytes, inputs) of each op."""
    lines = [words for words in words_of(path) if words]
    n, ops = int(lines[0][0]), []
    if len(lines) != n + 1:
        raise Invalid(f"{path}: {len(lines) - 1} ops instead of {n}")
    for words in lines[1:]:
        inputs = [int(word) for word in words[3:]]
        if len(inputs) != int(words[2]) or any(not 0 <= i < len(ops) for i in inputs):
            raise Invalid(f"{path}: op {len(ops)} has wrong inputs")
        ops.append((Fraction(words[0]), int(words[1]), set(inputs)))
    return ops


def read_schedule(path, n_ops):
    steps = [int(word) for words in words_of(path) for word in words]
    for i, op in enumerate(steps):
        if not 0 <= op < n_ops:
            raise Invalid(f"step {i} runs op {op}, there are {n_ops}")
    return steps


def check_order(steps, n_ops, fixed_order):
    first = {}
    for i, op in enumerate(steps):
        first.setdefault(op, i)
    for op in range(n_ops):
        if op not in first:
            raise Invalid(f"op {op} never runs")
        if fixed_order and op and first[op] < first[op - 1]:
            raise Invalid(f"op {op} runs before op {op - 1}")


def find_lives(ops, steps):
    """(first step, last step, bytes) of every life."""
    lives, current = [], {}
    for i, op in enumerate(steps):
        for value in ops[op][2]:
            if value not in current:
                raise Invalid(f"step {i} runs op {op}, whose input {value} was not made yet")
            current[value][1] = i
        current[op] = [i, i, ops[op][1]]
        lives.append(current[op])
    return lives


def replay(ops, steps, fixed_order=False):
    """Peak bytes and cost; raises Invalid."""
    check_order(steps, len(ops), fixed_order)
    change = [0] * (len(steps) + 1)
    for first, last, size in find_lives(ops, steps):
        change[first] += size
        change[last + 1] -= size
    live = peak = 0
    for delta in change:
        live += delta
        peak = max(peak, live)
    return peak, sum(ops[op][0] for op in steps)


def main():
    arguments = [word for word in sys.argv[1:] if word != "--fixed-order"]
    if len(arguments) != 2:
        print("usage: replay_schedule.py [--fixed-order] FILE.problem SCHEDULE", file=sys.stderr)
        return 2
    try:
        ops = read_problem(arguments[0])
        steps = read_schedule(arguments[1], len(ops))
        peak, cost = replay(ops, steps, len(arguments) < len(sys.argv) - 1)
    except (Invalid, OSError, ValueError, IndexError) as problem:
        print(problem)
        return 1
    print(f"peak {peak} cost {float(cost)!r} steps {len(steps)} "
          f"recomputed {len(steps) - len(ops)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
