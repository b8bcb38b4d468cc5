// Package server serves the console in a cluster, to many viewers.
//
// It uses no credentials of its own: each viewer brings a token of the API server.
package server

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// Options are the settings of the console.
type Options struct {
	// Address is the one to listen on.
	Address string
	// HealthAddress is the one to answer probes on, which guests need not reach.
	HealthAddress string
	// CertDir has the files tls.crt and tls.key. They are read again when they change.
	CertDir string
	// InsecureHTTP serves without TLS.
	InsecureHTTP bool
	// Hosts are the names under which browsers reach the console; empty: any.
	Hosts []string
	// Cluster names the cluster on the page.
	Cluster string
	// APIServer is the URL of the API server, and CAFile its certificate authority.
	APIServer, CAFile string

	LogLevel string
}

// AddFlags registers a flag for each option. The address of the API server defaults to the one in the environment of each
// pod.
func (o *Options) AddFlags(flags *pflag.FlagSet, getenv func(string) string) {
	flags.StringVar(&o.Address, "bind-address", ":8443", "address to listen on")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz, over HTTP")
	flags.StringVar(&o.CertDir, "tls-cert-dir", "/etc/nginx-console/tls", "folder with the certificate, in tls.crt and tls.key")
	flags.BoolVar(&o.InsecureHTTP, "insecure-http", false,
		"serve HTTP without TLS, behind an Ingress or a proxy that ends TLS: tokens cross the network between them as plain text")
	flags.StringSliceVar(&o.Hosts, "hosts", nil, "host names under which browsers reach the console, comma-separated (default: any)")
	flags.StringVar(&o.Cluster, "cluster-name", "", "name of the cluster on the page")
	flags.StringVar(&o.APIServer, "server", inCluster(getenv), "URL of the API server (default in a pod: that of its cluster)")
	flags.StringVar(&o.CAFile, "certificate-authority", "/etc/nginx-console/api-server/ca.crt", "file with the certificate authority of the API server")
	flags.StringVar(&o.LogLevel, "log-level", "info", "error, info or debug")
}

// inCluster returns the URL of the API server of a pod; empty: this is no pod.
func inCluster(getenv func(string) string) string {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return ""
	}
	return "https://" + net.JoinHostPort(host, port)
}

// apiServer returns how to reach the API server, without credentials.
func (o *Options) apiServer() (*rest.Config, error) {
	if o.APIServer == "" {
		return nil, errors.New("--server is needed outside of a cluster: set it to the URL of the API server")
	}
	u, err := url.Parse(o.APIServer)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "":
		return nil, errors.New("--server must be a URL such as https://kubernetes.default.svc: the API server serves TLS")
	case u.User != nil:
		return nil, errors.New("--server must not have a user or a password: the console uses no credentials of its own")
	}
	// A missing file would be an error of each request only.
	if _, err := os.ReadFile(o.CAFile); err != nil {
		return nil, fmt.Errorf("--certificate-authority must be the file of the API server's certificate authority, which the ConfigMap kube-root-ca.crt has: %w", err)
	}
	return &rest.Config{Host: o.APIServer, TLSClientConfig: rest.TLSClientConfig{CAFile: o.CAFile}}, nil
}

// certificate returns the certificate of the console; nil: it serves HTTP.
func (o *Options) certificate() (*certwatcher.CertWatcher, error) {
	if o.InsecureHTTP {
		return nil, nil
	}
	certificate, err := certwatcher.New(filepath.Join(o.CertDir, "tls.crt"), filepath.Join(o.CertDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-dir must have a certificate in tls.crt and its key in tls.key; behind a proxy that ends TLS, set --insecure-http: %w", err)
	}
	return certificate, nil
}

// validate returns what is wrong with the options.
func (o *Options) validate() error {
	for _, host := range o.Hosts {
		if net.ParseIP(host) == nil && len(utilvalidation.IsDNS1123Subdomain(host)) > 0 {
			return fmt.Errorf("--hosts has %q: set host names without a scheme, a port or a path, such as console.example.com", host)
		}
	}
	return nil
}
