package webhookserver

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	apiconversion "example.com/nginx-operator/internal/nginx/conversion"
)

// TestReviewsTakeBoundedMemory: reviews just within the limits, of the lists whose items take the most memory once they are
// decoded, are not decoded at the same time.
func TestReviewsTakeBoundedMemory(t *testing.T) {
	const (
		clients = 12
		most    = 150 << 20
	)
	scheme, registry := runtime.NewScheme(), conversion.NewRegistry()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(v1alpha2.AddToScheme(scheme))
	spoke := conversion.NewSpokeConverter(&v1alpha1.NginxOperator{}, apiconversion.HubToV1Alpha1, apiconversion.V1Alpha1ToHub)
	converter, err := conversion.NewHubSpokeConverter(&v1alpha2.NginxOperator{}, spoke)(scheme)
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.RegisterConverter(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind).GroupKind(), converter); err != nil {
		t.Fatal(err)
	}
	handler := conversion.NewWebhookHandler(scheme, registry)
	_, url, _ := serve(t.Context(), t, 0, handler.ServeHTTP)
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for name, fields := range map[string]string{
		"containers": `"spec":{"podTemplate":{"containers":[%]}}`, "conditions": `"status":{"conditions":[%]}`,
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(`{"request":{"uid":"a","desiredAPIVersion":"operator.example.com/v1alpha1","objects":[{"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperator",` +
				strings.Replace(fields, "%", strings.Repeat("{},", reviewLimits.JSON.Values/2-100)+"{}", 1) + `}]}}`)
			peak := watchHeap(t)
			var sent sync.WaitGroup
			for range clients {
				sent.Go(func() {
					response, err := client.Post(url, "application/json", bytes.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					if response.StatusCode != http.StatusOK {
						t.Errorf("%s, so nothing was decoded", response.Status)
					}
					_, err = io.Copy(io.Discard, response.Body)
					if err := errors.Join(err, response.Body.Close()); err != nil {
						t.Error(err)
					}
				})
			}
			sent.Wait()
			if got := peak(); got > most {
				t.Errorf("%d MiB were live, want at most %d", got>>20, most>>20)
			}
		})
	}
}

// watchHeap returns what returns the most memory that was live since then, in bytes, as garbage collections have found it.
func watchHeap(t *testing.T) func() uint64 {
	t.Helper()
	before := debug.SetGCPercent(20)
	stop, found := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		for {
			live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
			metrics.Read(live)
			peak = max(peak, live[0].Value.Uint64())
			select {
			case <-stop:
				found <- peak
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(stop)
		got := <-found
		debug.SetGCPercent(before)
		t.Logf("%d MiB were live at most", got>>20)
		return got
	}
}
