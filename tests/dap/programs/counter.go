// A variable that changes, a method, a slice: for scenarios of Go, whose expressions in gdb are not those of C.
package main

import "fmt"

type counter struct {
	n     int64
	names []string
}

func (c *counter) add(by int64) {
	c.n += by // the change
}

func main() {
	c := counter{names: []string{"a", "b"}} // first line
	small := int16(0)
	for i := 0; i < 5; i++ {
		c.add(int64(i)) // calling add
		small = int16(c.n)
	}
	fmt.Println(c.n, small, c.names) // the print
}
