# A bar on a terminal alone, lines elsewhere, nothing when quiet; colours unless NO_COLOR; and what
# signals do.
# shellcheck shell=bash disable=SC1091,SC2034
. "$SOURCE_DIR/tests/support/cli.sh"
train=(train mlp --data synthetic -b 64 --max-updates 8 --log-interval 2)

# Not a terminal: lines, and no control characters.
neap "${train[@]}"
expect 0 'epoch 1/1 update'
expect_out 'epoch 1/1' 'done: 8 updates' 'peak planned'
grep -q "$(printf '[\r\033]')" out err && failed 'control characters in a log'
neap "${train[@]}" -q
expect 0
expect_out 'done: 8 updates'
[ -s err ] && failed 'quiet is not silent'

# on_terminal COLUMNS COMMAND...: what the command writes to a terminal of that width, into out.
on_terminal() {
    last="on a terminal of $1 columns: ${*:2}"
    : >err
    python3 - "$@" >out <<'PYTHON'
import fcntl, os, pty, struct, sys, termios
columns, command = int(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.environ['TERM'] = 'xterm'
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('4H', 24, columns, 0, 0))
    os.execv(command[0], command)
try:
    while data := os.read(fd, 65536):
        sys.stdout.buffer.write(data)
except OSError:  # the terminal's other end is closed
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
    code=$?
}

on_terminal 100 "$NEAP" "${train[@]}"
expect 0
expect_out '[#' 'done: 8 updates'
grep -q "$(printf '\r')epoch 1/1 \[" out || failed 'no bar'
grep -q "$(printf '\033')\[3" out && failed 'colours in spite of NO_COLOR'
# Drawn on one line: no frame is wider than the terminal.
for columns in 30 60 100; do
    on_terminal "$columns" "$NEAP" "${train[@]}"
    expect 0
    check "
import re
text = open('out', 'rb').read().decode()
frames = [frame for frame in re.findall(r'\r([^\r\n]*)\033\[K', text) if frame]
assert frames and all(len(frame) < $columns for frame in frames), frames"
done
NO_COLOR='' on_terminal 100 "$NEAP" "${train[@]}"
expect 0
grep -q "$(printf '\033')\[32m" out || failed 'no colours'
on_terminal 100 "$NEAP" "${train[@]}" -q
expect 0
grep -q '\[#' out && failed 'a bar in spite of -q'
on_terminal 100 "$NEAP" nonsense
expect 2
expect_out 'neap: error: unknown command'

# A signal ends the run after its update, with the shell's exit code for it and one line.
interrupted() {
    last="train, sent $1"
    set -- "$1" "$NEAP" train mlp --data synthetic --epochs 1000000 --log-interval 1
    python3 - "$@" >out 2>err <<'PYTHON'
import signal, subprocess, sys
run = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
for line in run.stderr:
    if b' update ' in line:
        break
run.send_signal(getattr(signal, sys.argv[1]))
sys.stderr.buffer.write(run.communicate(timeout=60)[1])
sys.exit(run.returncode if run.returncode >= 0 else 100)
PYTHON
    code=$?
}
interrupted SIGINT
expect 130
interrupted SIGTERM
expect 143
finish
