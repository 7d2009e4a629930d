# sed and awk: addresses, hold space, in-place edits, fields, arrays, functions, pipes and getline from awk. Deterministic.
set -eu
seq 1 1000 | sed -n '10,20p;/9[05]$/p' | paste -s -d' '
printf 'one\ntwo\nthree\n' | sed 'G;h;$!d'
printf 'a=1\nb=2\n' >conf
sed -i.bak -e 's/\([a-z]\)=\([0-9]\)/\2=\1/' -e '$a c=3' conf
cat conf conf.bak
sed -n '/^1/w out1
/^2/w out2' conf
cat out1 out2
sed 's/./&&/2g;y/abc/xyz/' conf
printf 'x y z\nu v w\n' | awk '{ t = $1; $1 = $3; $3 = t; print NR, NF, $0 }'
seq 1 50000 | awk '{ s += $1; if ($1 % 2) odd++ } END { print s, odd, sqrt(s), int(s / 7) }'
awk 'function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } BEGIN { print f(18) }'
printf 'k1 5\nk2 7\nk1 6\n' | awk '{ a[$1] += $2 } END { for (k in a) print k, a[k] | "sort"; close("sort") }'
awk 'BEGIN { while (("seq 3" | getline line) > 0) print "got", line; close("seq 3"); system("echo from system"); printf "%5.2f|%-5s|%x\n", 3.14159, "ab", 255 }'
awk -F: '$3 == 0 { print $1, $7 }' /etc/passwd
awk 'BEGIN { srand(42); a = rand(); srand(42); print a == rand() }'
printf 'the cat\nthe dog\n' | awk '{ gsub(/the/, "a"); print toupper(substr($0, 1, 1)) substr($0, 2), length($0), index($0, "o") }'
awk 'BEGIN { print "to stderr" > "/dev/stderr"; print ENVIRON["TZ"]; exit 3 }' || echo "status $?"
