# make -j2 of a small C project with the compiler that is named, then its program run, a change rebuilt, a failure. Deterministic.
set -eu
cc=$1
mkdir -p src
for i in 1 2 3 4 5 6; do
	cat >src/part$i.c <<-EOT
	#include <stdio.h>
	#include <math.h>
	#include "all.h"
	int part$i(int n) { printf("part$i %d %.3f\n", n, sqrt(n)); return n * $i; }
	EOT
done
cat >src/all.h <<EOT
int part1(int), part2(int), part3(int), part4(int), part5(int), part6(int);
EOT
cat >src/main.c <<EOT
#include <stdio.h>
#include "all.h"
int main(int argc, char **argv)
{
	int n = argc + (argv[0][0] == 0);
	n += part1(n) + part2(n) + part3(n) + part4(n) + part5(n) + part6(n);
	printf("total %d\n", n);
	return n & 0x3f;
}
EOT
cat >Makefile <<EOT
objects = \$(patsubst src/%.c,%.o,\$(sort \$(wildcard src/*.c)))
prog: libparts.a main.o
	@$cc -o \$@ main.o libparts.a -lm
libparts.a: \$(filter part%,\$(objects))
	@ar rcD \$@ \$^
%.o: src/%.c src/all.h
	@$cc -O2 -g -Wall -c -o \$@ \$<
EOT
make -j2 prog
./prog a b || echo "status $?"
make prog
touch src/part3.c
make -j2 prog
ls *.o
nm libparts.a 2>/dev/null | grep -c ' T '
echo 'int broken( {' >src/part9.c
make -j2 -s prog 2>/dev/null || echo "make failed with $?"
