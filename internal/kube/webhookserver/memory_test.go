package webhookserver

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	apiconversion "example.com/nginx-operator/internal/nginx/conversion"
)

// TestLargeReviewsAreHandledAlone: of reviews just within the limits, of the lists whose items take the most memory once they
// are decoded, the conversion handles one at a time. It takes no more memory for a value than reviewLimits says.
func TestLargeReviewsAreHandledAlone(t *testing.T) {
	const clients = 12
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
	var running, most atomic.Int64
	_, url, _ := serve(t.Context(), t, 0, func(w http.ResponseWriter, r *http.Request) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		handler.ServeHTTP(w, r)
	})
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for name, fields := range map[string]string{
		"containers": `"spec":{"podTemplate":{"containers":[%]}}`, "conditions": `"status":{"conditions":[%]}`,
	} {
		t.Run(name, func(t *testing.T) {
			most.Store(0)
			body := []byte(`{"request":{"uid":"a","desiredAPIVersion":"operator.example.com/v1alpha1","objects":[{"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperator",` +
				strings.Replace(fields, "%", strings.Repeat("{},", reviewLimits.JSON.Values/2-100)+"{}", 1) + `}]}}`)
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
			if got := most.Load(); got != 1 {
				t.Errorf("%d reviews were handled at a time", got)
			}
		})
	}
	if size := int64(reflect.TypeFor[v1alpha2.Container]().Size()); 2*size > reviewLimits.ValueMemory {
		t.Errorf("a container takes %d bytes, and as much again while its list grows; limit %d", size, reviewLimits.ValueMemory)
	}
}
