# tar with gzip, xz, zstd and bzip2; cpio-free; zip and unzip; round trips compared. Deterministic.
set -eu
mkdir -p in/sub
seq 1 20000 >in/numbers
head -c 300000 /dev/zero >in/zeros
printf 'text\n' >in/sub/text
ln -s numbers in/link
chmod 640 in/sub/text
find in -exec touch -h -d '2022-02-02 02:02:02 UTC' {} +
TAR="tar --sort=name --owner=user:1000 --group=group:1000 --numeric-owner"
$TAR -cf plain.tar in
sha256sum plain.tar
tar -tvf plain.tar
for z in gzip xz zstd bzip2; do
	command -v $z >/dev/null || continue
	$TAR -c in | $z -c >a.$z
	mkdir out
	$z -dc a.$z | tar -xf - -C out
	diff -r --no-dereference in out/in && echo "$z by pipe"
	rm -r out
	tar --use-compress-program=$z -cf b.$z in
	mkdir out
	tar --use-compress-program=$z -xf b.$z -C out
	diff -r --no-dereference in out/in && echo "$z by tar"
	rm -r out
done
gzip -n -9 -k in/numbers && gzip -t in/numbers.gz && sha1sum in/numbers.gz
xz -T2 -k in/numbers && xz -l in/numbers.xz | wc -l
printf more >>in/sub/text
tar -uf plain.tar in && tar -tf plain.tar | wc -l
tar -xOf plain.tar in/sub/text | tail -n 1
if command -v zip >/dev/null && command -v unzip >/dev/null; then
	zip -qr a.zip in
	unzip -qo a.zip -d unzipped
	diff -r in unzipped/in && echo zip
fi
