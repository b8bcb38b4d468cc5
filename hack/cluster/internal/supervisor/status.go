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

// Phase is the phase of the cluster's life.
type Phase string

// The phases, in order. Failed can follow Starting or Ready.
const (
	Starting Phase = "starting"
	Ready    Phase = "ready"
	Stopping Phase = "stopping"
	Failed   Phase = "failed"
)

// Status is what the supervisor reports to the tool, in a file.
type Status struct {
	Phase Phase `json:"phase"`
	// Message is what the supervisor waits for, or why the cluster failed.
	Message    string            `json:"message"`
	Nodes      []NodeStatus      `json:"nodes"`
	Components []ComponentStatus `json:"components"`
}

// NodeStatus contains the process that holds a node's namespaces. Its ID is the one in the
// cluster's process namespace.
type NodeStatus struct {
	Node topology.Node `json:"node"`
	PID  int           `json:"pid"`
}

// ComponentStatus is the status of one program.
type ComponentStatus struct {
	Name string `json:"name"`
	// Node is 0 for the control plane.
	Node     int       `json:"node"`
	Running  bool      `json:"running"`
	Since    time.Time `json:"since"`
	Restarts int       `json:"restarts"`
	// LastExit is how it last ended, if it has.
	LastExit string `json:"lastExit,omitempty"`
}

// ReadStatus reads the status that the supervisor last wrote. Its phase is empty if the supervisor
// has not written one yet.
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

// NodePID returns the process that holds a node's namespaces.
func (s Status) NodePID(node topology.Node) (int, error) {
	for _, candidate := range s.Nodes {
		if candidate.Node == node {
			return candidate.PID, nil
		}
	}
	return 0, fmt.Errorf("there is no %s: the cluster has %d node(s)", node.Name(), len(s.Nodes))
}
