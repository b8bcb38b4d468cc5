package pki

import (
	"net"
	"os"
	"path/filepath"

	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// Write creates the whole PKI of a cluster in its folder. forwarder is the URL at which the machine
// reaches the API server.
func Write(cluster state.Cluster, network topology.Network, nodes []topology.Node, forwarder string) error {
	if err := os.MkdirAll(filepath.Dir(cluster.PKI("ca.crt")), 0o700); err != nil {
		return err
	}
	ca, err := NewAuthority("cluster-ca")
	if err != nil {
		return err
	}
	frontProxyCA, err := NewAuthority("front-proxy-ca")
	if err != nil {
		return err
	}
	w := writer{cluster: cluster}
	w.pair("ca", ca.Pair, nil)
	w.pair("front-proxy-ca", frontProxyCA.Pair, nil)
	front, err := frontProxyCA.Client("front-proxy-client")
	w.pair("front-proxy-client", front, err)
	w.serviceAccountKeys()

	server, err := ca.Server("kube-apiserver", apiServerHosts(network)...)
	w.pair("apiserver", server, err)
	// The kubelets' webhook authorizer allows the API server as a member of this group.
	kubeletClient, err := ca.Client("apiserver-kubelet-client", "system:masters")
	w.pair("apiserver-kubelet-client", kubeletClient, err)
	registry, err := ca.Server("registry", topology.RegistryName)
	w.pair("registry", registry, err)
	for _, node := range nodes {
		serving, err := ca.Server(node.Name(), append(network.NodeIPs(node), node.Name())...)
		w.pair("kubelet-"+node.Name(), serving, err)
		w.kubeconfig(cluster.PKI(node.Name()+".kubeconfig"), network.APIServer(), ca, "system:node:"+node.Name(), "system:nodes")
	}
	admin, err := ca.Client("admin", "system:masters")
	w.pair("admin", admin, err)
	for _, component := range []string{"kube-controller-manager", "kube-scheduler", "kube-proxy"} {
		w.kubeconfig(cluster.PKI(component+".kubeconfig"), network.APIServer(), ca, "system:"+component)
	}
	w.kubeconfig(cluster.PKI("volume-provisioner.kubeconfig"), network.APIServer(), ca, "volume-provisioner")
	w.kubeconfig(cluster.InternalKubeconfig(), network.APIServer(), ca, "admin", "system:masters")
	w.kubeconfig(cluster.Kubeconfig(), forwarder, ca, "admin", "system:masters")
	return w.err
}

func apiServerHosts(network topology.Network) []string {
	return append(network.NodeIPs(topology.ControlPlane),
		"localhost", net.IPv4(127, 0, 0, 1).String(), net.IPv6loopback.String(), network.APIServiceIP(),
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc."+topology.DNSDomain,
	)
}

// writer records the first error, so that the list of files reads as a list.
type writer struct {
	cluster state.Cluster
	err     error
}

func (w *writer) pair(name string, pair Pair, err error) {
	w.file(w.cluster.PKI(name+".crt"), pair.Certificate, err)
	w.file(w.cluster.PKI(name+".key"), pair.Key, err)
}

func (w *writer) kubeconfig(path, server string, ca *Authority, user string, groups ...string) {
	client, err := ca.Client(user, groups...)
	if err != nil {
		w.file(path, nil, err)
		return
	}
	content, err := Kubeconfig(server, ca.Certificate, client)
	w.file(path, content, err)
}

func (w *writer) serviceAccountKeys() {
	private, public, err := NewSigningKey()
	w.file(w.cluster.PKI("service-account.key"), private, err)
	w.file(w.cluster.PKI("service-account.pub"), public, err)
}

func (w *writer) file(path string, content []byte, err error) {
	if w.err == nil {
		w.err = err
	}
	if w.err == nil {
		w.err = os.WriteFile(path, content, 0o600)
	}
}
