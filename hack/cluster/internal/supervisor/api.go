package supervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"example.com/nginx-operator/hack/cluster/internal/state"
)

// api sends the few requests to the API server that starting needs. They do not justify client-go,
// which would double the size of the tool.
type api struct {
	server string
	client http.Client
}

func newAPI(cluster state.Cluster, server string) (*api, error) {
	certificate, err := tls.LoadX509KeyPair(cluster.PKI("admin.crt"), cluster.PKI("admin.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(cluster.PKI("ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the cluster's CA is not a certificate")
	}
	return &api{server: server, client: http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, RootCAs: roots},
		},
	}}, nil
}

// get requests a path; into may be nil.
func (a *api) get(ctx context.Context, path string, into any) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path, nil)
	if err != nil {
		return err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

func (a *api) serving(ctx context.Context) error { return a.get(ctx, "/readyz", nil) }

// nodesReady returns an error that names a node that is not ready yet.
func (a *api) nodesReady(ctx context.Context) error {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := a.get(ctx, "/api/v1/nodes", &list); err != nil {
		return err
	}
	for _, node := range list.Items {
		ready := false
		for _, condition := range node.Status.Conditions {
			ready = ready || condition.Type == "Ready" && condition.Status == "True"
		}
		if !ready {
			return fmt.Errorf("%s is not ready", node.Metadata.Name)
		}
	}
	return nil
}
