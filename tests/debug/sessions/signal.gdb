#: record debug_signal
#: flags -O0,-O2
# Out of the handlers of signals, backwards.
target remote localhost:{port}
handle SIGUSR1 SIGALRM SIGSEGV nostop noprint pass
break *handler
continue
#= Breakpoint 1[.0-9]*, handler
#state
backtrace
#= signal handler called
#= raise
reverse-finish
backtrace
#! handler \(signo
continue
#= Breakpoint 1[.0-9]*, handler
#same
continue
#= Breakpoint 1[.0-9]*, handler
backtrace
#= signal handler called
#= compute|main
print handled
#= = 1
#state
finish
print handled
#= = 2
reverse-continue
#= Breakpoint 1[.0-9]*, handler
#same
reverse-stepi
backtrace 1
#! handler \(signo
#state
handle SIGSEGV stop print
delete
continue
#= SIGSEGV
print handled
#= = 2
#state
reverse-stepi
#= the fault|sigsetjmp
stepi
continue
#= SIGSEGV
break fault
continue
#= Breakpoint 2[.0-9]*, fault
reverse-continue
#= SIGSEGV
reverse-continue
#= No more reverse-execution history
