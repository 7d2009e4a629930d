#: record debug_conditions {300|5000}
#: timeout 120
# Stops at calls, while conditions stand in the guest: it goes out of their trampolines where it is, and the call comes again.
target remote localhost:{port}
catch syscall getpid
break visit if i == 123456789
continue
#= call to syscall getpid
print $orig_rax
#= = 39
#state
continue
#= returned from syscall getpid
#state
tbreak visit if i == {1499|24999}
continue
#= visit \(p=.*, i={1499|24999}\)|call to syscall getpid
#state
continue
#= getpid
continue
#= getpid
#state
reverse-continue
#= getpid
reverse-continue
#= getpid
#state
delete
break visit if i == 123456789
continue
#state
continue
#= exited|No more reverse
#state
reverse-continue
#= No more reverse-execution history
