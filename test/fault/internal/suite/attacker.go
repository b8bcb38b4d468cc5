package suite

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// attacker reads the orders to the pods of a run, and sends the pods others. None may be accepted.
type attacker struct {
	mu   sync.Mutex
	pods map[string]http.Handler
	// captured are all orders that pods have got.
	captured []instanceapi.SignedOrder
	// success describes the first attack that succeeded.
	success string
}

// attacks are what an attacker does to a pod that gets an order. pass passes the order on.
var attacks = map[string]func(a *attacker, pod string, captured instanceapi.SignedOrder, pass func()){
	// Orders are sent again after they were carried out: to this pod and to others, the last one and earlier ones.
	"captures-orders": func(a *attacker, _ string, _ instanceapi.SignedOrder, pass func()) {
		pass()
		for pod := range a.targets() {
			for _, order := range a.orders() {
				a.send("replayed", pod, order)
			}
		}
	},
	// Orders with other contents arrive before those of the operator.
	"forges-orders": func(a *attacker, pod string, captured instanceapi.SignedOrder, pass func()) {
		for what, order := range forged(captured) {
			a.send(what, pod, order)
		}
		pass()
	},
}

// attacked returns a fault that attacks the pod that gets an order.
func (b *disturbedContainers) attacked(with func(*attacker, string, instanceapi.SignedOrder, func())) clientFault {
	return func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		captured := instanceapi.SignedOrder{
			Order: r.Header.Get(instanceapi.HeaderOrder), Signature: r.Header.Get(instanceapi.HeaderSignature), Body: body,
		}
		b.attacker.captures(captured)
		pod, _ := r.Context().Value(podKey{}).(string)
		with(&b.attacker, pod, captured, func() { answer.ServeHTTP(w, r) })
	}
}

// finds records the handler of a pod.
func (a *attacker) finds(pod string, answer http.Handler) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pods[pod] = answer
}

func (a *attacker) captures(order instanceapi.SignedOrder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.captured = append(a.captured, order)
}

func (a *attacker) orders() []instanceapi.SignedOrder {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.captured)
}

func (a *attacker) targets() map[string]http.Handler {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.pods)
}

// send sends a pod an order, which it must refuse.
func (a *attacker) send(what, pod string, order instanceapi.SignedOrder) {
	answer := a.targets()[pod]
	if answer == nil {
		return
	}
	r := httptest.NewRequest(http.MethodPost, instanceapi.PathOrders, bytes.NewReader(order.Body))
	r.Header.Set(instanceapi.HeaderOrder, order.Order)
	r.Header.Set(instanceapi.HeaderSignature, order.Signature)
	recorded := httptest.NewRecorder()
	func() {
		// A pod that is gone breaks the connection off.
		defer func() { _ = recover() }()
		answer.ServeHTTP(recorded, r)
	}()
	var status instanceapi.Status
	if recorded.Code != http.StatusOK || json.Unmarshal(recorded.Body.Bytes(), &status) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.success == "" {
		a.success = fmt.Sprintf("pod %s has accepted an order that was %s", pod, what)
	}
}

// succeeded returns an error if an attack has succeeded.
func (a *attacker) succeeded() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.success != "" {
		return errors.New(a.success)
	}
	return nil
}

// forged returns orders that are like a captured one, but load a configuration of the attacker.
func forged(captured instanceapi.SignedOrder) map[string]instanceapi.SignedOrder {
	header := http.Header{}
	header.Set(instanceapi.HeaderOrder, captured.Order)
	order, err := readOrder(header)
	files := map[string]string{"site.conf": "of the attacker"}
	revision := nginxconf.Revision(files)
	body, err2 := instanceapi.EncodeContents(instanceapi.Contents{revision: files})
	_, key, err3 := ed25519.GenerateKey(nil)
	if errors.Join(err, err2, err3) != nil {
		return nil
	}
	order.Number++
	order.Requested = instanceapi.Requested{Test: revision, Load: revision}
	own, err := instanceapi.Sign(key, order, body)
	if err != nil {
		return nil
	}
	altered, unsigned, claimed := own, own, own
	altered.Signature, unsigned.Signature = captured.Signature, ""
	id, _, _ := strings.Cut(captured.Signature, ".")
	_, digits, _ := strings.Cut(own.Signature, ".")
	claimed.Signature = id + "." + digits
	other := captured
	other.Body = body
	all := map[string]instanceapi.SignedOrder{
		"signed by another": own, "altered": altered, "unsigned": unsigned, "signed by another as if by the operator": claimed,
	}
	if len(captured.Body) > 0 {
		all["given another body"] = other
	}
	if text, err := base64.StdEncoding.DecodeString(captured.Order); err == nil {
		all["signed for another text"] = instanceapi.SignedOrder{
			Order: base64.StdEncoding.EncodeToString(append([]byte(" "), text...)), Signature: captured.Signature, Body: captured.Body,
		}
	}
	return all
}
