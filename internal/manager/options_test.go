package manager

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// TestOrderKeyOptions: the controller of NginxOperators needs the Secret with the keys. The backup controllers use it if there
// is one.
func TestOrderKeyOptions(t *testing.T) {
	usual := []string{"--instance-image=nginx-operator:test", "--leader-elect=false", "--conversion-webhook=false"}
	for name, tt := range map[string]struct {
		flags []string
		// want is a part of the error; empty: the options are valid.
		want string
	}{
		"defaults":                    {[]string{"--own-namespace=system"}, ""},
		"no namespace":                {nil, "--own-namespace"},
		"no Secret":                   {[]string{"--own-namespace=system", "--order-key-secret="}, "--order-key-secret must not be empty"},
		"a key for a moment":          {[]string{"--own-namespace=system", "--order-key-lifetime=1m"}, "--order-key-lifetime is 1m0s: it must be at least 10m0s"},
		"a key for the shortest time": {[]string{"--own-namespace=system", "--order-key-lifetime=10m"}, ""},
		"backups only":                {[]string{"--controllers=backup", "--order-key-secret=", "--order-key-lifetime=0"}, ""},
		"backups without a namespace": {[]string{"--controllers=backup", "--order-key-lifetime=0"}, ""},
		"backups, a key for a moment": {[]string{"--controllers=backup", "--own-namespace=system", "--order-key-lifetime=1m"}, "--order-key-lifetime is 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			var o Options
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.AddFlags(flags, func(string) string { return "" })
			if err := flags.Parse(append(usual, tt.flags...)); err != nil {
				t.Fatal(err)
			}
			switch err := o.Validate(); {
			case tt.want == "" && err != nil:
				t.Errorf("the options are refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("the error is %v, want %s", err, tt.want)
			}
		})
	}
}

// TestOrderKeyDefaults: the defaults are those of the manifests.
func TestOrderKeyDefaults(t *testing.T) {
	var o Options
	o.AddFlags(pflag.NewFlagSet("test", pflag.ContinueOnError), func(string) string { return "" })
	if o.OrderKeySecret != "nginx-operator-order-key" || o.OrderKeyLifetime != 90*24*time.Hour {
		t.Errorf("the Secret is %s, and a key's lifetime %s", o.OrderKeySecret, o.OrderKeyLifetime)
	}
}
