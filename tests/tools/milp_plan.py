#!/usr/bin/env python3
"""Solves a bare planning problem to optimality: milp_plan.py FILE.problem BUDGET_BYTES [SCHEDULE]

Prints `optimal SECONDS`, `infeasible`, or `unknown` where the solver ran out of time; SCHEDULE gets
the optimum, one op number a line. Exits 3 where there is no `cbc` (Debian: coinor-cbc).

The formulation is Checkmate's (Jain et al., MLSys 2020) for the file's own order, with the live
bytes of the executions as the constraint: in stage t op t runs for the first time, R[t,i] says that
op i runs in it, S[t,i] that value i is kept from the stage before, F[t,i,k] that value i is freed
behind op k, U[t,k] the bytes live while op k runs. So it covers schedules whose first executions
stand in the file's order, with each op at most once in a stage, and a stage in the file's order.
For up to 40 ops.
"""
import os
import shutil
import subprocess
import sys
import tempfile

TIME_LIMIT_SECONDS = 60


def read_problem(path):
    """seconds, bytes and inputs, by op."""
    with open(path, encoding="ascii") as file:
        n, *lines = [line.split() for line in file if line.strip()]
    ops = [(float(line[0]), int(line[1]), sorted({int(i) for i in line[3:]})) for line in lines]
    assert int(n[0]) == len(ops)
    return [list(column) for column in zip(*ops)]


class Model:
    """Lines of an LP file."""

    def __init__(self):
        self.costs, self.rows, self.bounds, self.binaries = [], [], [], []

    def binary(self, name):
        self.binaries.append(name)
        return name

    def row(self, terms, relation, constant):
        text = " ".join(f"{'-' if factor < 0 else '+'} {abs(factor)!r} {name}"
                        for factor, name in terms)
        self.rows.append(f"r{len(self.rows)}: {text} {relation} {constant!r}")

    def text(self):
        return "\n".join(["Minimize", " cost: " + " ".join(self.costs), "Subject To",
                          *(" " + row for row in self.rows), "Bounds",
                          *(" " + bound for bound in self.bounds), "Binary",
                          *(" " + name for name in self.binaries), "End", ""])


def formulate(seconds, sizes, inputs, budget):
    """The model; names of its variables are R_t_i, S_t_i, F_t_i_k, U_t_k."""
    m, n = Model(), len(seconds)
    users = [[j for j in range(n) if i in inputs[j]] for i in range(n)]
    for t in range(n):
        for i in range(t + 1):
            m.binary(f"R_{t}_{i}")
            m.costs.append(f"+ {seconds[i]!r} R_{t}_{i}")
            if i < t:
                m.binary(f"S_{t}_{i}")
                kept = [(-1, f"S_{t - 1}_{i}")] if i < t - 1 else []
                m.row([(1, f"S_{t}_{i}"), (-1, f"R_{t - 1}_{i}")] + kept, "<=", 0)
            for j in inputs[i]:
                m.row([(1, f"R_{t}_{i}"), (-1, f"R_{t}_{j}"), (-1, f"S_{t}_{j}")], "<=", 0)
        m.row([(1, f"R_{t}_{t}")], "=", 1)
        live = [(-sizes[i], f"S_{t}_{i}") for i in range(t)]
        for k in range(t + 1):
            m.bounds.append(f"0 <= U_{t}_{k} <= {budget}")
            m.row([(1, f"U_{t}_{k}"), (-sizes[k], f"R_{t}_{k}")] + live, "=", 0)
            live = [(-1, f"U_{t}_{k}")]
            for i in inputs[k] + [k]:
                freed = f"F_{t}_{i}_{k}"
                m.bounds.append(f"0 <= {freed} <= 1")
                m.row([(1, freed), (-1, f"R_{t}_{k}")], "<=", 0)
                if t + 1 < n:
                    m.row([(1, freed), (1, f"S_{t + 1}_{i}")], "<=", 1)
                for j in users[i]:
                    if k < j <= t:
                        m.row([(1, freed), (1, f"R_{t}_{j}")], "<=", 1)
                live.append((sizes[i], freed))
    return m


def run_cbc(model):
    """The solver's verdict and the names of the binaries that are 1."""
    with tempfile.TemporaryDirectory() as folder:
        lp, solution = os.path.join(folder, "plan.lp"), os.path.join(folder, "plan.sol")
        with open(lp, "w", encoding="ascii") as file:
            file.write(model.text())
        subprocess.run(["cbc", lp, "timeMode", "elapsed", "sec",
                        str(TIME_LIMIT_SECONDS), "ratioGap", "0", "allowableGap",
                        "0", "solve", "solution", solution],
                       check=True, stdout=subprocess.DEVNULL)
        with open(solution, encoding="ascii") as file:
            verdict, *values = file.read().splitlines()
    chosen = {words[1] for words in map(str.split, values) if float(words[2]) > 0.5}
    return verdict, chosen


def solve(seconds, sizes, inputs, budget):
    """Seconds and schedule of the optimum; None and no schedule where there is none; a string where
    that is not known."""
    n = len(seconds)
    if max(sizes[i] + sum(sizes[j] for j in inputs[i]) for i in range(n)) > budget:
        return None, []
    verdict, chosen = run_cbc(formulate(seconds, sizes, inputs, budget))
    if "infeasible" in verdict.lower():
        return None, []
    if not verdict.startswith("Optimal"):
        return "unknown", []
    schedule = [i for t in range(n) for i in range(t + 1) if f"R_{t}_{i}" in chosen]
    return sum(seconds[i] for i in schedule), schedule


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    if not shutil.which("cbc"):
        print("no cbc", file=sys.stderr)
        return 3
    cost, schedule = solve(*read_problem(sys.argv[1]), int(sys.argv[2]))
    if len(sys.argv) == 4:
        with open(sys.argv[3], "w", encoding="ascii") as file:
            file.writelines(f"{op}\n" for op in schedule)
    print("infeasible" if cost is None else cost if cost == "unknown" else f"optimal {cost!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
