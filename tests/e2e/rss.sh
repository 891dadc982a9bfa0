# A training process takes no more memory than was planned, and 64 MiB for its code and libraries.
# shellcheck shell=bash
set -u
if [ -n "${NEAP_SANITIZE:-}" ]; then
    echo "a sanitizer takes memory of its own"
    exit 77
fi
if [ ! -x /usr/bin/time ]; then
    echo "GNU time is missing: apt-get install time"
    exit 77
fi
for options in "" "--arena 50%"; do
    NEAP_OPTIONS=$options bash "$SOURCE_DIR/bench/rss.sh" resnet18 64 || exit 1
done
