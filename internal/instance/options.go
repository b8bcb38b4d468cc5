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

// imageFiles is where images have files that configurations include by relative names.
const imageFiles = "/etc/nginx"

// Options of an instance.
type Options struct {
	Version      string
	Ports        []instanceapi.DeclaredPort
	Certificates []string
	// ReloadOn are mounted folders whose changes make nginx reload.
	ReloadOn []string
	// DrainDelay is how long nginx goes on serving after the signal to stop, DrainTimeout
	// how long it has to finish after that.
	DrainDelay, DrainTimeout time.Duration
	RequestMetrics           bool
	// Listen is the address of the instance's own HTTP server.
	Listen string
	// Folders; see package instanceapi.
	Stable, Next, Requests, Secrets, TLS, State, RequestLog string
	// TerminationLog gets the reason when the instance ends with an error.
	TerminationLog string
}

// AddFlags adds the options to flags.
func (o *Options) AddFlags(flags *flag.FlagSet) {
	flags.Func("port", "a port that nginx has to listen on, as NAME:PORT/PROTOCOL (repeatable)", o.addPort)
	flags.Func("certificate", "name of a certificate that is mounted (repeatable)", o.addCertificate)
	flags.Func("reload-on", "path of a mounted ConfigMap or Secret whose changes make nginx reload (repeatable)", o.addReloadOn)
	flags.DurationVar(&o.DrainDelay, "drain-delay", 5*time.Second, "how long to serve on after the signal to stop")
	flags.DurationVar(&o.DrainTimeout, "drain-timeout", 30*time.Second, "how long nginx has to finish its connections")
	flags.BoolVar(&o.RequestMetrics, "request-metrics", true, "measure requests by an access log")
	flags.StringVar(&o.Listen, "listen", fmt.Sprintf(":%d", instanceapi.Port), "address to answer on")
	flags.StringVar(&o.Stable, "stable-dir", instanceapi.DirStable, "folder of the configuration to boot from")
	flags.StringVar(&o.Next, "next-dir", instanceapi.DirNext, "folder of the next configuration")
	flags.StringVar(&o.Requests, "requests-dir", instanceapi.DirRequests, "folder of the pod's annotations")
	flags.StringVar(&o.Secrets, "secrets-dir", instanceapi.DirSecrets, "folder of the mounted Secrets")
	flags.StringVar(&o.TLS, "tls-dir", instanceapi.DirTLS, "folder where nginx finds certificates")
	flags.StringVar(&o.State, "state-dir", instanceapi.DirState, "scratch space")
	flags.StringVar(&o.RequestLog, "request-log-dir", instanceapi.DirRequestLog, "folder in memory for nginx's log of requests; where it is missing, --state-dir")
	flags.StringVar(&o.TerminationLog, "termination-log", "/dev/termination-log", "file for the reason of an error")
}

func (o *Options) addPort(text string) error {
	name, rest, ok := strings.Cut(text, ":")
	number, protocol, hasProtocol := strings.Cut(rest, "/")
	port, err := strconv.ParseUint(number, 10, 16)
	if !ok || name == "" || err != nil || port == 0 || (hasProtocol && protocol != "TCP" && protocol != "UDP") {
		return errors.New("it has to look like http:8080/TCP")
	}
	if !hasProtocol {
		protocol = "TCP"
	}
	o.Ports = append(o.Ports, instanceapi.DeclaredPort{Name: name, Port: int32(port), Protocol: protocol})
	return nil
}

// certificateName is a name of spec.tls. It becomes the name of a folder.
var certificateName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

func (o *Options) addCertificate(name string) error {
	if !certificateName.MatchString(name) {
		return errors.New("a name has lower case letters, digits, '-' and '.'")
	}
	o.Certificates = append(o.Certificates, name)
	return nil
}

func (o *Options) addReloadOn(dir string) error {
	if !filepath.IsAbs(dir) {
		return errors.New("it has to be an absolute path")
	}
	o.ReloadOn = append(o.ReloadOn, dir)
	return nil
}

// requestLog is the file of the request metrics' log.
func (o *Options) requestLog() string {
	const name = "requests.log"
	if info, err := os.Stat(o.RequestLog); err == nil && info.IsDir() {
		return filepath.Join(o.RequestLog, name)
	}
	return filepath.Join(o.State, name)
}

// Validate finds options that contradict each other.
func (o *Options) Validate() error {
	switch {
	case o.DrainDelay < 0:
		return errors.New("--drain-delay: must not be negative")
	case o.DrainTimeout < time.Second:
		return errors.New("--drain-timeout: must be at least a second")
	}
	return nil
}
