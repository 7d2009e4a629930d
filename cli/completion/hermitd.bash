# bash completion for hermitd(8). Its options are asked from its help, so they never go stale.

_hermitd()
{
	local cur prev words cword
	_get_comp_words_by_ref -n =: cur prev words cword 2>/dev/null || return

	case $prev in
	-c | --config | --token-file) COMPREPLY=($(compgen -f -- "$cur")) ;;
	--data-dir) COMPREPLY=($(compgen -d -- "$cur")) ;;
	-l | --log) COMPREPLY=($(compgen -W "off error warn info debug trace" -- "$cur")) ;;
	--listen) COMPREPLY=($(compgen -W "127.0.0.1:7777 unix:" -- "$cur")) ;;
	*) COMPREPLY=($(compgen -W "$("${words[0]}" --help 2>/dev/null | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p')" -- "$cur")) ;;
	esac
} && complete -F _hermitd hermitd
