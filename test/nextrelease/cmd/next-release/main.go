// Command next-release builds the programs of test/nextrelease into a folder.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"example.com/nginx-operator/test/nextrelease"
)

func main() {
	if err := build(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(arguments []string) error {
	flags := pflag.NewFlagSet("next-release", pflag.ContinueOnError)
	ahead := flags.Duration("ahead", 0, "how far the clock of the programs is ahead of the machine's; negative: behind it")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("usage: next-release [--ahead=TIME] FOLDER")
	}
	if err := os.MkdirAll(flags.Arg(0), 0o755); err != nil {
		return err
	}
	_, err := nextrelease.Build(context.Background(), flags.Arg(0), *ahead)
	return err
}
