# A .neap file through the command: before any pass has changed it, the graph is the file's.
. "$SOURCE_DIR/tests/support/cli.sh"

model=$SOURCE_DIR/tests/golden/model.neap
neap plan "$model" -b 8 --dump-after model --stop-after model
expect 0
cmp out "$model" || failed 'the stage "model" is not the file that was read'

neap plan "$model" -b 3 --dump-after model --stop-after model
expect 0
expect_out 'input images f32 3x1x28x28' 'relu1 = relu(bn1)  # f32 3x16x28x28'

sed 's/relu(bn1)/relu(bn2)/' "$model" >broken.neap
neap plan broken.neap -b 8
expect_error 3 "broken.neap:11:14: undefined value 'bn2'"

finish
