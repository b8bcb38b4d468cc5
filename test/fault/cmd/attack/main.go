// Command attack attacks the instance manager's receiver of orders, and prints what it accepts.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"example.com/nginx-operator/test/fault/internal/attack"
)

func main() {
	accepted, err := attack.Run(context.Background())
	if err == nil && len(accepted) > 0 {
		_, err = fmt.Fprintln(os.Stdout, strings.Join(accepted, "\n"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
