#!/bin/bash
# Bare problems from the file to the schedule: what neap reports is what a judge of its own makes of
# the schedule, bounds are below the best that brute force finds, and plans reach it.
set -eu
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONPATH=$SOURCE_DIR/tests/tools
python3 "$SOURCE_DIR/tests/tools/test_replay_schedule.py"

# A few ops: the best is known.
python3 - <<'PYTHON'
import random
import sys
from brute_problem import least_cost, least_peak
from judge_problems import plan_and_judge
from replay_schedule import read_problem

def write(path, n, rng):
    with open(path, "w") as file:
        print(n, file=file)
        for op in range(n):
            k = rng.randint(min(op, 1), min(op, 2))
            inputs = rng.sample(range(max(0, op - 4), op), k)
            print(rng.randint(1, 9), rng.randint(1, 20), k, *inputs, file=file)

failures = plans = recomputing = 0
for seed in range(12):
    path = f"tiny{seed}.problem"
    write(path, 6, random.Random(seed))
    ops = read_problem(path)
    once = sum(op[0] for op in ops)
    for order in ("free", "fixed"):
        floor = least_peak(ops, order == "fixed")
        for budget in (floor - 1, floor, floor + 3):
            said = f"{path} --order {order} --arena {budget}: "
            report = plan_and_judge(path, budget, order)
            best = least_cost(ops, budget, order == "fixed")
            wrong = []
            if report["peak_lower_bound_bytes"] > floor:
                wrong.append(f"a bound of the peak above the least, {floor}")
            if report["smallest_budget_bytes"] != floor:
                wrong.append(f"smallest budget {report['smallest_budget_bytes']} for {floor}")
            if report["fits"] != (best is not None):
                wrong.append(f"fits is {report['fits']}")
            elif best is not None:
                plans += 1
                recomputing += best > once
                bound = report["overhead_lower_bound"]
                if bound is None or (1 + bound) * report["cost_store_all"] > best + 1e-6:
                    wrong.append(f"a bound of {bound}, the best is {float(best / once - 1)}")
                if abs(report["cost"] - best) > 1e-6:
                    wrong.append(f"costs {report['cost']}, the best is {float(best)}")
            failures += bool(wrong)
            for text in wrong:
                print(said + text)
print(f"{plans} plans of a few ops, {recomputing} must recompute, {failures} differ from the best")
sys.exit(bool(failures) or recomputing < 5)
PYTHON

# A training step in small: a chain of layers and its backward, with skips.
python3 - <<'PYTHON'
import random
rng = random.Random(7)
layers = 24
lines = []
for i in range(layers):
    inputs = [i - 1] if i else []
    if i % 6 == 5:
        inputs.append(i - 4)
    lines.append((rng.randint(10, 100), rng.randint(100, 1000), inputs))
for i in reversed(range(layers)):
    inputs = [len(lines) - 1, i] + ([i - 1] if i else [])
    lines.append((2 * lines[i][0], lines[max(i - 1, 0)][1], sorted(set(inputs))))
with open("chain.problem", "w") as file:
    print(len(lines), file=file)
    for seconds, size, inputs in lines:
        print(seconds, size, len(inputs), *inputs, file=file)
PYTHON
judge() {
    python3 "$SOURCE_DIR/tests/tools/judge_problems.py" "$@"
}
judge chain.problem 100% 90% 70% 50% 30% 1% | tee judged.txt
grep -q '70% free: +' judged.txt
grep -q '1% free: does not fit' judged.txt

# The same request gives the same schedule, and a time limit gives a plan at once.
for i in 1 2; do
    "$NEAP" plan chain.problem --arena 60% --seed 3 -q -o "schedule$i" >/dev/null
done
cmp schedule1 schedule2
judge --options '--time-limit 0.1' chain.problem 70%
