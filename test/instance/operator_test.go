//go:build instance

package instance_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// podUID is the UID of every pod.
const podUID = "5d3b7a52-9c0e-4d6b-8a51-1f6f0b5f2c11"

// operator stands for the operator: it has the keys, and the pods trust it.
type operator struct {
	application instanceapi.Application
	// keys are the private keys that pods trust, the newest first. The first one signs.
	keys []ed25519.PrivateKey
	// follow is what pods may load without an order.
	follow *instanceapi.Follow
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	return &operator{
		application: instanceapi.Application{Namespace: "shop", Name: "web", UID: "0c8b1c1e-6a57-4f0e-9a39-9f6d0f0a7e55"},
		keys:        []ed25519.PrivateKey{newKey(t)},
	}
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	must(t, err)
	return key
}

func keyID(key ed25519.PrivateKey) string {
	return instanceapi.KeyID(key.Public().(ed25519.PublicKey))
}

// trust returns the content of the trust file.
func (o *operator) trust(t *testing.T) string {
	t.Helper()
	trust := instanceapi.Trust{Application: o.application, Follow: o.follow}
	for _, key := range o.keys {
		trust.Keys = append(trust.Keys, instanceapi.NewPublicKey(key.Public().(ed25519.PublicKey)))
	}
	text, err := trust.Text()
	must(t, err)
	return text
}

// nextOrder returns the next order for an instance.
func nextOrder(receiver instanceapi.Orders, requested instanceapi.Requested) instanceapi.Order {
	return receiver.Next(requested, time.Now())
}

// receiver returns what the instance reports for its next order.
func (p *Pod) receiver() instanceapi.Orders {
	p.t.Helper()
	return *p.until("it receives orders", func(s instanceapi.Status) bool { return s.Orders != nil }).Orders
}

// signed returns the next order. Nil contents: it has no body.
func (p *Pod) signed(test, load string, contents instanceapi.Contents) instanceapi.SignedOrder {
	p.t.Helper()
	order := nextOrder(p.receiver(), instanceapi.Requested{Test: test, Load: load})
	signed, err := instanceapi.Sign(p.operator.keys[0], order, encoded(p.t, contents))
	must(p.t, err)
	return signed
}

func encoded(t *testing.T, contents instanceapi.Contents) []byte {
	t.Helper()
	if contents == nil {
		return nil
	}
	body, err := instanceapi.EncodeContents(contents)
	must(t, err)
	return body
}

// post sends an order. It returns the status, or why the instance did not accept the order.
func (p *Pod) post(order instanceapi.SignedOrder) (status instanceapi.Status, refusal instanceapi.Refusal, err error) {
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://127.0.0.1:9113"+instanceapi.PathOrders, bytes.NewReader(order.Body))
	if err != nil {
		return status, "", err
	}
	for name, value := range map[string]string{instanceapi.HeaderOrder: order.Order, instanceapi.HeaderSignature: order.Signature} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	client := &http.Client{Transport: p.client.Transport, Timeout: instanceapi.OrderWait + 10*time.Second}
	response, err := client.Do(request)
	if err != nil {
		return status, "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		refusal, err = refusalIn(response)
		return status, refusal, err
	}
	return status, "", json.NewDecoder(response.Body).Decode(&status)
}

// refusalIn returns the refusal in a response, which must have its code.
func refusalIn(response *http.Response) (instanceapi.Refusal, error) {
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	refusal := instanceapi.Refusal(strings.TrimSpace(string(text)))
	if !slices.Contains(instanceapi.Refusals, refusal) || refusal.Code() != response.StatusCode {
		return "", fmt.Errorf("the order was answered with %s %q", response.Status, text)
	}
	return refusal, nil
}

// sendOrder sends an order with hints, and returns the status in the response. It may come before the order is carried out.
func (p *Pod) sendOrder(requested instanceapi.Requested, contents instanceapi.Contents, hints instanceapi.Hints) instanceapi.Status {
	p.t.Helper()
	order := nextOrder(p.receiver(), requested)
	order.Hints = hints
	signed, err := instanceapi.Sign(p.operator.keys[0], order, encoded(p.t, contents))
	must(p.t, err)
	status, refusal, err := p.post(signed)
	if err != nil || refusal != "" {
		p.t.Fatalf("the order %+v was not accepted: %s (%v)", requested, refusal, err)
	}
	return status
}

// orderWithHints sends an order with hints, and returns the status once it is carried out, also on a busy machine.
func (p *Pod) orderWithHints(requested instanceapi.Requested, contents instanceapi.Contents, hints instanceapi.Hints) instanceapi.Status {
	p.t.Helper()
	if status := p.sendOrder(requested, contents, hints); carriedOut(status) {
		return status
	}
	return p.until("the order is carried out", carriedOut)
}

// carriedOut reports whether an instance has done what it was ordered to, or will not.
func carriedOut(s instanceapi.Status) bool {
	if load := s.Requested.Load; load != "" {
		r := found(s, load)
		return s.Serving == load && !s.Comparing || r.Test == instanceapi.Failed || r.Load == instanceapi.Failed
	}
	test := s.Requested.Test
	return test == "" || s.Serving == test || found(s, test).Test != ""
}

// order orders a test and a load, and returns the status once they are carried out.
func (p *Pod) order(test, load string, contents instanceapi.Contents) instanceapi.Status {
	p.t.Helper()
	return p.orderWithHints(instanceapi.Requested{Test: test, Load: load}, contents, instanceapi.Hints{})
}
