# Small tools: diff, patch, cmp, bc, jq, file, ed, m4, less, xargs, expect-free; each with its exit status. Deterministic.
set -u
seq 1 20 >a
sed 's/^5$/five/;7d;$a 21' a >b
diff -u --label a --label b a b >p
echo "diff $?"
cat p
patch -o c a p && cmp b c && echo patched
cmp a b || echo "cmp $?"
have() { command -v "$1" >/dev/null; }
have bc && echo '2^100; scale=20; 1/7; sqrt(2)' | bc
have jq && echo '{"a": [1, 2, {"b": 3}]}' | jq -c '.a[2].b, (.a | length), keys'
have file && file -b a
have ed && printf '3,5d\nw\nq\n' | ed -s b && wc -l <b
have m4 && echo 'define(x, $1 and $1)x(again)' | m4
have less && seq 3 | less
seq 1 10 | xargs -n 3 echo
echo "a b" | xargs -I{} sh -c 'exit 3'
echo "xargs $?"
printf 'x\n' | timeout 5 cat
getent passwd root | cut -d: -f1,3
getconf PAGESIZE
locale -a >/dev/null && echo locale
tput -T xterm cols 2>/dev/null || echo no tput
python3 -c 'pass' 2>/dev/null && echo python
exit 0
