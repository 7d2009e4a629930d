#: record go_work
#: needs go
#: timeout 300
# Goroutines on several threads, preempted by signals.
target remote localhost:{port}
handle SIGURG nostop noprint pass
break main.spin
continue
#= Breakpoint 1[.0-9]*, main\.spin
backtrace 2
#= main\.
#state
info threads
#= Thread
continue 2
#= Breakpoint 1[.0-9]*, .*main\.spin
reverse-continue 2
#= Breakpoint 1[.0-9]*, .*main\.spin
#state
break main.main
reverse-continue
#= Breakpoint 2[.0-9]*, .*main\.main
#state
next
reverse-next
#= main
delete
continue
#= No more reverse-execution history|exited
reverse-continue
#= No more reverse-execution history
#state
