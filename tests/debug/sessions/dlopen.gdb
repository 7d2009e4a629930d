#: record debug_dlopen
#: flags -O0,-O2
# A library comes and goes.
target remote localhost:{port}
break loaded
break unloaded
continue
#= Breakpoint 1[.0-9]*, loaded
info sharedlibrary
#= libm\.so
print result
#= = 3
#state
continue
#= Breakpoint 2[.0-9]*, unloaded
info sharedlibrary
#! libm\.so
#state
reverse-continue
#= Breakpoint 1[.0-9]*, loaded
info sharedlibrary
#= libm\.so
#state
break cbrt
reverse-continue
#= Breakpoint 3[.0-9]*, .*cbrt
print result
#= = 0
#state
backtrace
#= main
delete
tbreak main
reverse-continue
#= main
info sharedlibrary
#! libm\.so
#state
