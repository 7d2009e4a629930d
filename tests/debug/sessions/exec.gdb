#: record debug_exec
# A process that becomes another program: the session begins in the last one.
target remote localhost:{port}
break second
continue
#= Breakpoint 1[.0-9]*, second
#state second
next
next
print generation
#= = 2
reverse-continue
#= Breakpoint 1[.0-9]*, second
#same second
delete
break {line:the first program}
reverse-continue
print generation
#= = 0
#state
backtrace
#= main
delete
tbreak second
continue
#= second
#state
