#: record debug_corrupt
#: status any
#: flags -O0,-O2
# A record was spoilt; who did it, and what was it before?
target remote localhost:{port}
continue
#= SIGABRT
backtrace
#= abort.*
frame function main
#state
print/x records[checking].magic
#= = 0x4d414700
set $victim = &records[checking]
# the memory is not there yet where the search begins
eval "monitor hermit arm last-write %lu 4", (unsigned long)&$victim->magic
reverse-continue
backtrace
#= rename_record
#state
continue
#= SIGABRT
frame function main
watch -location $victim->magic
#= [Ww]atchpoint 1
reverse-continue
#= Old value = 1296123648
#= New value = 1296123721
print/x $victim->magic
#= = 0x4d414749
backtrace
#= rename_record
#state
print rounds_done
#= = 700
info line
#= {line:the culprit}
stepi
print/x $victim->magic
#= = 0x4d414700
reverse-stepi
print/x $victim->magic
#= = 0x4d414749
#same
continue
#= New value = 1296123648
delete
continue
#= SIGABRT
continue
#= No more reverse-execution history|exited|Program terminated
handle SIGABRT nostop noprint pass
reverse-continue
#= No more reverse-execution history
#state
