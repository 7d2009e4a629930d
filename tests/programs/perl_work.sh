# perl: files, hashes, regular expressions, fork and pipes, sockets, signals, sprintf, sort. Deterministic.
cat >t.pl <<'EOT'
use strict; use warnings; use Socket; use POSIX qw(:sys_wait_h); use Time::HiRes qw(usleep);
$| = 1;
my %h = map { $_ => $_ ** 2 } 1 .. 20;
print join(",", map { "$_=$h{$_}" } sort { $h{$b} <=> $h{$a} } keys %h), "\n";
open(my $f, ">", "data") or die; print $f "line $_\n" for 1 .. 1000; close $f;
open($f, "<", "data") or die; my $n = 0; while (<$f>) { $n += $1 if /(\d*5)$/ } print "$n at $.\n"; close $f;
(my $t = "The quick brown fox") =~ s/(\w+)/ucfirst(reverse lc $1)/ge; print "$t\n";
pipe(my $r, my $w); my $pid = fork();
if (!$pid) { close $r; print $w "from child $_\n" for 1 .. 3; close $w; POSIX::_exit(7) }
close $w; print while <$r>; waitpid($pid, 0); print "child ", $? >> 8, "\n";
print "backticks: ", `echo one; echo two`; open(my $p, "-|", "sort", "-r", "data") or die; my @l = <$p>; print $l[0]; close $p;
print "pclose $?\n";
local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; Time::HiRes::alarm(0.02); select(undef, undef, undef, 5) }; print "eval: $@";
my $reaped = 0; local $SIG{CHLD} = sub { while ((my $k = waitpid(-1, WNOHANG)) > 0) { print "reaped ", $? >> 8, "\n"; $reaped++ } };
for my $i (1 .. 3) { my $k = fork(); if (!$k) { usleep(1000 * $i); POSIX::_exit($i) } select(undef, undef, undef, 0.1) while $reaped < $i }
$SIG{CHLD} = 'DEFAULT';
socketpair(my $s1, my $s2, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die; syswrite $s1, "socket"; sysread $s2, my $buf, 100; print "$buf\n";
printf "%s %05.1f %x %e %b\n", "fmt", 3.14159, 255, 12345.678, 10;
print join(" ", (sort { $a <=> $b } map { ($_ * 7919) % 1009 } 1 .. 500)[0 .. 5]), "\n";
srand(5); my @s = map { int(rand(100)) } 1 .. 5; srand(5); print "same\n" if "@s" eq join(" ", map { int(rand(100)) } 1 .. 5);
opendir(my $d, ".") or die; print join(" ", sort grep { !/^\./ } readdir $d), "\n"; print "tz $ENV{TZ}\n"; exit 4;
EOT
perl t.pl
echo "status $?"
perl -ne 'print if 3 .. 4' data
perl -pi -e 's/line/LINE/' data && head -n 1 data
perl -e 'kill 9, $$' || echo "killed $?"
