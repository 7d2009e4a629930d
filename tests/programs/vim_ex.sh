# vim -es: a script of edits, search and replace, macros, registers, buffers; the swap file and undo tree in use. Deterministic.
set -eu
seq 1 200 | sed 's/$/ a line of text/' >f
cat >script <<'EOT'
set nocompatible
edit f
%s/line/LINE/g
g/5 /delete
normal! ggdwyyp
let @a = "Ahello\<Esc>j"
normal! 5@a
2,4sort!
write g
call writefile([string(line('$')), getline(3), join(map(range(5), 'v:val * 2'), ',')], 'out')
new
put =repeat(['x'], 3)
write h
redir! > messages
echo searchpos('LINE', 'n')
redir END
qall!
EOT
vim -u NONE -i NONE -n -es -S script f </dev/null && echo "vim ended with 0"
cat g | head -n 12
cat out h messages
md5sum g
