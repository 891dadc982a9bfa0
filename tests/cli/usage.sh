# Commands, options and their values: what is taken, what is refused, and what is said about it.
# shellcheck shell=bash disable=SC1091,SC2034
. "$SOURCE_DIR/tests/support/cli.sh"

# Without a command there is help, on standard error.
neap
expect 2 'usage: neap' 'commands:'
neap help
expect 0
expect_out 'usage: neap' plan train eval verify inspect models datasets env help 'exit codes'
cp out overview
for word in --help -h; do
    neap "$word"
    expect 0
    cmp -s out overview || failed 'differs from neap help'
done
neap --version
expect 0
grep -qxE 'neap [0-9]+\.[0-9]+\.[0-9]+' out || failed 'no version'

# Each command has help, two ways, within 80 columns.
for command in plan train eval verify inspect models datasets env help; do
    neap help "$command"
    expect 0
    expect_out "usage: neap $command" '-h, --help'
    awk 'length > 80 && !/^Stages/ { bad = 1 } END { exit bad }' out ||
        failed 'wider than 80 columns'
    cp out by_help
    neap "$command" --help
    expect 0
    cmp -s out by_help || failed "differs from neap help $command"
done

# Unknown words name the nearest one.
neap plna
expect_error 2 "unknown command 'plna' (did you mean 'plan'?)"
neap xyzzy
expect_error 2 "unknown command 'xyzzy'"
grep -q 'did you mean' err && failed 'suggests something far off'
neap help trian
expect_error 2 "(did you mean 'train'?)"
neap plan mlp --grad-acum-steps 4
expect_error 2 "unknown option '--grad-acum-steps' (did you mean '--grad-accum-steps'?)"
neap train mlp --data synthetic --no-shufle
expect_error 2 "(did you mean '--no-shuffle'?)"
neap plan mlp -z
expect_error 2 "unknown option '-z'"
neap plan mlp --opt adm
expect_error 2 "'adm' is not one of sgd, adam, adamw, none (did you mean 'adam'?)"
neap plan mlp --dump-after no-such-stage
expect_error 2 "no stage 'no-such-stage'"
neap plan mpl
expect_error 3 "'mpl' is not a model (did you mean 'mlp'?)"

# Names are taken whole, in both spellings, and only where they have an effect.
neap plan mlp --grad-accum 4
expect_error 2 "unknown option '--grad-accum' (did you mean '--grad-accum-steps'?)"
neap plan mlp --epochs 3
expect_error 2 "'neap plan' does not take '--epochs', an option of train"
neap models -b 3
expect_error 2 "'neap models' does not take '-b'"
for spelling in '--batch 32' '--batch=32' '--batch-size 32' '-b 32' '-b32' '-b=32'; do
    # shellcheck disable=SC2086
    neap plan mlp --json $spelling
    expect 0
    expect_out '"batch": 32'
done
for spelling in '--opt adam' '--optimizer=adam'; do
    # shellcheck disable=SC2086
    neap plan mlp --json $spelling
    expect 0
    expect_out '"optimizer": "adam"'
done
neap plan --json -b 32 -- mlp
expect 0
neap plan --model mlp --json
expect 0
neap plan mlp --json=true
expect_error 2 "'--json' takes no value"
neap plan mlp -b 8 -b 16 --json --no-json
expect 0
expect_out 'batch 16'

# Arguments that lack or are too many.
neap plan
expect_error 2 'needs a MODEL'
neap plan mlp resnet20
expect_error 2 "unexpected argument 'resnet20'"
neap plan mlp --model resnet20
expect_error 2 'two models'
neap env now
expect_error 2 "unexpected argument 'now'"
neap train mlp
expect_error 2 "needs '--data"
neap eval mlp --data synthetic
expect_error 2 "needs '--weights"
neap plan mlp -b
expect_error 2 "'-b' needs a value"
neap plan mlp -b --json
expect_error 2 "'-b' needs a value"
neap --json plan mlp
expect_error 2 'options follow a command'

# Values.
for value in 0 -3 x 1.5 1e3 '' 99999999999999999999; do
    neap plan mlp -b "$value"
    expect_error 2 "option '-b': '$value' is not a whole number"
done
for value in nan inf 1x -1 2; do
    neap plan mlp --momentum "$value"
    expect_error 2 "option '--momentum': '$value' is not a number"
done
for value in 0 -1M 12Q 1..5G 0x10 nan 101% 99999999999999999999G; do
    neap plan mlp -m "$value"
    expect_error 2 "option '-m': '$value' is not a size"
done
for value in 0% min 12Q; do
    neap plan mlp --arena "$value"
    expect_error 2 "option '--arena': '$value' is not a size"
