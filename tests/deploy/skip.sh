#!/usr/bin/env bash
# Sourced by the tests here. need COMMAND... ends the test as skipped if one is missing.
need() {
  local command
  for command in "$@"; do
    if ! command -v "$command" >/dev/null; then
      echo "GLINT_SKIP_ALL: $command is not installed"
      exit 0
    fi
  done
}
