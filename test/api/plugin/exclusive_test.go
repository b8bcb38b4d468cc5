package plugin

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
)

// beforePatch returns the kubeconfig of an API server which another client changes just before it gets the first patch.
func beforePatch(t *testing.T, change func()) string {
	t.Helper()
	target, err := url.Parse(plane.Config.Host)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, err = rest.TransportFor(plane.Config)
	must(t, err)
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			once.Do(change)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test"}
	config.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*config, file))
	return file
}

// TestConcurrentChange: a change that depends on the whole spec is refused if another client has changed it meanwhile, and all
// others are made beside it.
func TestConcurrentChange(t *testing.T) {
	for command, tt := range map[string]struct {
		code int
		says string
		made func(n *v1alpha2.NginxOperator) bool
	}{
		"maintenance web on": {1, "the object has been modified", func(n *v1alpha2.NginxOperator) bool {
			return len(n.Annotations) > 0 || n.Spec.Config.Files["maintenance.conf"] != ""
		}},
		"scale web 3": {0, "scaled to 3 pods", func(n *v1alpha2.NginxOperator) bool { return *n.Spec.Replicas == 3 }},
	} {
		t.Run(command, func(t *testing.T) {
			nginx := create(t, newNamespace(t), "web", metav1.ConditionTrue, "")
			const site = "server { listen 80; return 204; }"
			kubeconfig := beforePatch(t, func() {
				other := nginx.DeepCopy()
				other.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": site}}
				must(t, kube.Update(t.Context(), other))
			})
			run(t, kubeconfig, io.Discard, append(strings.Fields(command), "-n", nginx.Namespace)...).want(t, tt.code, tt.says)
			must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), nginx))
			if nginx.Spec.Config == nil || nginx.Spec.Config.Files["site.conf"] != site {
				t.Errorf("the other change is lost: %+v", nginx.Spec.Config)
			}
			if made := tt.made(nginx); made != (tt.code == 0) {
				t.Errorf("exit code %d, but the change is made: %t", tt.code, made)
			}
		})
	}
}
