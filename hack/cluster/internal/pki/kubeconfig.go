package pki

import (
	"bytes"
	"encoding/base64"
	"text/template"
)

var kubeconfigTemplate = template.Must(template.New("kubeconfig").Funcs(template.FuncMap{
	"base64": base64.StdEncoding.EncodeToString,
}).Parse(`apiVersion: v1
kind: Config
current-context: cluster
contexts:
- name: cluster
  context:
    cluster: cluster
    user: user
clusters:
- name: cluster
  cluster:
    server: {{.Server}}
    certificate-authority-data: {{base64 .Authority}}
users:
- name: user
  user:
    client-certificate-data: {{base64 .Client.Certificate}}
    client-key-data: {{base64 .Client.Key}}
`))

// Kubeconfig renders a self-contained kubeconfig, which can be copied.
func Kubeconfig(server string, authority []byte, client Pair) ([]byte, error) {
	var b bytes.Buffer
	err := kubeconfigTemplate.Execute(&b, struct {
		Server    string
		Authority []byte
		Client    Pair
	}{server, authority, client})
	return b.Bytes(), err
}
