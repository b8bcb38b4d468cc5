package suite

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/signingkey"
	"example.com/nginx-operator/test/fault/internal/journey"
)

// orderKeys is the Secret with the keys that sign orders, in journeys whose operator has one of its own.
var orderKeys = journey.Object{Kind: "Secret", Version: "v1", Name: "nginx-operator-order-key"}

// ownNamespace is the argument that gives the operator of a journey its own Secrets.
const ownNamespace = "--own-namespace={namespace}"

// hasOwnKeys reports whether the operator of a run has keys that no other run uses.
func (p *caseRun) hasOwnKeys() bool { return slices.Contains(p.journey.Arguments, ownNamespace) }

// observeKeys remembers the keys that sign orders now, the current one first.
func (p *caseRun) observeKeys(ctx context.Context) (now []ed25519.PrivateKey, err error) {
	secret, err := p.get(ctx, p.namespace, orderKeys)
	if err != nil || secret == nil {
		return nil, err
	}
	var live corev1.Secret
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(secret.Object, &live); err != nil {
		return nil, fmt.Errorf("read %s: %w", &orderKeys, err)
	}
	now = signingkey.Parse(live.Data)
	for _, key := range now {
		if !slices.ContainsFunc(p.keys, func(k ed25519.PrivateKey) bool { return k.Equal(key) }) {
			p.keys = append(p.keys, key)
		}
	}
	return now, nil
}

// withdrawn waits until every pod accepts an order that is signed with the current key, and refuses the same order signed
// with a key that was withdrawn during the run.
func (p *caseRun) withdrawn(ctx context.Context) error {
	if !p.hasOwnKeys() {
		return nil
	}
	return p.await(ctx, func(ctx context.Context) error {
		now, err := p.observeKeys(ctx)
		if err != nil {
			return err
		}
		old := slices.DeleteFunc(slices.Clone(p.keys), func(k ed25519.PrivateKey) bool {
			return slices.ContainsFunc(now, func(n ed25519.PrivateKey) bool { return n.Equal(k) })
		})
		if len(now) == 0 || len(old) == 0 {
			return fmt.Errorf("there are %d keys, and %d were withdrawn", len(now), len(old))
		}
		pods, err := p.resource(p.namespace, "Pod", "v1")
		if err != nil {
			return err
		}
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := p.orders.accepts(list.Items[i].GetName(), now[0], old); err != nil {
				return err
			}
		}
		return nil
	})
}

// accepts returns an error unless a pod accepts an order signed with one key, and refuses it signed with others.
func (b *orderBook) accepts(pod string, key ed25519.PrivateKey, others []ed25519.PrivateKey) error {
	b.mu.Lock()
	answer := b.pod(pod).answer
	b.mu.Unlock()
	if answer == nil {
		return fmt.Errorf("pod %s has not started", pod)
	}
	for _, other := range others {
		if code, text := sendAgain(answer, other); code != instanceapi.UnknownKey.Code() || !strings.Contains(text, string(instanceapi.UnknownKey)) {
			return fmt.Errorf("pod %s answers an order signed with a withdrawn key with %d: %.100s", pod, code, text)
		}
	}
	if code, text := sendAgain(answer, key); code != http.StatusOK {
		return fmt.Errorf("pod %s answers an order signed with the current key with %d: %.100s", pod, code, text)
	}
	return nil
}

// sendAgain orders a pod what it was ordered last, by an order that is signed with a key.
func sendAgain(answer http.Handler, key ed25519.PrivateKey) (code int, text string) {
	recorded := httptest.NewRecorder()
	answer.ServeHTTP(recorded, httptest.NewRequest(http.MethodGet, instanceapi.PathStatus, http.NoBody))
	status := instanceapi.Status{}
	if err := json.Unmarshal(recorded.Body.Bytes(), &status); err != nil || status.Orders == nil {
		return recorded.Code, "a status without orders"
	}
	signed, err := instanceapi.Sign(key, status.Orders.Next(status.Requested, time.Now()), nil)
	if err != nil {
		return 0, err.Error()
	}
	r := httptest.NewRequest(http.MethodPost, instanceapi.PathOrders, bytes.NewReader(nil))
	r.Header.Set(instanceapi.HeaderOrder, signed.Order)
	r.Header.Set(instanceapi.HeaderSignature, signed.Signature)
	recorded = httptest.NewRecorder()
	answer.ServeHTTP(recorded, r)
	return recorded.Code, recorded.Body.String()
}
