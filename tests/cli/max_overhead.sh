# --max-overhead: the smallest arena for so much time.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"

for percent in 0 2 20; do
    neap plan lenet5 -b 64 --max-overhead "$percent%" --json
    expect 0
    cp out "plan$percent.json"
done
check '
import json
plans = {p: json.load(open(f"plan{p}.json")) for p in (0, 2, 20)}
for percent, plan in plans.items():
    assert plan["fits"] and plan["plan"]["overhead"] <= percent / 100 + 1e-9, plan
    assert plan["budget_unit"] == "arena_bytes"
    assert plan["budget_bytes"] == plan["plan"]["arena_bytes"], plan
    assert plan["plan"]["gap"] >= -1e-9, plan
assert plans[0]["plan"]["overhead"] == 0
arenas = [plans[p]["plan"]["arena_bytes"] for p in (0, 2, 20)]
assert arenas[0] >= arenas[1] >= arenas[2] and arenas[0] > arenas[2], arenas'
# What is found there is what --arena finds.
neap plan lenet5 -b 64 --json --arena "$(python3 -c '
import json
print(json.load(open("plan20.json"))["budget_bytes"])')"
expect 0

for more in '-m 1G' '--arena 50%' '--recompute none' '--recompute-layers conv1' '-b max' '--max-batch' \
    '--micro-batch auto'; do
    # shellcheck disable=SC2086
    neap plan lenet5 --max-overhead 10% $more
    expect_error 2 'without another limit'
done
for bad in 10 -1% x% %; do
    neap plan lenet5 --max-overhead "$bad"
    expect_error 2 'is not a percentage (30%)'
done
neap plan resnet20 -b 8 --micro-batch 1 --max-overhead 0%
expect_error 5 'slices of 1 cost'
neap verify lenet5 -b 16 --max-overhead 20% --updates 1
expect 0
expect_out 'identical'
printf '{"max-overhead": "2%%"}\n' >config.json
neap plan lenet5 -b 64 --config config.json --json
expect 0
check '
import json
assert json.load(open("out"))["budget_bytes"] == json.load(open("plan2.json"))["budget_bytes"]'
finish
