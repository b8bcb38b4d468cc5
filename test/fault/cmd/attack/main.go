// Command attack attacks the instance manager's receiver of orders, and prints what it accepts.
package main

import (
	"context"
	"fmt"
	"os"

	"example.com/nginx-operator/test/fault/internal/attack"
)

func main() {
	accepted, err := attack.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range accepted {
		fmt.Println(name)
	}
}
