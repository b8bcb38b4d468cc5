package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Setup prepares a control plane for the tests of a package, which keeps its files in dir. It returns what ends the programs that
// it has started; nil: nothing.
type Setup func(ctx context.Context, plane *ControlPlane, dir string) (end func() error, err error)

// Main runs the tests of a package with a control plane of their own, and ends the process.
func Main(tests interface{ Run() int }, setup Setup) {
	code, err := runTests(tests, setup)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(tests interface{ Run() int }, setup Setup) (code int, err error) {
	dir, err := os.MkdirTemp("", "nginx-operator-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plane, err := Start(dir)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	end, err := setup(context.Background(), plane, dir)
	if end != nil {
		// A program that has crashed meanwhile returns its error here.
		defer func() { err = errors.Join(err, end()) }()
	}
	if err != nil {
		return 1, err
	}
	return tests.Run(), nil
}
