#!/bin/sh
# Says in one line each what is missing to work on takeback, and the Debian package that has it.
# Usage: scripts/prerequisites.sh [PYTHON]; exit status 1 if anything is missing.
set -u

python=${1:-python3}
missing=0

miss() {
    printf 'missing: %s (Debian: apt install %s)\n' "$1" "$2" >&2
    missing=1
}

if ! command -v "$python" >/dev/null 2>&1; then
    miss "$python, 3.11 or later" python3
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    miss "python 3.11 or later; $python is $("$python" -V 2>&1), another is taken by PYTHON=..." python3
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    miss "the venv module of $python" python3-venv
fi

# 2.39 is the oldest git that takeback itself runs on.
if ! command -v git >/dev/null 2>&1; then
    miss "git, 2.39 or later" git
else
    version=$(git version | sed 's/[^0-9]*\([0-9]*\)\.\([0-9]*\).*/\1 \2/')
    major=${version% *}
    minor=${version#* }
    if [ "$major" -lt 2 ] || { [ "$major" -eq 2 ] && [ "$minor" -lt 39 ]; }; then
        miss "git 2.39 or later; this is $major.$minor" git
    fi
fi

command -v make >/dev/null 2>&1 || miss "make" make

exit "$missing"
