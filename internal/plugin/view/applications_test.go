package view

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"example.com/nginx-operator/api/v1alpha2"
)

// answering returns a client of an API server that answers each request, and the URIs that were requested.
func answering(t *testing.T, code int, body string) (rest.Interface, *[]string) {
	t.Helper()
	queried := &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*queried = append(*queried, r.RequestURI)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	c, err := rest.RESTClientFor(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{
		GroupVersion: &v1alpha2.GroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c, queried
}

const listedApplication = `{"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperator","metadata":{"name":"web-%d","labels":{"team":"shop"},` +
	`"managedFields":[{"manager":"x","fieldsV1":{"f:spec":{}}}],"generation":3},"spec":{"replicas":2},"status":{"revision":7}}`

// TestReadApplications: a list is decoded whatever the order of its fields, without the fields that only the API server needs.
func TestReadApplications(t *testing.T) {
	var items []string
	for i := range 3 {
		items = append(items, fmt.Sprintf(listedApplication, i))
	}
	all := strings.Join(items, ",")
	want := &v1alpha2.NginxOperatorList{
		TypeMeta: metav1.TypeMeta{APIVersion: "operator.example.com/v1alpha2", Kind: "NginxOperatorList"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"},
	}
	for i := range 3 {
		want.Items = append(want.Items, v1alpha2.NginxOperator{
			TypeMeta:   metav1.TypeMeta{APIVersion: "operator.example.com/v1alpha2", Kind: "NginxOperator"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{"team": "shop"}, Generation: 3},
			Spec:       v1alpha2.NginxOperatorSpec{Replicas: new(int32(2))}, Status: v1alpha2.NginxOperatorStatus{Revision: 7},
		})
	}
	selector, err := labels.Parse("team=shop")
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"as the API server sends it": `{"kind":"NginxOperatorList","apiVersion":"operator.example.com/v1alpha2","metadata":{"resourceVersion":"9"},"items":[` + all + `]}`,
		"in another order":           `{"items":[` + all + `],"unknown":{"items":[1]},"metadata":{"resourceVersion":"9"},"apiVersion":"operator.example.com/v1alpha2","kind":"NginxOperatorList"}`,
	} {
		c, queried := answering(t, http.StatusOK, body)
		list, err := ReadApplications(t.Context(), c, "shop", selector)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, list); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		uri := "/apis/operator.example.com/v1alpha2/namespaces/shop/nginxoperators?labelSelector=team%3Dshop&resourceVersion=0"
		if len(*queried) != 1 || (*queried)[0] != uri {
			t.Errorf("%s: requested %q", name, *queried)
		}
	}
}

// TestReadApplicationsFails: an answer that is cut, or is no list, is an error, and a cluster without the operator is explained.
func TestReadApplicationsFails(t *testing.T) {
	item := fmt.Sprintf(listedApplication, 0)
	for name, tt := range map[string]struct {
		code       int
		body, want string
	}{
		"cut between applications": {http.StatusOK, `{"kind":"NginxOperatorList","items":[` + item, "EOF"},
		"cut within one":           {http.StatusOK, `{"items":[` + item + "," + item[:40], "EOF"},
		"cut after the items":      {http.StatusOK, `{"items":[` + item + `]`, "EOF"},
		"no list":                  {http.StatusOK, `{"items":7}`, "no list"},
		"no object":                {http.StatusOK, `[]`, "no object"},
		"no definition":            {http.StatusNotFound, `404 page not found`, "install the operator first"},
		"no right":                 {http.StatusForbidden, `{"kind":"Status","status":"Failure","reason":"Forbidden","message":"nginxoperators is forbidden","code":403}`, "is forbidden"},
	} {
		c, _ := answering(t, tt.code, tt.body)
		if _, err := ReadApplications(t.Context(), c, "", nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
