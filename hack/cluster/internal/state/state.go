// Package state defines the path of every file that the tool keeps on disk.
//
// There are two folders with different lifetimes: the cache (programs, images) survives `down`,
// which deletes the cluster's own folder.
package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Cache is the folder that contains everything the tool writes.
type Cache string

// DefaultCache returns $NGINX_OPERATOR_CACHE, or nginx-operator in the user's cache folder.
func DefaultCache() (Cache, error) {
	if dir := os.Getenv("NGINX_OPERATOR_CACHE"); dir != "" {
		abs, err := filepath.Abs(dir)
		return Cache(abs), err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a cache folder (set NGINX_OPERATOR_CACHE to choose one): %w", err)
	}
	return Cache(filepath.Join(dir, "nginx-operator")), nil
}

// Programs contains one folder of built programs per component and version.
func (c Cache) Programs() string { return filepath.Join(string(c), "programs") }

// BuildLogs contains the output of the builds.
func (c Cache) BuildLogs() string { return filepath.Join(string(c), "build-logs") }

// Images contains the image archives that the tool builds.
func (c Cache) Images() string { return filepath.Join(string(c), "images") }

// LoadedImages contains a copy of every archive that was loaded into the cluster, so that the next
// cluster starts with the same images.
func (c Cache) LoadedImages() string { return filepath.Join(string(c), "loaded-images") }

// Lock is the file that a process locks before it changes anything in the cache.
func (c Cache) Lock() string { return filepath.Join(string(c), "lock") }

// Cluster is the running cluster's folder.
func (c Cache) Cluster() Cluster { return Cluster(filepath.Join(string(c), "cluster")) }

// Cluster is the folder of one cluster, from `up` to `down`.
type Cluster string

// Config describes the cluster to its supervisor.
func (c Cluster) Config() string { return filepath.Join(string(c), "config.json") }

// Status is the file to which the supervisor writes the cluster's status.
func (c Cluster) Status() string { return filepath.Join(string(c), "status.json") }

// PKI contains the keys, certificates and kubeconfigs of the components.
func (c Cluster) PKI(name string) string { return filepath.Join(string(c), "pki", name) }

// Kubeconfig is for users of the machine, through the loopback forwarder.
func (c Cluster) Kubeconfig() string { return filepath.Join(string(c), "kubeconfig") }

// InternalKubeconfig is for administrators inside the cluster's namespaces.
func (c Cluster) InternalKubeconfig() string { return c.PKI("admin.kubeconfig") }

// Etcd contains the database.
func (c Cluster) Etcd() string { return filepath.Join(string(c), "etcd") }

// Audit contains the API server's audit log and its policy.
func (c Cluster) Audit(name string) string { return filepath.Join(string(c), "audit", name) }

// Logs contains one log per component. A node's components have a folder of their own.
func (c Cluster) Logs() string { return filepath.Join(string(c), "logs") }

// Log is the log of a component; node is 0 for the control plane.
func (c Cluster) Log(component string, node int) string {
	if node == 0 {
		return filepath.Join(c.Logs(), component+".log")
	}
	return filepath.Join(c.Logs(), "node-"+strconv.Itoa(node), component+".log")
}

// Node is the folder with a node's configuration, and with what the node sees as its /var/lib and
// /var/log.
func (c Cluster) Node(node int, elem ...string) string {
	return filepath.Join(append([]string{string(c), "node-" + strconv.Itoa(node)}, elem...)...)
}
