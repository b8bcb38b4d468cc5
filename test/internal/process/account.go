package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/testenv"
)

// Account is the operator's service account, as config/rbac defines it.
var Account = client.ObjectKey{Namespace: "nginx-operator-system", Name: "nginx-operator"}

// Username returns the user name of the account in the API server and its audit log.
func Username() string { return "system:serviceaccount:" + Account.Namespace + ":" + Account.Name }

// CreateAccount installs config/rbac, which grants the operator the same permissions as in a
// cluster, and returns a client configuration with a token of its account.
func CreateAccount(ctx context.Context, plane *testenv.ControlPlane) (*rest.Config, error) {
	if err := plane.PrepareOperator(ctx); err != nil {
		return nil, err
	}
	if err := installRights(ctx, plane.Client); err != nil {
		return nil, fmt.Errorf("install config/rbac: %w", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Account.Namespace, Name: Account.Name}}
	token := &authenticationv1.TokenRequest{}
	if err := plane.Client.SubResource("token").Create(ctx, account, token); err != nil {
		return nil, fmt.Errorf("request a token: %w", err)
	}
	config := rest.AnonymousClientConfig(plane.Config)
	config.BearerToken = token.Status.Token
	config.QPS = plane.Config.QPS
	return config, nil
}

func installRights(ctx context.Context, c client.Client) error {
	folder := filepath.Join(testenv.Root(), "config", "rbac")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		if err := createAll(ctx, c, text); err != nil {
			return fmt.Errorf("%s: %w", entry.Name(), err)
		}
	}
	return nil
}

// createAll creates every object in a YAML file.
func createAll(ctx context.Context, c client.Client, text []byte) error {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(object.Object) == 0 {
			continue
		}
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
}

// WriteKubeconfig writes a client configuration with a token to a file.
func WriteKubeconfig(config *rest.Config, path string) error {
	const name = "measure"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	return clientcmd.WriteToFile(*kubeconfig, path)
}
