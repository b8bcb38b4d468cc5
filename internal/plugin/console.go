package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/httpserver"
	"example.com/nginx-operator/internal/plugin/console"
	"example.com/nginx-operator/internal/plugin/screen"
)

// maxViews bounds the views of the console that are open at the same time: a browser has a few pages with two streams each.
const maxViews = 64

// consoleLimits are for one browser, and for whatever else runs on the user's machine.
var consoleLimits = httpserver.Limits{
	Connections: 256, Header: 64 << 10, ReadHeader: 10 * time.Second, Read: time.Minute, Write: 2 * time.Minute, Idle: time.Minute,
}

func newConsole(c *cluster) *cobra.Command {
	var port uint16
	var noOpen bool
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show and change applications in the browser",
		Long: "Show and change applications in the browser: serve a page on 127.0.0.1 until Ctrl+C, and open it.\n\n" +
			"The page reads and changes with your own rights. Its URL has a token: do not pass it on.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := httpserver.Listen(cmd.Context(), net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
			if err != nil {
				return fmt.Errorf("choose another --port, or 0 for any: %w", err)
			}
			handler, token, err := c.console(cmd.Context(), listener.Addr().String())
			if err != nil {
				return errors.Join(err, listener.Close())
			}
			url := "http://" + listener.Addr().String() + "/#token=" + token
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "The console is at %s\nCtrl+C ends it.\n", url); err != nil {
				return errors.Join(err, listener.Close())
			}
			if !noOpen {
				defer openPage(cmd, url)()
			}
			// Streams end with the context, and set their own timeouts.
			return httpserver.New(handler, consoleLimits, nil).Run(cmd.Context(), listener, nil, time.Second)
		},
	}
	cmd.Flags().Uint16Var(&port, "port", 0, "port on 127.0.0.1; 0: any that is free")
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "do not open a browser")
	return cmd
}

// console returns the handler of a console at an address, and the token of its viewer.
func (c *cluster) console(ctx context.Context, address string) (http.Handler, string, error) {
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, "", err
	}
	loader := c.flags.ToRawKubeConfigLoader()
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", err
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, "", err
	}
	viewers, token, err := console.NewLocal(config)
	if err != nil {
		return nil, "", err
	}
	name := raw.CurrentContext
	if isSet(c.flags.Context) {
		name = *c.flags.Context
	}
	return console.New(ctx, console.Options{
		Viewers: viewers, Hosts: console.LocalHosts(address), Cluster: name, Namespace: namespace, OneNamespace: isSet(c.flags.Namespace), MaxStreams: maxViews,
	}), token, nil
}

// isSet reports whether a flag has a value.
func isSet(flag *string) bool { return flag != nil && *flag != "" }

// openPage opens a page in the browser, and returns a function that cleans up. Where that fails, the user opens the URL
// that is printed.
func openPage(cmd *cobra.Command, url string) func() {
	report := func(what string, err error) {
		if err != nil {
			_, _ = fmt.Fprintln(cmd.ErrOrStderr(), what+": "+screen.Safe(err.Error())) // There is nowhere else to say it.
		}
	}
	remove, err := console.Open(cmd.Context(), url)
	if err != nil {
		report("no browser was opened, open the URL yourself", err)
		return func() {}
	}
	return func() { report("remove the file that led the browser to the page", remove()) }
}
