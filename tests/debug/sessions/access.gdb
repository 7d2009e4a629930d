#: record debug_access
# A return reads its address: going back from right before it comes to what was before.
target remote localhost:{port}
break callee if calls == 1
continue
#= Breakpoint 1[.0-9]*, .*callee
set $slot = $rsp
delete
awatch *(long *) $slot
continue
#= Hardware access
print /x $pc == &callee_ret + 1 || calls
#= = 0x1
#state
reverse-continue
#= Hardware access
print $pc == (long) &callee_ret
#= = 1
#state before
# the call's push
reverse-continue
#= Hardware access
print calls
#= = 1
print $pc == (long) &callee_ret
#= = 0
#state
reverse-continue
print calls
#= = 1
print $pc == (long) &callee_ret
#= = 1
#state
reverse-continue
reverse-continue
print calls
#= = 0
print $pc == (long) &callee_ret
#= = 0
#state
