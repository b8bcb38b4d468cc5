// Package component describes how each program of the cluster is started and configured. It is
// pure: it only renders, and other packages write the files and run the programs.
package component

import (
	"path/filepath"
	"strings"

	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// Component is a program that runs as long as the cluster.
type Component struct {
	Name string
	// Node is the node in whose namespaces it runs.
	Node topology.Node
	// Command is the program's file and its arguments.
	Command []string
	// ControlPlane is whether there is one for the whole cluster, instead of one per node.
	ControlPlane bool
}

// LogNode returns the node argument for state.Cluster.Log.
func (c Component) LogNode() int {
	if c.ControlPlane {
		return 0
	}
	return int(c.Node)
}

// PerNode reports whether every node runs a component with this name.
func PerNode(name string) bool {
	return name == "containerd" || name == "kubelet" || name == "kube-proxy" || name == "volume-provisioner"
}

// Cluster contains what the components' arguments depend on.
type Cluster struct {
	Dir     state.Cluster
	Network topology.Network
	// Kubernetes, Containerd and NodePrograms are the folders of the built programs. NodePrograms has kubelet and
	// kube-proxy.
	Kubernetes, Containerd, NodePrograms string
}

func (c Cluster) controlPlane(name string, arguments ...string) Component {
	return Component{
		Name:         name,
		Node:         topology.ControlPlane,
		Command:      append([]string{filepath.Join(c.Kubernetes, name)}, arguments...),
		ControlPlane: true,
	}
}

// Etcd returns etcd without fsync: a power failure destroys the data, but `down` would have deleted
// it anyway.
func (c Cluster) Etcd() Component {
	return c.controlPlane("etcd",
		"--name=etcd",
		"--data-dir="+c.Dir.Etcd(),
		"--listen-client-urls=http://127.0.0.1:2379",
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=etcd=http://127.0.0.1:2380",
		"--unsafe-no-fsync",
		"--log-level=warn",
	)
}

// APIServer returns the API server, with the default admission plugins and feature gates.
func (c Cluster) APIServer() Component {
	return c.controlPlane("kube-apiserver",
		"--advertise-address="+c.Network.NodeIP(topology.ControlPlane),
		"--secure-port=6443",
		"--etcd-servers=http://127.0.0.1:2379",
		"--service-cluster-ip-range="+strings.Join(c.Network.ServiceCIDRs(), ","),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--client-ca-file="+c.Dir.PKI("ca.crt"),
		"--tls-cert-file="+c.Dir.PKI("apiserver.crt"),
		"--tls-private-key-file="+c.Dir.PKI("apiserver.key"),
		"--kubelet-certificate-authority="+c.Dir.PKI("ca.crt"),
		"--kubelet-client-certificate="+c.Dir.PKI("apiserver-kubelet-client.crt"),
		"--kubelet-client-key="+c.Dir.PKI("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc."+topology.DNSDomain,
		"--service-account-signing-key-file="+c.Dir.PKI("service-account.key"),
		"--service-account-key-file="+c.Dir.PKI("service-account.pub"),
		"--proxy-client-cert-file="+c.Dir.PKI("front-proxy-client.crt"),
		"--proxy-client-key-file="+c.Dir.PKI("front-proxy-client.key"),
		"--requestheader-client-ca-file="+c.Dir.PKI("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--audit-policy-file="+c.Dir.Audit("policy.yaml"),
		"--audit-log-path="+c.Dir.Audit("audit.log"),
		"--audit-log-maxsize=100",
		"--audit-log-maxbackup=5",
	)
}

// ControllerManager returns the controller manager with high request limits. The defaults suit
// clusters of thousands of nodes, and would slow down tests with many pods.
func (c Cluster) ControllerManager() Component {
	return c.controlPlane("kube-controller-manager",
		"--kubeconfig="+c.Dir.PKI("kube-controller-manager.kubeconfig"),
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.Dir.PKI("service-account.key"),
		"--root-ca-file="+c.Dir.PKI("ca.crt"),
		"--cluster-signing-cert-file="+c.Dir.PKI("ca.crt"),
		"--cluster-signing-key-file="+c.Dir.PKI("ca.key"),
		// The tool assigns the pod ranges of the nodes, so that it can set the routes before the
		// nodes are registered.
		"--allocate-node-cidrs=false",
		// The default is a folder of the machine, which would be created.
		"--flex-volume-plugin-dir=/var/lib/kubelet/volume-plugins",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	)
}

// Scheduler returns the scheduler, with high request limits as well.
func (c Cluster) Scheduler() Component {
	return c.controlPlane("kube-scheduler",
		"--kubeconfig="+c.Dir.PKI("kube-scheduler.kubeconfig"),
		"--leader-elect=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	)
}

// Runtime returns a node's container runtime.
func (c Cluster) Runtime(node topology.Node) Component {
	return Component{
		Name:    "containerd",
		Node:    node,
		Command: []string{filepath.Join(c.Containerd, "containerd"), "--config", c.Dir.Node(int(node), "containerd.toml")},
	}
}

// Kubelet returns a node's kubelet.
func (c Cluster) Kubelet(node topology.Node) Component {
	return Component{
		Name: "kubelet",
		Node: node,
		Command: []string{
			filepath.Join(c.NodePrograms, "kubelet"),
			"--config=" + c.Dir.Node(int(node), "kubelet.yaml"),
			"--kubeconfig=" + c.Dir.PKI(node.Name()+".kubeconfig"),
			"--hostname-override=" + node.Name(),
			"--node-ip=" + strings.Join(c.Network.NodeIPs(node), ","),
			"--node-labels=topology.kubernetes.io/zone=" + node.Zone(),
		},
	}
}

// KubeProxy returns a node's kube-proxy.
func (c Cluster) KubeProxy(node topology.Node) Component {
	return Component{
		Name:    "kube-proxy",
		Node:    node,
		Command: []string{filepath.Join(c.NodePrograms, "kube-proxy"), "--config=" + c.Dir.Node(int(node), "kube-proxy.yaml")},
	}
}

// VolumeProvisioner returns the program that mounts a node's volumes. It has to mount them in the
// namespace of the kubelet.
func (c Cluster) VolumeProvisioner(node topology.Node) Component {
	return Component{
		Name: "volume-provisioner",
		Node: node,
		Command: []string{
			filepath.Join(c.Kubernetes, "volume-provisioner"),
			"--kubeconfig=" + c.Dir.PKI("volume-provisioner.kubeconfig"),
			"--node=" + node.Name(),
			"--dir=/var/lib/local-volumes",
		},
	}
}
