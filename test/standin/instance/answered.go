package instance

import (
	"encoding/json"
	"net/http"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/internal/tee"
)

// answered calls then after each request: order reports whether it was an order, and ok whether the client got a status
// that it can read, whatever was done to the answer on the way.
func answered(handler http.Handler, then func(order, ok bool)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok := false
		// A handler may break the connection off.
		defer func() { then(r.URL.Path == instanceapi.PathOrders, ok) }()
		copied := tee.New(w)
		handler.ServeHTTP(copied, r)
		var status instanceapi.Status
		ok = r.Context().Err() == nil && copied.Code == http.StatusOK &&
			json.Unmarshal(copied.Body.Bytes(), &status) == nil && status.Protocol == instanceapi.Protocol
	})
}
