#: record debug_longjmp
#: flags -O0,-O2
# Over longjmp, both ways.
target remote localhost:{port}
break {line:the jump}
continue
#at {line:the jump}
print depth
#= = 5
backtrace
#= deeper \(n=5\)
#state
tbreak {line:landed}
continue
#at {line:landed}
#state
print jumps
#= = 0
reverse-continue
#at {line:the jump}
#state
delete
break main
reverse-continue
#= Breakpoint 3[.0-9]*, main
#state
tbreak {line:all done}
continue
print jumps
#= = 3
watch jumps
reverse-continue
#= Old value = 3
#= New value = 2
reverse-continue
#= Old value = 2
#= New value = 1
#state
