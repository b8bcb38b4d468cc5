package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"example.com/nginx-operator/api/v1alpha2"
)

// ReadApplications reads the applications of a namespace, or of all if it is empty, that a selector selects; nil selects all.
// They are decoded while the API server still sends, so a large fleet takes little longer than its answer.
func ReadApplications(ctx context.Context, c rest.Interface, namespace string, selector labels.Selector) (*v1alpha2.NginxOperatorList, error) {
	// Version 0 is what the API server has in memory. Pages would make it read most objects from etcd, which takes four times as
	// long.
	request := c.Get().AbsPath("/apis", v1alpha2.GroupVersion.String()).NamespaceIfScoped(namespace, namespace != "").Resource("nginxoperators").
		SetHeader("Accept", "application/json").Param("resourceVersion", "0")
	if selector != nil {
		request = request.Param("labelSelector", selector.String())
	}
	body, err := request.Stream(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("the cluster has no NginxOperators: install the operator first: %w", err)
	case err != nil:
		return nil, err
	}
	defer func() { _ = body.Close() }() // It has been read.
	list, err := decodeApplications(body)
	if err != nil {
		return nil, fmt.Errorf("read the list of applications: %w", err)
	}
	return list, nil
}

// decodeApplications decodes a list, one application after the other.
func decodeApplications(body io.Reader) (*v1alpha2.NginxOperatorList, error) {
	list := &v1alpha2.NginxOperatorList{}
	decoder := json.NewDecoder(body)
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.Join(errors.New("the answer is no object"), err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		if err := decodeField(decoder, name, list); err != nil {
			return nil, err
		}
	}
	// A cut answer lacks its end.
	_, err := decoder.Token()
	return list, err
}

// decodeField decodes a field of a list.
func decodeField(decoder *json.Decoder, name json.Token, list *v1alpha2.NginxOperatorList) error {
	switch name {
	case "kind":
		return decoder.Decode(&list.Kind)
	case "apiVersion":
		return decoder.Decode(&list.APIVersion)
	case "metadata":
		return decoder.Decode(&list.ListMeta)
	case "items":
		return decodeItems(decoder, list)
	}
	var unknown json.RawMessage
	return decoder.Decode(&unknown)
}

// decodeItems decodes the items of a list.
func decodeItems(decoder *json.Decoder, list *v1alpha2.NginxOperatorList) error {
	if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
		return errors.Join(errors.New("the items are no list"), err)
	}
	for decoder.More() {
		item := v1alpha2.NginxOperator{}
		// Who manages which field is left out, as kubectl does: it is half of the text.
		into := struct {
			*v1alpha2.NginxOperator
			Metadata *listedMeta `json:"metadata"`
		}{&item, &listedMeta{ObjectMeta: &item.ObjectMeta}}
		if err := decoder.Decode(&into); err != nil {
			return err
		}
		list.Items = append(list.Items, item)
	}
	_, err := decoder.Token()
	return err
}

// listedMeta is the metadata of an object, whose managedFields are not decoded.
type listedMeta struct {
	*metav1.ObjectMeta
	ManagedFields ignored `json:"managedFields"`
}

// ignored is a value that is not decoded.
type ignored struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*ignored) UnmarshalJSON([]byte) error { return nil }
