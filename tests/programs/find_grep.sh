# find and grep over a tree: predicates, -exec, -print0 with xargs -P, -r, -P, -z, counts, context. Deterministic.
set -eu
for d in a b c d e f; do
	mkdir -p src/$d
	i=0
	while [ $i -lt 40 ]; do
		printf 'int %s%d(void)\n{\n\treturn %d; /* needle%d */\n}\n' $d $i $i $((i % 7)) >src/$d/$i.c
		i=$((i + 1))
	done
done
touch -d 2001-01-01 src/a/1.c # the clock of files is coarse
find src -name '*.c' -size -200c | wc -l
find src -type d | sort
find src -name '1?.c' -exec wc -c {} + | tail -n 1
find src -path '*/b/*' -newer src/a/1.c -o -name 3.c | sort | head -n 4
find src -name '*5.c' -delete
find src -name '*.c' -printf '%P %s %m\n' | sort | tail -n 3
find src -name '*.c' -print0 | sort -z | xargs -0 -n 20 -P 2 sh -c 'echo $#' x | sort | uniq -c
grep -r needle3 src | sort | head -n 3
grep -rc return src | sort | tail -n 2
grep -rlE 'return (7|1[12]);' src | sort
grep -rhoP 'needle\K\d' src | sort | uniq -c
grep -n -B1 -A1 needle src/a/1.c
grep -rL needle0 src | wc -l
grep -zc . src/c/2.c
grep -q nothing src/a/1.c || echo "status $?"
grep x src/missing 2>/dev/null || echo "status $?"
yes 'a line that is repeated' | head -n 200000 | grep -c repeated
