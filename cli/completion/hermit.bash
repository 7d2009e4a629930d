# bash completion for hermit(1). What may follow is asked from hermit itself ('hermit complete'), so options never go stale.

_hermit_ids()
{
	# ids and labels; hermit finds the store by --data-dir of the line, or by its default
	local dir=()
	local i
	for ((i = 1; i < ${#words[@]}; i++)); do
		case ${words[i]} in
		--data-dir=*) dir=("${words[i]}") ;;
		--data-dir) dir=("--data-dir=${words[i + 1]}") ;;
		esac
	done
	"${words[0]}" record list "${dir[@]}" 2>/dev/null | while read -r id rest; do
		printf '%s\n' "$id"
		[[ $rest =~ \ \[([^]\ ]+)\]\  ]] && printf '%s\n' "${BASH_REMATCH[1]}"
	done
}

_hermit()
{
	local cur prev words cword
	_get_comp_words_by_ref -n =: cur prev words cword 2>/dev/null || return

	# behind "--" stands a command line of its own
	local i
	for ((i = 1; i < cword; i++)); do
		if [[ ${words[i]} == -- ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			fi
			return
		fi
	done

	local typed=$cur before=("${words[@]:1:cword-1}") prefix=
	if [[ $cur == --*=* ]]; then
		prefix=${cur%%=*}
		typed=${cur#*=}
		before+=("$prefix")
	fi

	local kind what candidates=()
	while read -r kind what; do
		case $kind in
		command | choice) candidates+=("$what") ;;
		option) [[ $typed == -* ]] && candidates+=("$what") ;;
		value | argument)
			case $what in
			file) COMPREPLY+=($(compgen -f -- "$typed")) ;;
			dir) COMPREPLY+=($(compgen -d -- "$typed")) ;;
			program) COMPREPLY+=($(compgen -c -- "$typed")) ;;
			id) [[ $typed == -* ]] || candidates+=($(_hermit_ids)) ;;
			command) candidates+=($("${words[0]}" complete | sed -n 's/^command //p')) ;;
			esac
			;;
		esac
	done < <("${words[0]}" complete -- "${before[@]}" 2>/dev/null)
	COMPREPLY+=($(compgen -W "${candidates[*]}" -- "$typed"))
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == --*= ]] && compopt -o nospace
} && complete -F _hermit hermit
