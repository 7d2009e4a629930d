#: record debug_fork
#: options -p {pid:debug_fork}
# Over fork, wait and spawn, both ways.
target remote localhost:{port}
break {line:the fork}
continue
#at :{line:the fork}\b|\s{line:the fork}\s
#state
print before
#= = 1
next
next
#at {line:after = 2}
#state
print pid > 0
#= = 1
print after
#= = 0
reverse-next
#at {line:pid == 0}|{line:the fork}
reverse-continue
#at {line:the fork}
#same
tbreak {line:the spawn}
continue
#at {line:the spawn}
print statuses
#= = 7
print before
#= = 1
next
#state
reverse-next
#at {line:the spawn}
tbreak {line:all done}
continue
print statuses
#= = 17
reverse-continue
#at {line:the fork}
