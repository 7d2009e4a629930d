# make with several jobs: a compiler, shells and their children. For tests/debug/sessions. Deterministic.
set -eu
for name in a b c; do echo "int $name(void) { return 1; }" >$name.c; done
cat >Makefile <<'EOT'
all: a.o b.o c.o
	cat a.o b.o c.o | wc -c >sizes
%.o: %.c
	gcc -O1 -c $< -o $@
EOT
make -s -j3
test -s sizes && echo made
