// Command next-release builds the programs of test/nextrelease into a folder.
package main

import (
	"context"
	"fmt"
	"os"

	"example.com/nginx-operator/test/nextrelease"
)

func main() {
	if err := build(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("usage: next-release FOLDER")
	}
	if err := os.MkdirAll(arguments[0], 0o755); err != nil {
		return err
	}
	_, err := nextrelease.Build(context.Background(), arguments[0])
	return err
}
