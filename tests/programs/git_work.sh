# git: init, add, commit, log, diff, branch, merge with a conflict, rebase, stash, tag, gc, fsck, clone, archive. Deterministic.
set -eu
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.org
export GIT_AUTHOR_DATE='2021-01-01 00:00:00 +0000' GIT_COMMITTER_DATE='2021-01-01 00:00:00 +0000' GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo
cd repo
git config gc.auto 0
i=1
while [ $i -le 5 ]; do
	seq 1 $((i * 100)) >file$i
	git add .
	git commit -q -m "commit $i"
	i=$((i + 1))
done
git log --format='%H %s'
git checkout -q -b topic HEAD~2
echo topic >>file1
git commit -qam 'topic change'
git checkout -q main
echo main >>file1
git commit -qam 'main change'
git merge topic >/dev/null 2>&1 || echo "conflict $?"
git diff --name-only --diff-filter=U
seq 1 100 >file1
git commit -qam merged
git log --graph --oneline | cat
git checkout -q topic
git rebase -q main >/dev/null 2>&1 || git rebase --skip >/dev/null 2>&1 || :
git status --short --branch
echo stash >>file2
git stash -q
git stash list
git stash pop -q
git diff --stat
git checkout -q .
git tag -a -m tagged v1 main
git describe main
git gc -q
git count-objects -v | grep -v size
git fsck --no-progress 2>/dev/null
cd ..
git clone -q repo clone 2>/dev/null
git -C clone rev-parse origin/main
git -C repo archive main | tar -t
git -C repo blame -s file3 | tail -n 1
git -C repo grep -c 99 main | head -n 3
git -C repo bisect start main main~3 >/dev/null
git -C repo bisect run sh -c 'test ! -e file5' 2>/dev/null | grep 'first bad'
