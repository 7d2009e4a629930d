# A tmux server with two windows, keys sent, panes captured, killed at the end. Deterministic as far as printed.
set -eu
export TERM=xterm SHELL=/bin/sh
unset TMUX || :
t="tmux -f /dev/null -S $PWD/sock"
$t new-session -d -s main -n first -x 80 -y 24 'PS1="$ " exec sh'
$t send-keys -t main 'echo one plus one is $((1+1)) >result; seq 3' Enter
i=0
until [ -s result ] || [ $i -gt 100 ]; do
	i=$((i + 1))
	sleep 0.05
done
cat result
$t new-window -t main -n second 'cat'
$t send-keys -t main:second 'typed into cat' Enter
i=0
until $t capture-pane -p -t main:second | grep -q '^typed into cat' || [ $i -gt 100 ]; do
	i=$((i + 1))
	sleep 0.05
done
$t capture-pane -p -t main:second | head -n 1
$t list-windows -F '#{window_index} #{window_name} #{window_width}x#{window_height}'
$t split-window -t main:second -v 'sleep 100'
$t list-panes -t main:second -F '#{pane_index} #{pane_width}'
$t kill-window -t main:second
$t display-message -p '#{session_name} #{session_windows}'
$t kill-server
sleep 0.1
$t list-sessions 2>/dev/null || echo no server
