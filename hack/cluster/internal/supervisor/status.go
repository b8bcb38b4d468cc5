package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// Phase is how far the cluster has come.
type Phase string

// The phases in their order; Failed can follow any of the first two.
const (
	Starting Phase = "starting"
	Ready    Phase = "ready"
	Stopping Phase = "stopping"
	Failed   Phase = "failed"
)

// Status is what the supervisor tells the tool, by a file.
type Status struct {
	Phase Phase `json:"phase"`
	// Message says what is being waited for, or why it failed.
	Message    string            `json:"message"`
	Nodes      []NodeStatus      `json:"nodes"`
	Components []ComponentStatus `json:"components"`
}

// NodeStatus names the process that holds a node's namespaces. The id counts
// inside the cluster's process namespace.
type NodeStatus struct {
	Node topology.Node `json:"node"`
	PID  int           `json:"pid"`
}

// ComponentStatus is how one program is.
type ComponentStatus struct {
	Name string `json:"name"`
	// Node is 0 for the control plane.
	Node     int       `json:"node"`
	Running  bool      `json:"running"`
	Since    time.Time `json:"since"`
	Restarts int       `json:"restarts"`
	// LastExit is how it ended the last time, if it did.
	LastExit string `json:"lastExit,omitempty"`
}

// ReadStatus reads what the supervisor last wrote; a status of no phase says
// that it has not written yet.
func ReadStatus(cluster state.Cluster) (Status, error) {
	content, err := os.ReadFile(cluster.Status())
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, err
	}
	var status Status
	if err := json.Unmarshal(content, &status); err != nil {
		return Status{}, fmt.Errorf("reading %s: %w", cluster.Status(), err)
	}
	return status, nil
}

// NodePID is the process that holds a node's namespaces.
func (s Status) NodePID(node topology.Node) (int, error) {
	for _, candidate := range s.Nodes {
		if candidate.Node == node {
			return candidate.PID, nil
		}
	}
	return 0, fmt.Errorf("there is no %s: the cluster has %d node(s)", node.Name(), len(s.Nodes))
}
