#: record debug_corrupt
#: status any
# The commands of hermit.gdb: every place is reached from every other, and is the same each time.
source {top}/gdbstub/hermit.gdb
target remote localhost:{port}
#state
tbreak main
continue
#= main
bookmark the-main
#state
goto-end
#= SIGABRT|No more reverse-execution history|abort|raise|kill
#state
goto-bookmark the-main
#= main
print rounds_done
#= = 0
goto-start
#state
goto-event 12
#state
goto-bookmark the-main
goto-end
frame function main
print rounds_done
#= = 2000
last-write rounds_done
print rounds_done
#= = 1999
#state
when
#= [0-9]
goto-start
continue
#= SIGABRT
recorded-output
#! not noticed
goto-time 0s
monitor hermit events
#= [0-9]
monitor hermit processes
#= debug_corrupt
monitor hermit where --json
#= "position"
goto-event 99999999999
when
#= [0-9]
