// Package orders receives the operator's orders: it verifies that an order is the operator's own, for
// this process, and new, reads its body, and passes it on. Whatever is not accepted is counted.
package orders

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// Receiver receives orders.
type Receiver struct {
	trust   func() instanceapi.Trust
	podUID  string
	process string
	started time.Time

	// receiving holds a value while the body of an order is read, so that at most one is in memory.
	receiving chan struct{}

	mu sync.Mutex
	// number is that of the last order that was passed on.
	number   int64
	accepted int64
	refused  map[instanceapi.Refusal]int64
}

// NewReceiver returns a Receiver of the orders for the pod with the UID. trust returns whose orders it
// accepts; it is not called concurrently.
func NewReceiver(podUID string, trust func() instanceapi.Trust) *Receiver {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		panic("orders: crypto/rand never fails: " + err.Error())
	}
	return &Receiver{
		trust: trust, podUID: podUID, process: hex.EncodeToString(id), started: time.Now(),
		receiving: make(chan struct{}, 1), refused: map[instanceapi.Refusal]int64{},
	}
}

// Describe returns what the operator has to know to send an order.
func (r *Receiver) Describe() *instanceapi.Orders {
	r.mu.Lock()
	defer r.mu.Unlock()
	return new(r.describe(r.trust()))
}

func (r *Receiver) describe(trust instanceapi.Trust) instanceapi.Orders {
	number := r.number
	if trust.Follow != nil {
		// The clocks of two operators may differ: the pod would follow again right after an order with a lower number.
		number = max(number, trust.Follow.Number)
	}
	return instanceapi.Orders{
		Application: trust.Application, PodUID: r.podUID, Process: r.process,
		Uptime: time.Since(r.started).Milliseconds(), Number: number, Keys: trust.IDs(),
	}
}

// Follow returns the revision that the pod may load without an order, because the operator cannot
// reach it; empty if there is none, or if a later order has come.
func (r *Receiver) Follow() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if follow := r.trust().Follow; follow.Permits(r.podUID, r.number) {
		return follow.Revision
	}
	return ""
}

// Counts returns how many orders were accepted, and how many were not, by the reason.
func (r *Receiver) Counts() (accepted int64, refused map[instanceapi.Refusal]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	refused = map[instanceapi.Refusal]int64{}
	for _, reason := range instanceapi.Refusals {
		refused[reason] = r.refused[reason]
	}
	return r.accepted, refused
}

// Receive calls take with the order of a request and its contents, and returns what it requests, or why it is not
// accepted. take must not block: it is called in the order of the numbers, so that an older order never takes the
// place of a newer one. An order that take refuses is used up: it is not accepted later either.
func (r *Receiver) Receive(request *http.Request, take func(instanceapi.Order, instanceapi.Contents) instanceapi.Refusal) (instanceapi.Requested, instanceapi.Refusal) {
	order, contents, refusal := r.receive(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	if refusal == "" && order.Number <= r.number {
		// Another order was faster.
		refusal = instanceapi.Replayed
	}
	if refusal == "" {
		r.number = order.Number
		refusal = take(order, contents)
	}
	if refusal != "" {
		r.refused[refusal]++
		return instanceapi.Requested{}, refusal
	}
	r.accepted++
	return order.Requested, ""
}

// ReceivePurges returns the purges in a request, or why they are not accepted.
func (r *Receiver) ReceivePurges(request *http.Request) (instanceapi.Purges, instanceapi.Refusal) {
	purges, refusal := r.receivePurges(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	if refusal != "" {
		r.refused[refusal]++
	} else {
		r.accepted++
	}
	return purges, refusal
}

func (r *Receiver) receivePurges(request *http.Request) (instanceapi.Purges, instanceapi.Refusal) {
	r.mu.Lock()
	trust := r.trust()
	order, refusal := r.describe(trust).VerifyPurges(trust, request.Header.Get(instanceapi.HeaderOrder), request.Header.Get(instanceapi.HeaderSignature))
	r.mu.Unlock()
	if refusal != "" {
		return instanceapi.Purges{}, refusal
	}
	var purges instanceapi.Purges
	refusal = r.read(request, order.Body, func(body []byte) (err error) {
		purges, err = instanceapi.ParsePurges(body)
		return err
	})
	return purges, refusal
}

func (r *Receiver) receive(request *http.Request) (instanceapi.Order, instanceapi.Contents, instanceapi.Refusal) {
	r.mu.Lock()
	trust := r.trust()
	order, refusal := r.describe(trust).Verify(trust, request.Header.Get(instanceapi.HeaderOrder), request.Header.Get(instanceapi.HeaderSignature))
	r.mu.Unlock()
	if refusal != "" || order.Body == nil {
		return order, nil, refusal
	}
	var contents instanceapi.Contents
	refusal = r.read(request, order.Body, func(body []byte) (err error) {
		contents, err = decodeContents(body)
		return err
	})
	return order, contents, refusal
}

// read decodes the body of a request. It returns why the body is not accepted: another one is being read, it is not the
// one that was signed, or it cannot be decoded.
func (r *Receiver) read(request *http.Request, want *instanceapi.Body, decode func([]byte) error) instanceapi.Refusal {
	select {
	case r.receiving <- struct{}{}:
		defer func() { <-r.receiving }()
	default:
		return instanceapi.Busy
	}
	body, err := readBody(request, want)
	if err == nil {
		err = decode(body)
	}
	if err != nil {
		slog.Warn("an order has a bad body", "reason", err.Error())
		return instanceapi.BadBody
	}
	return ""
}

// readBody reads the body of an order. It returns an error unless it is the one that was signed.
func readBody(request *http.Request, want *instanceapi.Body) ([]byte, error) {
	if request.ContentLength >= 0 && request.ContentLength != want.Size {
		return nil, fmt.Errorf("it has %d bytes instead of %d", request.ContentLength, want.Size)
	}
	body, err := io.ReadAll(io.LimitReader(request.Body, want.Size+1))
	if err != nil {
		return nil, err
	}
	if !want.Matches(body) {
		return nil, fmt.Errorf("its %d bytes do not have the signed digest", len(body))
	}
	return body, nil
}

// decodeContents returns the contents in a body. It returns an error unless they are what they claim.
func decodeContents(body []byte) (instanceapi.Contents, error) {
	contents, err := instanceapi.DecodeContents(body)
	if err != nil {
		return nil, err
	}
	for revision, files := range contents {
		if got := nginxconf.Revision(files); got != revision {
			return nil, fmt.Errorf("it holds revision %s as %s", got, revision)
		}
		for name := range files {
			if name == "." || name == ".." || name != filepath.Base(name) {
				return nil, fmt.Errorf("%q is not the name of a file", name)
			}
		}
	}
	return contents, nil
}
