#: record debug_make
#: options -p make
#: needs make
# Many processes: this one is make.
target remote localhost:{port}
break vfork
break fork
break posix_spawn
break execve
continue
#= Breakpoint
#state
continue
#= Breakpoint
#state
reverse-continue
#= Breakpoint
delete
monitor hermit processes
#= make
continue
#= No more reverse-execution history|exited
#state
reverse-continue
#= No more reverse-execution history
#state
