#: record debug_access
# A called function spoils memory and crashes: nothing of it stays, wherever the call was made.
target remote localhost:{port}
catch syscall write
continue
#= call to syscall write
#state in_call
call spoil()
#= SIGSEGV
print calls
#= = 99
reverse-stepi
print calls
#= = 3
#state
delete
continue
#= No more reverse-execution history
#state end
call spoil()
#= SIGSEGV
reverse-stepi
print calls
#= = 3
#state
reverse-continue
#= No more reverse-execution history
continue
print calls
#= = 3
#same end
# between two events
monitor hermit goto {event:set_tid_address}
maintenance flush register-cache
maintenance flush dcache
#state between
call spoil()
#= SIGSEGV
print calls
#= = 99
reverse-stepi
print calls
#= = 0
stepi
#same between
# from the end of a computation to its beginning
monitor hermit goto {event:set_tid_address}!
#= position {event:set_tid_address}!
monitor hermit goto {event:set_tid_address}
#= position {event:set_tid_address}$
