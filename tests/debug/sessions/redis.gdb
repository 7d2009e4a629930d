#: record redis_both
#: options -p {pid:redis-server}
#: needs redis-server
#: timeout 300
# A server and its clients in one recording.
target remote localhost:{port}
break epoll_wait
continue
#= Breakpoint 1[.0-9]*, .*epoll_wait
continue 20
#= Breakpoint 1[.0-9]*, .*epoll_wait
#state
delete
break write
continue
#= write
#state
backtrace 2
#= #1
reverse-continue
delete
break accept
break accept4
continue
#= accept
#state
finish
print (int) $rax > 0
#= = 1
reverse-continue
#= accept
reverse-continue
delete
continue
#= No more reverse-execution history|exited
#state
reverse-continue
#= No more reverse-execution history
#state
