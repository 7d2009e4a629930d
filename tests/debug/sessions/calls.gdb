#: record debug_fork
#: options -p {pid:debug_fork}
# System calls as stops, both ways.
target remote localhost:{port}
catch syscall write
catch syscall wait4
continue
#= call to syscall wait4
#state
continue
#= returned from syscall wait4
#state
continue
#= call to syscall wait4
continue
#= returned from syscall wait4
print $rax > 0
#= = 1
continue
#= call to syscall write
#state
reverse-continue
#= syscall wait4
#state
reverse-continue
#= syscall wait4
reverse-continue
#= syscall wait4
reverse-continue
#= syscall wait4
#state
