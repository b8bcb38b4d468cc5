// Command nginx-instance is process 1 of every nginx container.
//
//	nginx-instance install DIR   copies the program into a folder
//	nginx-instance run [flags]   supervises nginx
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"example.com/nginx-operator/internal/instance"
	"example.com/nginx-operator/internal/instance/nginx"
)

// version is set at build time.
var version = "dev"

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	err := runCommand(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		slog.Error("nginx-instance failed", "error", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: nginx-instance install DIR | run [flags] | version")

func runCommand(arguments []string, out io.Writer) error {
	if len(arguments) == 0 {
		return errUsage
	}
	switch name, rest := arguments[0], arguments[1:]; {
	case name == "install" && len(rest) == 1:
		return instance.Install(rest[0])
	case name == "run":
		return runInstance(rest, out)
	case name == "version":
		_, err := fmt.Fprintln(out, version)
		return err
	case name == nginx.LaunchCommand:
		return nginx.Launch(rest)
	default:
		return errUsage
	}
}

func runInstance(arguments []string, out io.Writer) error {
	options := instance.Options{Version: version}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(out)
	options.AddFlags(flags)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := options.Validate(); err != nil {
		return err
	}
	return instance.Run(options)
}
