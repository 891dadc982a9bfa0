# A run that is killed (SIGKILL) at random moments and resumed each time ends as one that was not:
# kill.sh [KILLS]. Every update is saved, so that many kills fall into the saving itself; those
# before the first checkpoint find a run that starts anew.
# shellcheck shell=bash disable=SC1091
. "$SOURCE_DIR/tests/support/cli.sh"
. "$SOURCE_DIR/tests/support/runs.sh"
kills=${1:-5}
idx data

norms norms.neap

train=(train norms.neap --data data -b 24 --grad-accum-steps 2 --epochs 12 --opt adam --lr 0.001
    --sched cosine --save-interval 1 --keep 2 --threads 1)
neap "${train[@]}" -o whole -q
expect 0
updates=$(grep -c '^saved' whole/log.txt)

saves() {
    local n
    n=$(grep -c '^saved' killed/log.txt 2>/dev/null)
    echo "${n:-0}"
}

# Each gets on by up to its share of the updates, and then up to 30 ms: a kill now and then falls
# into the start, most into an update, its saving or the evaluation.
RANDOM=1
killed=0
for ((i = 0; i < kills; i++)); do
    last="neap ${train[*]} -o killed --resume auto, run $i"
    target=$(($(saves) + RANDOM % (updates / kills)))
    "$NEAP" "${train[@]}" -o killed --resume auto >out 2>err </dev/null &
    pid=$!
    while [ "$(saves)" -lt "$target" ] && kill -0 "$pid" 2>/dev/null; do
        sleep 0.005
    done
    sleep "0.0$((RANDOM % 30 + 10))"
    kill -KILL "$pid" 2>/dev/null && killed=$((killed + 1))
    wait "$pid" 2>/dev/null
    code=$?
    [ "$code" = 137 ] || failed "exit code $code"
done
[ "$killed" = "$kills" ] || failed "$killed of $kills runs were killed"

neap "${train[@]}" -o killed --resume auto
expect 0
same_run whole killed
names=$(cd killed && echo *)
[ "$names" = "$(cd whole && echo *)" ] || failed "left behind: $names"
echo "$killed of $kills runs killed, the last resumed: $(grep -o 'update [0-9]*' err | head -n 1)"
finish
