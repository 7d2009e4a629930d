// Go: goroutines in loops without calls, which the runtime preempts by SIGURG, beside others that use channels, mutexes,
// timers and the garbage collector. Output: sums are deterministic, the number of ticks is not.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

func spin(seed uint64, rounds int) uint64 {
	x := seed
	for i := 0; i < rounds; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

type tree struct {
	left, right *tree
}

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

func (t *tree) count() int {
	if t.left == nil {
		return 1
	}
	return 1 + t.left.count() + t.right.count()
}

func pipeline() int {
	in, out := make(chan int), make(chan int, 8)
	var group sync.WaitGroup
	for w := 0; w < 4; w++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for v := range in {
				out <- v * v
			}
		}()
	}
	go func() {
		for i := 1; i <= 2000; i++ {
			in <- i
		}
		close(in)
		group.Wait()
		close(out)
	}()
	sum := 0
	for v := range out {
		sum += v
	}
	return sum
}

func main() {
	runtime.GOMAXPROCS(4)
	var group sync.WaitGroup
	var stop, ticks int64
	sums := make([]uint64, 6)

	// never calls anything: only a signal gets its processor back
	for i := 0; i < 2; i++ {
		go func() {
			for n := 0; atomic.LoadInt64(&stop) == 0; n++ {
			}
		}()
	}
	go func() {
		for range time.Tick(2 * time.Millisecond) {
			atomic.AddInt64(&ticks, 1)
		}
	}()
	for i := range sums {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			sums[i] = spin(uint64(i), 20000000)
		}(i)
	}
	nodes := grow(14).count()
	runtime.GC()
	fmt.Println("pipeline", pipeline(), "nodes", nodes)
	group.Wait()
	atomic.StoreInt64(&stop, 1)
	sort.Slice(sums, func(a, b int) bool { return sums[a] < sums[b] })
	fmt.Println("sums", sums)
	words := map[string]int{}
	for i := 0; i < 1000; i++ {
		words[fmt.Sprint("key", i%37)]++
	}
	for k, v := range words { // in an order that is random
		fmt.Print(k, "=", v, " ")
	}
	fmt.Println()
	fmt.Fprintln(os.Stderr, "ticks", atomic.LoadInt64(&ticks))
	fmt.Println("ok")
}
