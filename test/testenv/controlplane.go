// Package testenv starts the environment of tests and measurements: a bare control plane
// (kube-apiserver and etcd, as processes) with the API's CRDs.
package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	configcache "example.com/nginx-operator/config/cache"
	configcrd "example.com/nginx-operator/config/crd"
	"example.com/nginx-operator/internal/manager"
)

// ControlPlane is a running kube-apiserver with its etcd.
type ControlPlane struct {
	// Config is the client configuration of an administrator.
	Config *rest.Config
	// Client reads and writes as an administrator, without a cache.
	Client client.Client
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string
	// AuditLog is the path of the API server's audit log. If empty, the API server keeps none.
	AuditLog string

	env *envtest.Environment
}

// auditPolicy logs every request when it completes. It also logs watches when they begin, because a
// watch may never complete.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// Option changes a control plane before it starts. dir is the directory of its files.
type Option func(cp *ControlPlane, dir string) error

// Audited makes the API server keep an audit log, which takes a tenth of its processor time.
func Audited(cp *ControlPlane, dir string) error {
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	cp.AuditLog = filepath.Join(dir, "audit.log")
	cp.env.ControlPlane.GetAPIServer().Configure().
		Append("audit-policy-file", policy).
		Append("audit-log-path", cp.AuditLog)
	return nil
}

// Start starts a control plane that keeps its files in dir. It takes the binaries from the
// directory in KUBEBUILDER_ASSETS.
func Start(dir string, options ...Option) (*ControlPlane, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS is not set: run `export KUBEBUILDER_ASSETS=$(make -s envtest-assets)`")
	}
	// The default, 20 seconds, is not enough beside other suites.
	cp := &ControlPlane{env: &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute}}
	cp.env.ControlPlane.GetAPIServer().Configure().
		// Closing connections at random, which balances load, would disturb the measurements.
		Set("goaway-chance", "0").
		// envtest's default range has room for only 254 Services.
		Set("service-cluster-ip-range", "10.0.0.0/16")
	for _, option := range options {
		if err := option(cp, dir); err != nil {
			return nil, err
		}
	}
	config, err := cp.env.Start()
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	config.QPS, config.Burst = -1, 0
	cp.Config = config
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, errors.Join(err, cp.Stop())
	}
	cp.Client, err = client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, errors.Join(err, cp.Stop())
	}
	cp.Kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(cp.Kubeconfig, cp.env.KubeConfig, 0o600); err != nil {
		return nil, errors.Join(err, cp.Stop())
	}
	return cp, nil
}

// Stop stops the processes and waits for them.
func (cp *ControlPlane) Stop() error {
	return cp.env.Stop()
}

// CRD reads the generated CustomResourceDefinition of NginxOperators.
func CRD() (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := os.ReadFile(filepath.Join(Root(), "config", "crd", "operator.example.com_nginxoperators.yaml"))
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	return crd, yaml.UnmarshalStrict(text, crd)
}

// InstallCRD installs the CRDs. webhookPort is the port at which an operator on this machine serves
// the conversion. With 0, only the storage version is served.
func (cp *ControlPlane) InstallCRD(ctx context.Context, webhookPort int) error {
	crd, err := CRD()
	if err != nil {
		return err
	}
	if webhookPort == 0 {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Served = crd.Spec.Versions[i].Storage
		}
	} else {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{
					URL: new(fmt.Sprintf("https://localhost:%d/convert", webhookPort)),
				},
			},
		}
	}
	crds := []*apiextensionsv1.CustomResourceDefinition{crd}
	for _, text := range [][]byte{configcrd.NginxBackups, configcrd.NginxBackupPolicies, configcrd.NginxRestores, configcache.NginxCaches, configcache.NginxCachePurges} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return err
		}
		crds = append(crds, crd)
	}
	for _, crd := range crds {
		if err := cp.Client.Create(ctx, crd); err != nil {
			return fmt.Errorf("install the CRD %s: %w", crd.Name, err)
		}
	}
	return envtest.WaitForCRDs(cp.Config, crds,
		envtest.CRDInstallOptions{MaxTime: time.Minute, PollInterval: 50 * time.Millisecond})
}

// Root returns the project's root directory: the first directory with a file VERSION, from the working directory upward.
// Tests run in the directory of their package. Root panics outside of the project.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "VERSION")); err == nil {
			return dir
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		panic("the working directory is not in the project")
	}
}
