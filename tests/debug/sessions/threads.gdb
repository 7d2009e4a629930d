#: record debug_threads {16|64}
#: timeout 300
#: flags -O0,-O2
# Births and deaths of threads, both ways.
target remote localhost:{port}
tbreak main
continue
info threads
#! Thread .*\n.*Thread
#state
break {line:all born}
continue
python print("threads", len(gdb.selected_inferior().threads()))
print born <= {16|64}
#= = 1
break {line:under the lock}
continue
#= \[Switching|worker|hit Breakpoint
python print("threads", len(gdb.selected_inferior().threads()))
#= threads {17|65}$
info threads
#= worker-{15|63}
#state
print born
#= = {16|64}
thread apply all -q print $pc != 0
#! = 0
delete
break {line:all dead}
continue
python print("threads", len(gdb.selected_inferior().threads()))
#= threads 1$
print dead
#= = {16|64}
#state
delete
break worker thread 1
delete
watch shared
reverse-continue
#= Old value
#state
delete
tbreak {line:births}
reverse-continue
python print("threads", len(gdb.selected_inferior().threads()))
print born < {16|64}
#= = 1
#state
delete
tbreak main
reverse-continue
info threads
#! Thread .*\n.*Thread
