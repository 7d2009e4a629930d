# vim on a terminal of script(1), keys fed through it: what the screen got is replayed. The screen's bytes are the output.
set -eu
command -v script >/dev/null
seq 1 30 >f
export TERM=xterm
(
	sleep 0.5
	printf 'dd'
	sleep 0.1
	printf 'Otyped here\033'
	sleep 0.1
	printf ':%%s/2/two/g\r'
	sleep 0.1
	printf ':wq\r'
) | script -q -c 'stty rows 24 cols 80; vim -u NONE -i NONE -n f' typescript.log
head -n 5 f
