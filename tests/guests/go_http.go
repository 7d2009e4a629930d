// A server of net/http that computes a little for each request; http_load.outside.sh asks it and ends it by SIGTERM. Output:
// deterministic but for the number of connections.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
)

func main() {
	var served int64
	mux := http.NewServeMux()
	mux.HandleFunc("/hash/", func(w http.ResponseWriter, r *http.Request) {
		sum := []byte(r.URL.Path)
		for i := 0; i < 2000; i++ {
			s := sha256.Sum256(sum)
			sum = s[:]
		}
		atomic.AddInt64(&served, 1)
		fmt.Fprintf(w, "%x\n", sum)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		atomic.AddInt64(&served, 1)
		body, _ := io.ReadAll(r.Body) // all of it, before the answer begins
		w.Write(body)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server := &http.Server{Handler: mux}
	stopped := make(chan bool)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		server.Shutdown(context.Background())
		close(stopped)
	}()
	os.WriteFile("pid", []byte(strconv.Itoa(os.Getpid())), 0o600)
	os.WriteFile("port.new", []byte(strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)), 0o600)
	os.Rename("port.new", "port")
	server.Serve(listener)
	<-stopped
	fmt.Println("served", served)
	fmt.Println("stopped")
}
