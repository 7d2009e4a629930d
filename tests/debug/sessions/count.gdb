#: record debug_count {30000|1000000}
#: flags -O2
#: timeout 300
# A condition that is false very often.
target remote localhost:{port}
break tick if n == {29990|999990}
continue
#= Breakpoint 1[.0-9]*, tick \(n={29990|999990}\)
#state
info registers rdi
#= {29990|999990}
delete
break tick if n == 5
reverse-continue
#= Breakpoint 2[.0-9]*, tick \(n=5\)
#state
up
print i
#= = 5
reverse-continue
#= No more reverse-execution history
delete
break tick
continue
#= tick \(n=0\)
continue 10
#= tick \(n=10\)
reverse-continue 5
#= tick \(n=5\)
# a call of the function at whose first instruction it stands
print tick(77)
#= = void
info registers rdi
#= 5
#state
continue
#= tick \(n=6\)
# and by a thread that is in a system call
delete
continue
#= No more reverse-execution history
print tick(78)
#= = void
#state
continue
#= No more reverse-execution history
