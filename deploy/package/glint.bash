# shellcheck shell=bash
# Completion of glint and glint-server for bash. What there is to complete comes from the programs' own help texts.
_glint() {
  local cur prev help words_of='s/^ *\(-[a-z], \)\?\(--[a-z-]*\).*/\2/p'
  cur=${COMP_WORDS[COMP_CWORD]}
  prev=${COMP_WORDS[COMP_CWORD - 1]}
  local program=${COMP_WORDS[0]} command=
  if [[ $(basename "$program") == glint ]]; then
    if ((COMP_CWORD == 1)); then
      help=$("$program" --help 2>/dev/null | sed -n '/^Commands$/,/^$/s/^  \([a-z-]*\) .*/\1/p')
      mapfile -t COMPREPLY < <(compgen -W "$help --help --version" -- "$cur")
      return
    fi
    command=${COMP_WORDS[1]}
  fi
  help=$("$program" ${command:+"$command"} --help 2>/dev/null)
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n "$words_of" <<<"$help") --help" -- "$cur")
    return
  fi
  # A value: one of the choices that the help text lists, "--name=a|b" or "--name a|b", else a file.
  local choices
  choices=$(sed -n "s/^ *\(-[a-z], \)\?${prev}[= ]\([a-z0-9_]*|[a-z0-9_|]*\).*/\2/p" <<<"$help")
  if [[ $prev == --* && -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${choices//|/ }" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -F _glint glint glint-server