done
neap plan mlp --micro-batch few
expect_error 2 "'few' is not 'off', 'auto' or a whole number"
neap plan mlp --micro-batch 65
expect_error 2 'micro-batch 65 is not between 1 and the batch, 64'
for value in 0 -1 1.5 x '' 99999999999999999999; do
    neap plan mlp --grad-accum-steps "$value"
    expect_error 2 "option '--grad-accum-steps': '$value' is not a whole number of at least 1"
done
for value in 1:2 0:2,0:4 0:4,s5:2 0:0 0:4, 0:4:2 0:1.5; do
    neap plan mlp --grad-accum-steps "$value"
    expect_error 2 "accumulation '$value':" 'by epoch 0:8,4:4 and by update s0:8,s500:4'
done

# An option that would do nothing is an error.
idle() { # TEXT OPTIONS...
    local text=$1
    shift
    neap train mlp --data synthetic --dry-run "$@"
    expect_error 2 "$text"
}
idle 'adam has no use for --momentum' --opt adam --momentum 0.9
idle 'sgd has no use for --beta1' --beta1 0.9
idle 'sgd has no use for --eps' --eps 1e-8
idle 'nesterov needs sgd with momentum' --opt adamw --nesterov
idle 'nesterov needs sgd with momentum' --momentum 0 --nesterov
idle '--no-decay-norms: without --weight-decay' --no-decay-norms
idle '--sched constant has no use for --min-lr' --min-lr 0.001
idle '--sched step has no use for --min-lr' --sched step --decay-epochs 1 --epochs 2 --min-lr 0
idle '--sched cosine has no use for --decay-rate' --sched cosine --decay-rate 0.5
idle '--sched cosine has no use for --decay-epochs' --sched cosine --decay-epochs 1
idle '--sched onecycle has no use for --decay-milestones' --sched onecycle --decay-milestones 1
idle '--sched step needs --decay-epochs' --sched step
idle '--sched multistep needs --decay-milestones' --sched multistep
idle 'a step every 3 epochs: in 3 epochs there would be none' --sched step --decay-epochs 3 --epochs 3
idle "milestones '1,9': 9 is not above 1 and below the 3 epochs" \
    --sched multistep --decay-milestones 1,9 --epochs 3
idle "milestones '2,1'" --sched multistep --decay-milestones 2,1 --epochs 3
idle "milestones '1,': epochs in whole numbers" --sched multistep --decay-milestones 1, --epochs 3
idle '2 epochs of warm-up in a run of 1' --warmup-epochs 2
idle '--min-lr 1 is above --lr 0.05' --sched cosine --min-lr 1
idle 'the run ends with epoch 0' --grad-accum-steps 0:2,1:1
idle 'give one' --recompute none --recompute-layers relu1
neap plan mlp --label-smoothing 0.1
expect_error 2 "does not take '--label-smoothing', an option of train, verify"
neap plan mlp --precision bf17
expect_error 2 "'bf17' is not one of fp32, bf16, fp16"
neap verify mlp --precision bf16 --loss-scale dynamic
expect_error 2 '--loss-scale is for --precision fp16'
neap verify mlp --precision fp16 --loss-scale 0.5
expect_error 2 "--loss-scale '0.5' is not 'dynamic', 'dynamic:START' or a number"
neap plan mlp --precision fp16 --loss-scale 8
expect_error 2 "does not take '--loss-scale'"

# Sizes are binary unless they end in a decimal B.
while read -r text bytes; do
    neap plan mlp -m "$text" --json
    expect 0
    expect_out "\"budget_bytes\": $bytes,"
done <<'SIZES'
512M 536870912
512m 536870912
2G 2147483648
2GiB 2147483648
2GB 2000000000
1.5G 1610612736
536870912 536870912
SIZES
neap plan mlp -m 50%
expect 0 '50% of what is available is' 'bytes)'

# What the compiler did, stage by stage.
neap plan mlp -b 8 --explain
expect 0
expect_out 'strategy' 'linear'
neap plan mlp --explain --json
expect_error 2 "'--json' goes without '--explain'"

# What there is.
neap models
expect 0
expect_out mlp lenet5 resnet20 vgg11 resnet18
neap datasets
expect 0
expect_out fashion-mnist synthetic 'apt'
neap env
expect 0
expect_out ': '
neap inspect mlp
expect 0
expect_out 'linear' 'total' '669,706'
neap inspect resnet2
expect_error 3 "(did you mean 'resnet20'?)"
neap inspect ./no-such-file
expect_error 4 'no-such-file'
echo text >text.txt
neap inspect text.txt
expect_error 4 'text.txt'
neap inspect text.txt -b 3
expect_error 2 "'--batch' is for models"
finish
