#!/bin/sh
# manual-page.sh PAGE VERSION [EMULATOR...] PROGRAM: the program's help texts as a manual page.
set -eu
page=$1 version=$2
shift 2
for program; do :; done
name=$(basename "$program")

# Text as it stands: backslashes doubled, and no line that begins like a request.
verbatim() {
  printf '.nf\n'
  sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"
  printf '.fi\n'
}

case $name in
  glint-server) summary='feature-detection server' commands='' ;;
  glint-ros2) summary='node of ROS 2 in front of a Glint server' commands='' ;;
  *) summary='client of a Glint feature-detection server'
    commands=$("$@" --help | sed -n '/^Commands$/,/^$/s/^  \([a-z-]*\) .*/\1/p') ;;
esac

{
  printf '.TH %s 1 "" "Glint %s" "User Commands"\n' "$(echo "$name" | tr '[:lower:]' '[:upper:]')" "$version"
  printf '.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n' "$name" "$summary"
  "$@" --help | verbatim
  for command in $commands; do
    printf '.SH %s %s\n' "$(echo "$name" | tr '[:lower:]' '[:upper:]')" "$(echo "$command" | tr '[:lower:]' '[:upper:]')"
    "$@" "$command" --help | verbatim
  done
  printf '.SH SEE ALSO\n'
  if [ "$name" = glint ]; then printf '.BR glint\\-server (1)\n'; else printf '.BR glint (1)\n'; fi
} >"$page"
