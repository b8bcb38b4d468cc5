// Command nginx-operator is the controller manager.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // the image contains no time zones, and schedules of backups may name one

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"example.com/nginx-operator/internal/manager"
	"example.com/nginx-operator/internal/nginx/migration"
)

// version is set at build time.
var version = "dev"

func main() {
	boundMemory()
	if err := newCommand().Execute(); err != nil {
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	options := manager.Options{Version: version}
	cmd := &cobra.Command{
		Use:          "nginx-operator",
		Short:        "Runs nginx applications on Kubernetes",
		Version:      version,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := setUpLogging(options.LogLevel); err != nil {
				return err
			}
			config, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("find the cluster: %w", err)
			}
			ctrl.Log.Info("starting", "version", version)
			return manager.Run(ctrl.SetupSignalHandler(), config, options)
		},
	}
	options.AddFlags(cmd.Flags(), os.Getenv)
	cmd.AddCommand(migration.NewCommand(), newConsole())
	return cmd
}

func setUpLogging(level string) error {
	parsed, err := zapcore.ParseLevel(level)
	if err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	// A rejected write is not a bug of the program, so a stack trace would not help.
	logger := zap.New(zap.Level(parsed), zap.JSONEncoder(), zap.StacktraceLevel(zapcore.DPanicLevel))
	ctrl.SetLogger(logger)
	// client-go logs through klog.
	klog.SetLogger(logger)
	return nil
}
