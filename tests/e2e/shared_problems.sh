#!/bin/bash
# The instances that planners are compared on, shortly: reports and schedules agree on them too.
# bench/planner.py has the figures.
set -eu
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
data=${NEAP_SHARED_DATA:-$SOURCE_DIR/../shared/data}/plan
[ -d "$data" ] || { echo "no planning problems in $data"; exit 77; }
export PYTHONPATH=$SOURCE_DIR/tests/tools
python3 "$SOURCE_DIR/tests/tools/judge_problems.py" --options '--time-limit 0.5' \
    "$data"/*.problem 80% 40%
