package suite

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// orderFaults are what instances, or the network, do to orders. Queries get no fault.
var orderFaults = map[string]clientFault{
	"lost-answer":        lostAnswer,
	"half-an-order":      halfAnOrder,
	"slow-orders":        slowOrders,
	"hangs-on-orders":    clientFaults["hangs"],
	"blocks-orders":      func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusForbidden) },
	"refuses-orders-401": refusesAs(instanceapi.UnknownKey),
	"refuses-orders-403": refusesAs(instanceapi.Foreign),
	"refuses-orders-409": refusesAs(instanceapi.Replayed),
	"refuses-orders-413": refusesAs(instanceapi.Oversized),
	"refuses-orders-503": refusesAs(instanceapi.Busy),
}

func init() {
	// What instances report about the orders that they take.
	clientFaults["takes-no-order"] = said(map[string]any{"orders": map[string]any{}})
	clientFaults["knows-no-key"] = saidOfOrders("keys", []any{"0000000000000000"})
	clientFaults["other-process"] = saidOfOrders("process", "another")
	clientFaults["high-number"] = saidOfOrders("number", 1<<52)
	clientFaults["low-number"] = saidOfOrders("number", 0)
	clientFaults["old"] = saidOfOrders("uptimeMilliseconds", time.Hour.Milliseconds())
}

// saidOfOrders responds with another value of a field about orders.
func saidOfOrders(field string, value any) clientFault {
	return changed(func(status map[string]any) {
		if orders, ok := status["orders"].(map[string]any); ok {
			orders[field] = value
		}
	})
}

// lostAnswer carries out an order, and breaks the connection off before it answers.
func lostAnswer(_ http.ResponseWriter, r *http.Request, answer http.Handler) {
	answer.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// slowOrders carries out an order after longer than the operator waits for an answer to a query.
func slowOrders(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	if pause(r.Context(), 3*time.Second) == nil {
		answer.ServeHTTP(w, r)
	}
}

// halfAnOrder passes on only the first half of an order's body.
func halfAnOrder(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body[:len(body)/2]))
	r.ContentLength = int64(len(body) / 2)
	answer.ServeHTTP(w, r)
}

// refusesAs refuses an order that the instance should accept.
func refusesAs(refusal instanceapi.Refusal) clientFault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		http.Error(w, string(refusal), refusal.Code())
	}
}
