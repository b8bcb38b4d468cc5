package instance

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// Options are the options of an instance.
type Options struct {
	Version      string
	Ports        []instanceapi.DeclaredPort
	Certificates []string
	// ReloadOn are mounted folders. A change in them reloads nginx.
	ReloadOn []string
	// DrainDelay is how long nginx keeps serving after the signal to stop, and DrainTimeout is how
	// long it has to finish after that.
	DrainDelay, DrainTimeout time.Duration
	RequestMetrics           bool
	// Listen is the address of the instance's own HTTP server.
	Listen string
	// These are folders; see package instanceapi.
	Stable, Next, Secrets, TLS, Variables, State, RequestLog string
	// CacheDir is the folder of the pod's cache; empty if it has none. Purges is the folder of the mounted purges.
	CacheDir, Purges string
	// PodUID is the UID of the pod. Without it, the instance accepts no orders.
	PodUID string
	// TerminationLog is the file for the reason if the instance ends with an error.
	TerminationLog string
}

// AddFlags adds the options to flags.
func (o *Options) AddFlags(flags *flag.FlagSet) {
	flags.Func("port", "a port that nginx must listen on, as NAME:PORT/PROTOCOL (repeatable)", o.addPort)
	flags.Func("certificate", "name of a certificate that is mounted (repeatable)", o.addCertificate)
	flags.Func("reload-on", "path of a mounted ConfigMap or Secret whose changes make nginx reload (repeatable)", o.addReloadOn)
	flags.DurationVar(&o.DrainDelay, "drain-delay", 5*time.Second, "how long to keep serving after the stop signal")
	flags.DurationVar(&o.DrainTimeout, "drain-timeout", 30*time.Second, "how long nginx may take to finish its connections")
	flags.BoolVar(&o.RequestMetrics, "request-metrics", true, "measure requests with an access log")
	flags.StringVar(&o.Listen, "listen", fmt.Sprintf(":%d", instanceapi.Port), "address to listen on")
	flags.StringVar(&o.Stable, "stable-dir", instanceapi.DirStable, "folder of the configuration to boot from")
	flags.StringVar(&o.Next, "next-dir", instanceapi.DirNext, "folder of the next configuration")
	flags.StringVar(&o.PodUID, "pod-uid", os.Getenv(instanceapi.EnvPodUID), "UID of the pod, for which the operator's orders must be; the default is $"+instanceapi.EnvPodUID)
	flags.StringVar(&o.CacheDir, "cache-dir", os.Getenv(instanceapi.EnvCacheDir), "folder of the pod's cache, if it can be purged; the default is $"+instanceapi.EnvCacheDir)
	flags.StringVar(&o.Purges, "purges-dir", instanceapi.DirPurges, "folder of the mounted purges of the cache")
	flags.StringVar(&o.Secrets, "secrets-dir", instanceapi.DirSecrets, "folder of the mounted Secrets")
	flags.StringVar(&o.TLS, "tls-dir", instanceapi.DirTLS, "folder where nginx finds certificates")
	flags.StringVar(&o.Variables, "variables-dir", instanceapi.DirVariables, "folder of the mounted Secrets and ConfigMaps with the values of variables")
	flags.StringVar(&o.State, "state-dir", instanceapi.DirState, "scratch space")
	flags.StringVar(&o.RequestLog, "request-log-dir", instanceapi.DirRequestLog, "folder in memory for the request log; if it is missing, --state-dir is used")
	flags.StringVar(&o.TerminationLog, "termination-log", "/dev/termination-log", "file for the error that ended the process")
}

func (o *Options) addPort(text string) error {
	name, rest, ok := strings.Cut(text, ":")
	number, protocol, hasProtocol := strings.Cut(rest, "/")
	port, err := strconv.ParseUint(number, 10, 16)
	if !ok || name == "" || err != nil || port == 0 || (hasProtocol && protocol != "TCP" && protocol != "UDP") {
		return errors.New("must have the form http:8080/TCP")
	}
	if !hasProtocol {
		protocol = "TCP"
	}
	o.Ports = append(o.Ports, instanceapi.DeclaredPort{Name: name, Port: int32(port), Protocol: protocol})
	return nil
}

// certificateName matches a name in spec.tls, which becomes the name of a folder.
var certificateName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

func (o *Options) addCertificate(name string) error {
	if !certificateName.MatchString(name) {
		return errors.New("a name must consist of lower case letters, digits, '-' and '.'")
	}
	o.Certificates = append(o.Certificates, name)
	return nil
}

func (o *Options) addReloadOn(dir string) error {
	if !filepath.IsAbs(dir) {
		return errors.New("must be an absolute path")
	}
	o.ReloadOn = append(o.ReloadOn, dir)
	return nil
}

// requestLog returns the path of the log for the request metrics.
func (o *Options) requestLog() string {
	const name = "requests.log"
	if info, err := os.Stat(o.RequestLog); err == nil && info.IsDir() {
		return filepath.Join(o.RequestLog, name)
	}
	return filepath.Join(o.State, name)
}

// Validate returns an error for an option that is out of range.
func (o *Options) Validate() error {
	switch {
	case o.DrainDelay < 0:
		return errors.New("--drain-delay: must not be negative")
	case o.DrainTimeout < time.Second:
		return errors.New("--drain-timeout: must be at least a second")
	}
	return nil
}
