#!/usr/bin/env python3
"""replay_schedule.py on schedules small enough to be counted by hand."""
import sys
from fractions import Fraction

from replay_schedule import Invalid, replay

# a (10 bytes) → b (3) → c (20); d (1) reads a and c. In file order a lives throughout.
OPS = [(Fraction(2), 10, set()), (Fraction(3), 3, {0}), (Fraction(5), 20, {1}),
       (Fraction(1), 1, {0, 2})]
GOOD = [  # steps, fixed order?, peak, cost; live bytes by step:
    ([0, 1, 2, 3], True, 33, 11),        # 10, 13, 33, 31
    ([0, 1, 2, 0, 3], True, 31, 13),     # 10, 13, 23, 30, 31
    ([0, 1, 0, 2, 3], True, 33, 13),     # 10, 13, 13, 33, 31: made again too early
    ([0, 1, 2, 0, 3, 2], True, 34, 18),  # 10, 13, 23, 33, 34, 23: for nothing, b lives on
    ([0, 0, 1, 2, 3], True, 33, 13),     # the first life of a ends in its own step
]
BAD = [  # steps, fixed order?, what is said
    ([0, 1, 2], False, "op 3 never runs"),
    ([1, 0, 2, 3], False, "input 0 was not made"),
    ([], False, "op 0 never runs"),
]
# Two independent ops, then their reader: only the free order may swap them.
PAIR = [(Fraction(1), 5, set()), (Fraction(1), 7, set()), (Fraction(1), 1, {0, 1})]


def refused(ops, steps, fixed_order):
    try:
        replay(ops, steps, fixed_order)
    except Invalid as invalid:
        return str(invalid)
    return None


def main():
    wrong = []
    for steps, fixed_order, peak, cost in GOOD:
        if replay(OPS, steps, fixed_order) != (peak, cost):
            wrong.append(f"{steps}: {replay(OPS, steps, fixed_order)}, not {(peak, cost)}")
    for steps, fixed_order, text in BAD:
        said = refused(OPS, steps, fixed_order)
        if not said or text not in said:
            wrong.append(f"{steps}: {said!r}, not {text!r}")
    if refused(PAIR, [1, 0, 2], False) or refused(PAIR, [0, 1, 2], True):
        wrong.append("refuses an order that is allowed")
    if not refused(PAIR, [1, 0, 2], True):
        wrong.append("takes another order for the file's")
    print("\n".join(wrong) or f"ok: {len(GOOD)} schedules accepted, {len(BAD) + 1} refused")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
