#: record /usr/bin/python3 -c "print(sorted(repr(i) for i in range(50))[:3]); import json; print(json.dumps({'a': [1, 2.5, None]}))"
#: needs /usr/bin/python3
#: timeout 300
#: record-options -e LD_BIND_NOW=1
# Bound at once: what lazy binding saves by xsavec is not the same in each run on machines without cpuid faulting (README, Limits).
# An interpreter: no debug information is needed for functions that programs can link with.
target remote localhost:{port}
break PyUnicode_New
continue
#= Breakpoint 1[.0-9]*, .*PyUnicode_New
continue 20
#= Breakpoint 1[.0-9]*, .*PyUnicode_New
#state
backtrace 3
#= #1
reverse-continue 3
#= Breakpoint 1[.0-9]*, .*PyUnicode_New
#state
continue 3
#= Breakpoint 1[.0-9]*, .*PyUnicode_New
reverse-stepi
reverse-stepi
stepi
stepi
#= PyUnicode_New
delete
break write
continue
#= write
finish
#state
reverse-continue
#= write
delete
continue
#= No more reverse-execution history|exited
reverse-continue
#= No more reverse-execution history
#state
