package main

import (
	"fmt"
	"os"
)

//go:noinline
func inner(n int) int {
	fmt.Fprintln(os.Stdout, "inner", n)
	if n == 0 {
		return 1
	}
	return inner(n-1) * n
}

func main() {
	c := make(chan int)
	go func() { c <- inner(3) }()
	fmt.Println(<-c)
}
