#: record debug_conditions {300|5000}
#: timeout 120
# Conditions as gdb compiles them, of arguments and of memory that they lead to; in threads, in handlers, backwards.
target remote localhost:{port}
break visit if i == 2150 && total != 0
continue
#= visit \(p=.*, i=2150\)
#state
next
#state
delete
break visit if p && p->value == 1 && i > 1000000 && i < 1000100
continue
#= visit \(p=.*, i=1000001\)
print ticks
#= = 1
#state
up
#= on_alarm|signal handler
continue
#= i=1000002\)
reverse-continue
#= i=1000001\)
#state
delete
# several at one place: one of them is enough
break visit if i == 4000007
break visit if i == 4000003
continue
#= i=4000003\)
continue
#= i=4000007\)
delete
# an item that is no address
break visit if p->value == 100
reverse-continue
#= visit \(p=0x0, i=
delete
break visit if i == 123456789
reverse-continue
#= No more reverse-execution history
continue
#= No more reverse-execution history|exited
