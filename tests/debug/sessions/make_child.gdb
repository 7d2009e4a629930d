#: record debug_make
#: options -p {pid:cc1}
#: needs make gcc
#: timeout 300
# And this one a child that make started.
target remote localhost:{port}
break write
continue
#= Breakpoint 1[.0-9]*, .*write
#state
info sharedlibrary
#= libc
reverse-stepi
reverse-stepi
stepi
stepi
#= write
#same
delete
continue
#= No more reverse-execution history|exited
#state
reverse-continue
#= No more reverse-execution history
#state
