package webhookserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/conversion"
)

// TestLargeReviewsAreHandledAlone: of reviews just within the limits, of the lists whose items take the most memory once they
// are decoded, the conversion handles one at a time. It takes no more memory for a value than reviewLimits says.
func TestLargeReviewsAreHandledAlone(t *testing.T) {
	const clients = 4
	handler := conversion.Webhook(conversion.V1Alpha1ToHub)
	var running, most atomic.Int64
	_, url, _ := serve(t.Context(), t, 0, func(w http.ResponseWriter, r *http.Request) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		handler.ServeHTTP(w, r)
	})
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	const review = `{"request":{"uid":"a","desiredAPIVersion":"operator.example.com/%s","objects":[{"apiVersion":"operator.example.com/%s","kind":"NginxOperator",%s}]}}`
	items := strings.Repeat("{},", reviewLimits.JSON.Values/2-100) + "{}"
	for name, body := range map[string]string{
		"containers": fmt.Sprintf(review, "v1alpha1", "v1alpha2", `"spec":{"podTemplate":{"containers":[`+items+`]}}`),
		"conditions": fmt.Sprintf(review, "v1alpha1", "v1alpha2", `"status":{"conditions":[`+items+`]}`),
		"containers in an annotation": fmt.Sprintf(review, "v1alpha2", "v1alpha1",
			`"metadata":{"annotations":{"`+conversion.AnnotationSpec+`":"{\"podTemplate\":{\"containers\":[`+items+`]}}"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			most.Store(0)
			var sent sync.WaitGroup
			for range clients {
				sent.Go(func() {
					response, err := client.Post(url, "application/json", strings.NewReader(body))
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
