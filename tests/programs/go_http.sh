# go: a program with goroutines and net/http, client and server in one, built and run. Deterministic as far as printed.
set -eu
command -v go >/dev/null || { echo "skip: no go"; exit 77; }
export GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off GOCACHE="${GOCACHE:-$PWD/cache}" GOPATH="$PWD/path"
mkdir src # go ignores a go.mod right in $TMPDIR
cd src
cat >go.mod <<'GO'
module thing
go 1.18
GO
cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
)

//go:noinline
func answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, strings.ToUpper(string(body)))
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(l, http.HandlerFunc(answer))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var got []string
	for i := 0; i < 12; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			r, err := http.Post(fmt.Sprintf("http://%s/n/%02d", l.Addr(), i), "text/plain", strings.NewReader("body"))
			if err != nil {
				panic(err)
			}
			b, _ := io.ReadAll(r.Body)
			r.Body.Close()
			mu.Lock()
			got = append(got, string(b))
			mu.Unlock()
		}(i)
	}
	wg.Wait()
	sort.Strings(got)
	fmt.Println(strings.Join(got, "\n"))
	os.Exit(5)
}
GO
go build -o prog .
exec ./prog
