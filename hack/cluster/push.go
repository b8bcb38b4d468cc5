package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/cobra"

	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func newPushCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "push ARCHIVE NAME:TAG",
		Short: "Push an image archive to the cluster's registry; print the image's name and digest",
		Long: `Push an image archive, which has to contain one image, to the cluster's registry,
which "addon registry" starts. The name does not include the registry.`,
		Example: "  cluster push bin/images/nginx-forky.tar nginx:1.30.6-debian",
		Args:    cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, arguments []string) error {
			tag, err := registryTag(arguments[1])
			if err != nil {
				return err
			}
			cache, err := state.DefaultCache()
			if err != nil {
				return err
			}
			found, err := findReady(cache)
			if err != nil {
				return err
			}
			digest, err := found.push(command.Context(), arguments[0], tag)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s@%s\n", tag, digest)
			return err
		},
	}
}

// registryTag returns the full name of an image in the cluster's registry.
func registryTag(image string) (name.Tag, error) {
	return name.NewTag(topology.Registry+"/"+strings.TrimPrefix(image, topology.Registry+"/"), name.StrictValidation)
}

// push pushes the only image of an archive, and returns its digest.
func (r runningCluster) push(ctx context.Context, archive string, tag name.Tag) (string, error) {
	pushed, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", archive, err)
	}
	transport, err := r.registryTransport()
	if err != nil {
		return "", err
	}
	defer transport.CloseIdleConnections()
	user := &authn.Basic{Username: topology.RegistryUser, Password: topology.RegistryPassword}
	err = remote.Write(tag, pushed, remote.WithContext(ctx), remote.WithTransport(transport), remote.WithAuth(user),
		remote.WithRetryPredicate(refused), remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Factor: 1.5, Steps: 10}))
	if err != nil {
		return "", fmt.Errorf("pushing %s (is the registry running? see `cluster addon registry`): %w", tag, err)
	}
	digest, err := pushed.Digest()
	return digest.String(), err
}

// refused reports whether nothing listens. kube-proxy may need seconds until it forwards to a new registry.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// registryTransport connects to the registry from node 1's network, where its Service has an
// address.
func (r runningCluster) registryTransport() (*http.Transport, error) {
	inside, err := r.status.NodePID(topology.ControlPlane)
	if err != nil {
		return nil, err
	}
	pid, err := sandbox.MachinePID(inside)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(r.cluster.PKI("ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the cluster's CA is not a certificate")
	}
	address := net.JoinHostPort(r.config.Network.RegistryIPs()[0], topology.RegistryPort)
	return &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return sandbox.Dial(ctx, pid, address)
		},
	}, nil
}
