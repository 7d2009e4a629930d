#: record debug_crash {10|3000}
#: status any
#: flags -O0, -O2
#: timeout {300|600}
# What made a computation crash after a long time?
target remote localhost:{port}
continue
#= SIGSEGV
#state
reverse-stepi
#! diverged
#state
stepi 2
#= SIGSEGV
#state
frame function sum
#= the crash
print n
#= = \(struct node \*\) 0x10
print list->next->value != 0
#= = 1
set $p = list
while $p->next != (struct node *) 0x10
set $p = $p->next
end
watch -location $p->next
reverse-continue
#= New value = \(struct node \*\) 0x[0-9a-f]{5,}
backtrace
#= spoil
#state
reverse-finish
#= main
print rounds
delete
continue
#= SIGSEGV
#state
handle SIGSEGV nostop noprint pass
reverse-continue
#= No more reverse-execution history
#state
continue
#= No more reverse-execution history
