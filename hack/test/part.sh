#!/usr/bin/env bash
# Prints a pattern for -run: the tests of a folder that another pattern does not match, and of these, one of several parts.
# Usage: part.sh FOLDER PATTERN [PART]; PART is for example 2/3, and without it, all are printed.
set -euo pipefail
part=${3:-1/1}
[[ $part =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] && ((BASH_REMATCH[1] <= BASH_REMATCH[2])) || { echo "PART=$part: write the second of three parts as 2/3" >&2; exit 2; }
names=$(grep -ho '^func Test[A-Za-z0-9]*' "$1"/*_test.go | cut -c6- | grep -vE "$2|^TestMain$" | sort |
	awk -v n="${BASH_REMATCH[1]}" -v of="${BASH_REMATCH[2]}" 'NR % of == n % of' | paste -sd'|')
# No dollar: make would expand it.
echo "^($names)\b"
