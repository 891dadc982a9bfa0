"""The best there is for a bare problem of a few ops: every state that memory can be in, by
Dijkstra's algorithm. Written from the definition in docs/problem-format.md alone."""
import heapq


def successors(ops, state, fixed_order):
    """(next state, cost, live bytes) of dropping one value and of running one op."""
    done, memory = state
    for value in memory:
        yield (done, memory - {value}), 0, 0
    live = sum(ops[value][1] for value in memory)
    for op, (cost, size, inputs) in enumerate(ops):
        in_order = op in done or not fixed_order or all(before in done for before in range(op))
        if op not in memory and inputs <= memory and in_order:
            yield (done | {op}, memory | {op}), cost, live + size


def search(ops, fixed_order, combine, allowed):
    """The least combined cost of running every op, or None."""
    start, tick = (frozenset(), frozenset()), 0
    best, queue = {start: 0}, [(0, 0, start)]
    while queue:
        reached, _, state = heapq.heappop(queue)
        if reached > best[state]:
            continue
        if len(state[0]) == len(ops):
            return reached
        for after, cost, live in successors(ops, state, fixed_order):
            total = combine(reached, cost, live)
            if allowed(live) and total < best.get(after, total + 1):
                tick += 1
                best[after] = total
                heapq.heappush(queue, (total, tick, after))
    return None


def least_cost(ops, budget_bytes, fixed_order):
    """None where no schedule stays within the budget."""
    return search(ops, fixed_order, lambda reached, cost, live: reached + cost,
                  lambda live: live <= budget_bytes)


def least_peak(ops, fixed_order):
    return search(ops, fixed_order, lambda reached, cost, live: max(reached, live),
                  lambda live: True)
