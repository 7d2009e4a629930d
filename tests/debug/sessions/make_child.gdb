#: record debug_make
#: options -p gcc
#: needs make gcc
# And this one a child that make started.
target remote localhost:{port}
break execve
break vfork
break posix_spawn
continue
#= Breakpoint|No more
#state
delete
continue
#= No more reverse-execution history|exited
#state
reverse-continue
#= No more reverse-execution history
#state
