#!/bin/sh
# Stops and continues the process named in the file "pid" until it is gone.
for i in 1 2 3 4 5 6 7 8 9 10; do
	[ -s pid ] && break
	sleep 0.1
done
read -r pid <pid || exit 1
while kill -STOP "$pid" 2>/dev/null; do
	kill -CONT "$pid" 2>/dev/null
	sleep 0.0005
done
exit 0
