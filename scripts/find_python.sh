#!/bin/sh
# Print the first Python between the oldest and the newest wanted: find_python.sh 3.11 3.13
oldest=$1
newest=$2
check="import sys
parse = lambda version: tuple(map(int, version.split('.')))
sys.exit(not parse('$oldest') <= sys.version_info[:2] <= parse('$newest'))"
for candidate in $PYTHON python3 python python3.13 python3.12 python3.11; do
  if "$candidate" -c "$check" >/dev/null 2>&1; then
    command -v "$candidate"
    exit 0
  fi
done
echo "Python $oldest to $newest is needed and was not found: install one, or name it with PYTHON=..." >&2
exit 1
