# bash: pipelines, traps, subshells, jobs, coprocesses, process substitution, arrays, wait -n, here documents. Deterministic.
cat >script <<'BASH'
set -u
trap 'echo exit trap $?' EXIT
trap 'echo got USR1' USR1
kill -USR1 $$
false | true | (exit 3) | cat
echo "${PIPESTATUS[@]}"
set -o pipefail
false | true
echo "pipefail $?"
(trap 'echo subshell exit' EXIT; cd /; pwd; exit 4)
echo "subshell $? $PWD" | sed "s|$PWD|here|"
x=$(echo one; echo two; exit 7)
echo "$? $x"
a=(5 3 9 1)
a+=(7)
echo "${#a[@]} ${a[*]:1:2} ${!a[@]}"
declare -A m=([k]=v [l]=w)
echo "${m[k]} ${#m[@]}"
while read -r l; do a+=("$l"); done < <(seq 3)
echo "${a[@]}"
diff <(printf '1\n2\n') <(printf '1\n3\n')
coproc { while read -r q; do echo "answer to $q"; done; }
echo question >&"${COPROC[1]}"
read -r r <&"${COPROC[0]}"
echo "$r"
pid=$COPROC_PID
exec {COPROC[1]}>&-
wait "$pid"
echo "coprocess $?"
sleep 1 &
slow=$!
(exit 9) &
fast=$!
wait -n "$slow" "$fast"
echo "first finished with $?"
wait "$slow"
echo "then $?"
for i in 1 2 3 4; do (sleep 0.0$i; exit $i) & pids[$i]=$!; done
for i in 1 2 3 4; do wait "${pids[$i]}"; echo "job $i: $?"; done
sleep 100 &
until read -r comm </proc/$!/comm && [ "$comm" = sleep ]; do sleep 0.01; done
kill $!
wait $! 2>/dev/null
echo "killed $?"
cat <<EOT
here $((6 * 7)) ${x%%o*} ${HOME:+home} $(printf '%03d' 5)
EOT
exec 5>file
echo to file >&5
exec 5>&-
cat file
[[ abc123 =~ ^([a-z]+)([0-9]+)$ ]] && echo "${BASH_REMATCH[2]}"
read -r -t 0.1 nothing < <(sleep 1) || echo "time out $(($? > 128))"
set -m
(sleep 0.1; exit 6) &
fg %% >/dev/null
echo "foreground $?"
set +m
f() { local v=inner; return 5; }
f
echo "function $?"
case abc in a*) echo case ;; esac
printf '%s\n' {a..c}{1..2} | paste -s
mapfile -t lines < <(seq 100)
echo ${#lines[@]}
(ulimit -n 20; ulimit -n)
bash -c 'kill -9 $$' 2>/dev/null
echo "killed by $?"
(bash -c 'exit 300')
echo "wrapped $?"
exit 11
BASH
exec bash script 2>/dev/null # messages of jobs hold pids
