# coreutils on a tree of 600 files: ls -lR, cp -a, du, chmod, touch, ln, mv, rm, stat, install, mktemp. Deterministic.
set -eu
umask 022
mkdir tree
for d in 0 1 2 3 4 5; do
	mkdir -p tree/d$d/sub$d/deep
	i=0
	while [ $i -lt 30 ]; do
		echo "file $i of $d" >tree/d$d/f$i
		: >tree/d$d/sub$d/deep/e$i
		i=$((i + 1))
	done
	ln -s ../d0/f1 tree/d$d/link
	ln tree/d$d/f1 tree/d$d/sub$d/hard
	mkfifo tree/d$d/fifo
done
find tree -exec touch -h -d '2021-03-04 05:06:07 UTC' {} +
chmod 751 tree/d1
chmod u+s,g-w,o= tree/d1/f2
touch -d '2020-01-01 UTC' -m tree/d2/f3
ls -lR --time-style=full-iso tree | sed 's/^total .*/total/'
cp -a tree copy
diff -r --no-dereference tree/d0/sub0 copy/d0/sub0 && echo copies are equal
[ "$(stat -c '%y %a %F' tree/d2/f3)" = "$(stat -c '%y %a %F' copy/d2/f3)" ] && echo times are kept
stat -c '%n %a %F %h %s %Y' copy/d1/f2 copy/d1/link copy/d1/fifo
du -s --apparent-size -B1 tree/d0/sub0/deep | cut -f2
find copy -type f | sort | xargs sha256sum | sha256sum
mv copy/d3 copy/moved
cp -r --preserve=links copy/moved copy/again
install -m 640 -D copy/d0/f0 new/place/f0
stat -c '%a %s' new/place/f0
rm -r copy/d4
rmdir copy/again 2>/dev/null || echo not empty
ls -1 --color=always copy
ls -i tree/d0/f1 tree/d0/sub0/hard | awk '{ print $1 }' | uniq | wc -l
t=$(mktemp -d)
[ -d "$t" ] && rmdir "$t" && echo made and removed a directory
realpath --relative-to=tree tree/d0/link
readlink tree/d0/link
basename /a/b/c.txt .txt
dirname /a/b/c.txt
rm -rf tree copy new
ls | wc -l
