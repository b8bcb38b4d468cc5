package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"example.com/nginx-operator/test/hostile"
)

// sender sends bodies to a namespace as they are, without a client that could change them.
type sender struct {
	http      *http.Client
	host      string
	namespace string
}

// newSender creates a namespace that enforces the restricted Pod Security Standard.
func newSender(t *testing.T) sender {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "hostile-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := plane.Client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(plane.Config)
	config.WrapTransport = nil
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return sender{client, strings.TrimSuffix(config.Host, "/"), namespace.Name}
}

// prepare creates what the specs to inject into refer to. Otherwise, the operator would report that
// it is missing.
func (s sender) prepare(t *testing.T) {
	t.Helper()
	for _, name := range []string{"site", "pages", "settings"} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Data: map[string]string{"site.conf": "server { listen 80; }"}}
		if err := plane.Client.Create(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
}

// answer is the API server's response.
type answer struct {
	code    int
	message string
	// stored is the object as accepted.
	stored []byte
}

// post creates an object in a collection such as "api/v1 pods".
func (s sender) post(ctx context.Context, collection, query, body string) (answer, error) {
	group, resource, _ := strings.Cut(collection, " ")
	url := fmt.Sprintf("%s/%s/namespaces/%s/%s?%s", s.host, group, s.namespace, resource, query)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(strings.ReplaceAll(body, hostile.Namespace, s.namespace)))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode == http.StatusCreated {
		return answer{code: response.StatusCode, stored: text}, err
	}
	var status metav1.Status
	if err := json.Unmarshal(text, &status); err != nil {
		return answer{}, fmt.Errorf("the API server answers %s: %.200q", response.Status, text)
	}
	return answer{code: response.StatusCode, message: status.Message}, nil
}

// send sends a case, after the objects that must exist before it.
func (s sender) send(ctx context.Context, c hostile.Case) (answer, error) {
	for _, object := range c.Before {
		if a, err := s.post(ctx, object.Path, "", object.Body); err != nil || a.code != http.StatusCreated {
			return a, fmt.Errorf("%s: what is there before is refused: %d %s %w", c.Name, a.code, a.message, err)
		}
	}
	validation := "fieldValidation=Strict"
	if c.Lenient {
		validation = "fieldValidation=Ignore"
	}
	if c.DryRun {
		validation += "&dryRun=All"
	}
	return s.post(ctx, "apis/"+c.Kind.APIVersion()+" "+c.Kind.Resource, validation, c.Body)
}
