package supervisor

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/hack/cluster/internal/state"
)

func TestConfigRoundTrip(t *testing.T) {
	cluster := state.Cluster(t.TempDir())
	want := Config{Nodes: 2, Kubernetes: "/k", Containerd: "/c", NodePrograms: "/n", KubeletVersion: "1.30", CoreDNSImage: "i", Images: []string{"a", "b"}}
	if err := WriteConfig(cluster, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestStatus(t *testing.T) {
	cluster := state.Cluster(t.TempDir())
	status, err := ReadStatus(cluster)
	if err != nil || status.Phase != "" {
		t.Errorf("before there is a status: phase %q, %v", status.Phase, err)
	}
	status.Nodes = []NodeStatus{{Node: 1, PID: 7}}
	if pid, err := status.NodePID(1); pid != 7 || err != nil {
		t.Errorf("node 1 is held by %d, %v", pid, err)
	}
	if _, err := status.NodePID(2); err == nil || !strings.Contains(err.Error(), "there is no node-2") {
		t.Errorf("node 2, which does not exist: %v", err)
	}
}

// TestForwardKeepsTheOtherHalf: if a request ends by closing the client's half of the connection,
// the other half stays open for the answer.
func TestForwardKeepsTheOtherHalf(t *testing.T) {
	listen := func() net.Listener {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := listener.Close(); err != nil {
				t.Error(err)
			}
		})
		return listener
	}
	inside, outside := listen(), listen()
	go forward(outside, inside.Addr().String())
	go func() {
		connection, err := inside.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		request, err := io.ReadAll(connection)
		if err != nil {
			t.Error(err)
		}
		if _, err := connection.Write(append([]byte("answer to "), request...)); err != nil {
			t.Error(err)
		}
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	}()
	client, err := net.DialTimeout("tcp", outside.Addr().String(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if err := client.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(client)
	if err != nil || string(answer) != "answer to question" {
		t.Errorf("got %q, %v", answer, err)
	}
}

func TestNodesReady(t *testing.T) {
	node := func(name, ready string) string {
		return `{"metadata":{"name":"` + name + `"},"status":{"conditions":[{"type":"Ready","status":"` + ready + `"}]}}`
	}
	tests := map[string]struct{ nodes, want string }{
		"ready":                     {node("node-1", "True"), ""},
		"one node not ready":        {node("node-1", "True") + "," + node("node-2", "False"), "node-2 is not ready"},
		"a node without conditions": {`{"metadata":{"name":"node-1"}}`, "node-1 is not ready"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if _, err := io.WriteString(w, `{"items":[`+test.nodes+`]}`); err != nil {
					t.Error(err)
				}
			}))
			t.Cleanup(server.Close)
			client := &api{server: server.URL}
			got := ""
			if err := client.nodesReady(t.Context()); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error %q, want %q", got, test.want)
			}
		})
	}
}
