# bash completion for hermit-dap(1). Its options are asked from its help, so they never go stale.

_hermit_dap()
{
	local cur prev words cword
	_get_comp_words_by_ref -n =: cur prev words cword 2>/dev/null || return

	case $prev in
	--socket | --log-file) COMPREPLY=($(compgen -f -- "$cur")) ;;
	--data-dir) COMPREPLY=($(compgen -d -- "$cur")) ;;
	--gdb) COMPREPLY=($(compgen -c -- "$cur") $(compgen -f -- "$cur")) ;;
	-l | --log) COMPREPLY=($(compgen -W "off error warn info debug trace" -- "$cur")) ;;
	--port) COMPREPLY=() ;;
	*) COMPREPLY=($(compgen -W "$("${words[0]}" --help 2>/dev/null | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p')" -- "$cur")) ;;
	esac
} && complete -F _hermit_dap hermit-dap
