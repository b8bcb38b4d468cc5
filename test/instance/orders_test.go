//go:build instance

package instance_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// contentsOf returns contents, by their true revisions.
func contentsOf(all ...map[string]string) instanceapi.Contents {
	contents := instanceapi.Contents{}
	for _, files := range all {
		contents[nginxconf.Revision(files)] = files
	}
	return contents
}

// found returns the outcome of a revision in a status.
func found(s instanceapi.Status, revision string) instanceapi.Revision {
	for _, r := range s.Revisions {
		if r.Revision == revision {
			return r
		}
	}
	return instanceapi.Revision{}
}

// TestOrders: the response to an order is the status once the order is carried out. The files of a configuration come
// with an order, and need not be mounted.
func TestOrders(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		one, two := nginxconf.Revision(site("one")), nginxconf.Revision(site("two"))
		p := newPod(t, site("one")).start(image, http80)
		p.serves(one)

		status := p.order(two, one, contentsOf(site("two")))
		if status.Serving != one || status.Requested != (instanceapi.Requested{Test: two, Load: one}) || !slices.Contains(status.Available, two) {
			t.Errorf("status %+v", status)
		}
		p.outcome(two, passed)
		p.body(80, "one")

		status = p.order(two, two, nil)
		if status.Serving != two || status.Comparing || found(status, two).Load != instanceapi.Passed || status.Next != "" {
			t.Errorf("status %+v", status)
		}
		p.body(80, "two")
		p.serves(two)

		// When the same is ordered again, nothing changes.
		last := status.Orders.Number
		if status = p.order(two, two, nil); status.Reloads.Succeeded != 1 || status.Orders.Number <= last {
			t.Errorf("status %+v", status)
		}
		status = p.order(two, one, nil)
		if status.Serving != one || status.Reloads != (instanceapi.Reloads{Succeeded: 2}) {
			t.Errorf("status %+v", status)
		}
		p.body(80, "one")
		must(t, p.metrics("nginx_instance_orders_accepted_total 4"))
	})
}

// TestOrderToTest: the response to an order that requests only a test has its outcome.
func TestOrderToTest(t *testing.T) {
	bad := map[string]string{"site.conf": "nonsense;"}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		one := p.ready().Serving
		for _, tt := range []struct {
			files map[string]string
			want  instanceapi.Verdict
		}{{site("two"), instanceapi.Passed}, {bad, instanceapi.Failed}} {
			revision := nginxconf.Revision(tt.files)
			status := p.order(revision, "", contentsOf(tt.files))
			if r := found(status, revision); r.Test != tt.want || r.Load != "" || status.Serving != one {
				t.Errorf("status %+v, want a test that has %s", status, tt.want)
			}
		}
		p.body(80, "one")
	})
}

// TestDryRunInAnotherPod: if another pod makes the dry run, this one does not. It makes its own before a load if it was not
// told the result. It makes its own as well if the result does not fit here, and undoes a load if the result was wrong.
func TestDryRunInAnotherPod(t *testing.T) {
	begun := instanceapi.Hints{DryRun: &instanceapi.DryRun{}}
	ended := instanceapi.Hints{DryRun: &instanceapi.DryRun{Usage: &instanceapi.Usage{Master: 1 << 20, Worker: 1 << 20, Threads: 1}}}
	tooMuch := instanceapi.Hints{DryRun: &instanceapi.DryRun{Usage: &instanceapi.Usage{Master: 1 << 20, Worker: 1 << 50, Threads: 1}}}
	unknown := instanceapi.Hints{DryRun: &instanceapi.DryRun{Usage: &instanceapi.Usage{}}}
	// Only a dry run finds it.
	dead := func(body string) map[string]string {
		files := site(body)
		files["a.main.conf"] = "working_directory /none;"
		return files
	}
	steps := []struct {
		what  string
		files map[string]string
		load  bool
		hints instanceapi.Hints
		// test and load are the verdicts, and measured reports whether this pod made a dry run that passed.
		test, loaded instanceapi.Verdict
		measured     bool
	}{
		{"a test without a dry run", site("two"), false, begun, instanceapi.Passed, "", false},
		{"a load with the result of another pod", site("two"), true, ended, instanceapi.Passed, instanceapi.Passed, false},
		{"a load without a result", site("three"), true, begun, instanceapi.Passed, instanceapi.Passed, true},
		{"the way back", site("one"), true, instanceapi.Hints{}, instanceapi.Passed, instanceapi.Passed, true},
		{"a load if nothing could be measured", site("two"), true, unknown, instanceapi.Passed, instanceapi.Passed, false},
		{"the way back again", site("one"), true, instanceapi.Hints{}, instanceapi.Passed, instanceapi.Passed, true},
		{"a test before the result", site("large"), false, begun, instanceapi.Passed, "", false},
		{"its load if the result does not fit", site("large"), true, tooMuch, instanceapi.Passed, instanceapi.Passed, true},
		{"a test after such a result", site("one"), false, tooMuch, instanceapi.Passed, instanceapi.Passed, true},
		{"the way back once more", site("one"), true, instanceapi.Hints{}, instanceapi.Passed, instanceapi.Passed, true},
		{"a test that fails after such a result", dead("three"), false, tooMuch, instanceapi.Failed, "", false},
		{"a test that a dry run would fail", dead("four"), false, begun, instanceapi.Passed, "", false},
		{"its load without a result", dead("four"), true, instanceapi.Hints{}, instanceapi.Failed, instanceapi.Failed, false},
		{"another such test", dead("five"), false, begun, instanceapi.Passed, "", false},
		{"its load with a wrong result", dead("five"), true, ended, instanceapi.Passed, instanceapi.Failed, false},
	}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		for _, step := range steps {
			requested := instanceapi.Requested{Test: nginxconf.Revision(step.files)}
			if step.load {
				requested.Load = requested.Test
			}
			r := found(p.orderWithHints(requested, contentsOf(step.files), step.hints), requested.Test)
			if r.Test != step.test || r.Load != step.loaded || (r.Usage != nil) != step.measured {
				t.Errorf("%s: %+v", step.what, r)
			}
		}
		p.body(80, "one")
	})
}

// TestOrderWithoutFiles: a pod that has tried three configurations drops the first one when the kubelet delivers another one
// as stable. The order to go back is then refused at once, and not before; with the files, it is carried out.
func TestOrderWithoutFiles(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		good := nginxconf.Revision(site("good"))
		p := newPod(t, site("good")).start(image, http80)
		p.serves(good)
		var latest string
		for _, body := range []string{"one", "two", "three"} {
			latest = nginxconf.Revision(site(body))
			if status := p.order(latest, latest, contentsOf(site(body))); status.Serving != latest || !status.HasFiles(good) {
				t.Fatalf("status %+v", status)
			}
		}
		p.mount(instanceapi.DirStable, site("three"))
		p.until("the first one is dropped", func(s instanceapi.Status) bool { return !s.HasFiles(good) })

		p.refusesOrder("back without the files", instanceapi.MissingFiles, p.signed(good, good, nil))
		if status := p.ready(); status.Serving != latest || status.Requested != (instanceapi.Requested{Test: latest, Load: latest}) || status.HasFiles(good) {
			t.Errorf("status %+v", status)
		}
		if status := p.order(good, good, contentsOf(site("good"))); status.Serving != good {
			t.Errorf("status %+v", status)
		}
		p.body(80, "good")

		// What is requested stays, whatever else comes.
		for _, body := range []string{"four", "five", "six", "seven"} {
			p.order(good, nginxconf.Revision(site(body)), contentsOf(site(body)))
		}
		p.mount(instanceapi.DirStable, site("seven"))
		p.until("it is delivered", func(s instanceapi.Status) bool { return s.Stable == nginxconf.Revision(site("seven")) })
		if status := p.order(good, good, nil); status.Serving != good {
			t.Errorf("status %+v", status)
		}
	})
}

// TestOrderToAFreshProcess: an order that arrives before nginx runs is carried out.
func TestOrderToAFreshProcess(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		two := nginxconf.Revision(site("two"))
		p := newPod(t, site("one")).start(image, http80)
		if status := p.order(two, two, contentsOf(site("two"))); status.Orders.Number <= 0 {
			t.Errorf("orders %+v", status.Orders)
		}
		p.serves(two)
		p.body(80, "two")
	})
}

// forgery is an order that an instance must not accept. At first, it is one that the instance would accept.
type forgery struct {
	order instanceapi.Order
	// last is the number of the last accepted order.
	last int64
	key  ed25519.PrivateKey
	// body is the body that is signed.
	body []byte
	// sent changes what is sent, after it is signed.
	sent func(*instanceapi.SignedOrder)
}

func (f forgery) sign(t *testing.T) instanceapi.SignedOrder {
	t.Helper()
	signed, err := instanceapi.Sign(f.key, f.order, f.body)
	must(t, err)
	if f.sent != nil {
		f.sent(&signed)
	}
	return signed
}

// bomb returns a body of the given size after decompression.
func bomb(t *testing.T, size int) []byte {
	t.Helper()
	var body bytes.Buffer
	writer := gzip.NewWriter(&body)
	for block := bytes.Repeat([]byte(" "), 1<<20); size > 0; size -= len(block) {
		_, err := writer.Write(block)
		must(t, err)
	}
	must(t, writer.Close())
	return body.Bytes()
}

// forgeries returns changes of an order, by the refusal that they cause. earlier is an order that the instance has accepted.
func forgeries(t *testing.T, earlier instanceapi.SignedOrder) map[instanceapi.Refusal]map[string]func(*forgery) {
	t.Helper()
	other := newKey(t)
	sent := func(change func(*instanceapi.SignedOrder)) func(*forgery) {
		return func(f *forgery) { f.sent = change }
	}
	large := bomb(t, 256<<20)
	return map[instanceapi.Refusal]map[string]func(*forgery){
		instanceapi.Unsigned: {
			"no signature": sent(func(s *instanceapi.SignedOrder) { s.Signature = "" }),
			"no order":     sent(func(s *instanceapi.SignedOrder) { s.Order = "" }),
		},
		instanceapi.Malformed: {
			"no base64":         sent(func(s *instanceapi.SignedOrder) { s.Order = "{}" }),
			"no JSON":           sent(func(s *instanceapi.SignedOrder) { s.Order = "AAAA" }),
			"an endless order":  sent(func(s *instanceapi.SignedOrder) { s.Order = strings.Repeat("A", instanceapi.MaxOrder+4) }),
			"a negative length": func(f *forgery) { f.order.Body, f.body = &instanceapi.Body{Size: -1}, nil },
		},
		instanceapi.Oversized: {
			"a long body": func(f *forgery) { f.order.Body, f.body = &instanceapi.Body{Size: instanceapi.MaxBody + 1}, nil },
		},
		instanceapi.Foreign: {
			"another namespace":   func(f *forgery) { f.order.Application.Namespace = "blog" },
			"another application": func(f *forgery) { f.order.Application.Name = "blog" },
			"an earlier object":   func(f *forgery) { f.order.Application.UID = "0" },
			"another pod":         func(f *forgery) { f.order.PodUID = "0" },
			"another process":     func(f *forgery) { f.order.Process = strings.Repeat("0", 32) },
		},
		instanceapi.Replayed: {
			"a replay":      sent(func(s *instanceapi.SignedOrder) { *s = earlier }),
			"an old number": func(f *forgery) { f.order.Number = f.last },
			"no number":     func(f *forgery) { f.order.Number = 0 },
		},
		instanceapi.Expired: {
			"too late":           func(f *forgery) { f.order.Expires -= instanceapi.OrderLifetime.Milliseconds() + 1 },
			"valid for too long": func(f *forgery) { f.order.Expires += time.Hour.Milliseconds() },
		},
		instanceapi.UnknownKey: {
			"another key": func(f *forgery) { f.key = other },
			"no key":      sent(func(s *instanceapi.SignedOrder) { s.Signature = "." }),
		},
		instanceapi.BadSignature: {
			"another key under the operator's name": func(f *forgery) {
				operators := keyID(f.key)
				f.key = other
				f.sent = func(s *instanceapi.SignedOrder) {
					s.Signature = strings.Replace(s.Signature, keyID(other), operators, 1)
				}
			},
			"the signature of another order": sent(func(s *instanceapi.SignedOrder) { s.Signature = earlier.Signature }),
			"half a signature":               sent(func(s *instanceapi.SignedOrder) { s.Signature = s.Signature[:len(s.Signature)/2] }),
		},
		instanceapi.BadBody: {
			"no body":          sent(func(s *instanceapi.SignedOrder) { s.Body = nil }),
			"half a body":      sent(func(s *instanceapi.SignedOrder) { s.Body = s.Body[:len(s.Body)/2] }),
			"more than a body": sent(func(s *instanceapi.SignedOrder) { s.Body = append(slices.Clone(s.Body), 0) }),
			"another body":     sent(func(s *instanceapi.SignedOrder) { s.Body = append(slices.Clone(s.Body[1:]), s.Body[0]) }),
			"a wrong digest":   func(f *forgery) { f.order.Body, f.body = &instanceapi.Body{}, nil },
			"no contents":      func(f *forgery) { f.body = []byte("hello") },
			"more than it may": func(f *forgery) { f.body = large },
			"of another content": func(f *forgery) {
				f.body = encoded(t, instanceapi.Contents{nginxconf.Revision(site("evil")): site("other")})
			},
			"of a path": func(f *forgery) { f.body = encoded(t, instanceapi.Contents{"../../etc": site("evil")}) },
		},
		instanceapi.MissingFiles: {
			"no files":              func(f *forgery) { f.body = nil },
			"files of another test": func(f *forgery) { f.body = encoded(t, contentsOf(site("other"))) },
		},
	}
}

// TestRefusedOrders: an order that is not the operator's own, new and whole is refused and counted, and changes nothing.
// Every client in the cluster's network can reach the pod.
func TestRefusedOrders(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80)
	one, evil := p.ready().Serving, nginxconf.Revision(site("evil"))
	earlier := p.signed(nginxconf.Revision(site("two")), one, contentsOf(site("two")))
	_, refusal, err := p.post(earlier)
	if err != nil || refusal != "" {
		t.Fatalf("refused: %s (%v)", refusal, err)
	}
	all := forgeries(t, earlier)
	for _, want := range instanceapi.Refusals {
		if len(all[want]) == 0 && want != instanceapi.Busy { // TestHalfABody
			t.Errorf("there is no order that is refused as %s", want)
		}
		t.Run(string(want), func(t *testing.T) {
			p := p.in(t)
			p.changesNothing(want, len(all[want]), func() {
				for name, change := range all[want] {
					receiver := p.receiver()
					f := forgery{
						order: nextOrder(receiver, instanceapi.Requested{Test: evil, Load: evil}), last: receiver.Number,
						key: p.operator.keys[0], body: encoded(t, contentsOf(site("evil"))),
					}
					change(&f)
					p.refusesOrder(name, want, f.sign(t))
				}
			})
		})
	}
	// What they had in common with an order of the operator was not the reason.
	if status := p.order(evil, evil, contentsOf(site("evil"))); status.Serving != evil {
		t.Errorf("status %+v", status)
	}
}

// refusesOrder fails the test unless an order is refused for a reason.
func (p *Pod) refusesOrder(name string, want instanceapi.Refusal, order instanceapi.SignedOrder) {
	p.t.Helper()
	if status, got, err := p.post(order); err != nil || got != want {
		p.t.Errorf("%s: refused as %q (%v), want %s: %+v", name, got, err, want, status)
	}
}

// changesNothing fails the test unless the orders that are sent are counted as refused for a reason, and change nothing else.
func (p *Pod) changesNothing(want instanceapi.Refusal, orders int, send func()) {
	p.t.Helper()
	before, counts, memory := p.ready(), p.orderCounts(), peak(p.t, p.container.PID())
	send()
	counts[string(want)] += orders
	// A scrape may have the figures of the last second.
	p.eventually("they are counted", func() error {
		if got := p.orderCounts(); !maps.Equal(got, counts) {
			return fmt.Errorf("counted %v, want %v", got, counts)
		}
		return nil
	})
	const most = 24
	if got := peak(p.t, p.container.PID()); got-memory > most {
		p.t.Errorf("process 1 grew by %d MiB", got-memory)
	}
	// If a load had been started, it would have ended before this reload.
	p.signal(syscall.SIGHUP)
	after := p.until("reloaded", func(s instanceapi.Status) bool { return s.Reloads.Succeeded > before.Reloads.Succeeded && s.Ready })
	if after.Serving != before.Serving || after.Requested != before.Requested || after.Reloads.Succeeded != before.Reloads.Succeeded+1 ||
		(after.Orders.Number != before.Orders.Number) != (want == instanceapi.MissingFiles) || !slices.Equal(after.Available, before.Available) || len(after.Revisions) != len(before.Revisions) {
		p.t.Errorf("status %+v, want %+v", after, before)
	}
	p.body(80, "one")
}

// orderCounts returns how many orders were refused by reason, and accepted.
func (p *Pod) orderCounts() map[string]int {
	p.t.Helper()
	_, text, err := p.get(instanceapi.Port, instanceapi.PathMetrics)
	must(p.t, err)
	counts := map[string]int{}
	for line := range strings.Lines(text) {
		var n int
		var reason string
		if _, err := fmt.Sscanf(line, "nginx_instance_orders_refused_total{reason=%q} %d", &reason, &n); err == nil {
			counts[reason] = n
		}
		if _, err := fmt.Sscanf(line, "nginx_instance_orders_accepted_total %d", &n); err == nil {
			counts["accepted"] = n
		}
	}
	if len(counts) != len(instanceapi.Refusals)+1 {
		p.t.Fatalf("the instance counts only %v", counts)
	}
	return counts
}

// begin sends an order without the last byte of its body.
func (p *Pod) begin(order instanceapi.SignedOrder) *net.TCPConn {
	p.t.Helper()
	conn, err := p.container.Dial(p.t.Context(), "tcp", "127.0.0.1:9113")
	must(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	must(p.t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\n%s: %s\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s", instanceapi.PathOrders,
		instanceapi.HeaderOrder, order.Order, instanceapi.HeaderSignature, order.Signature, len(order.Body), order.Body[:len(order.Body)-1])
	must(p.t, err)
	return conn.(*net.TCPConn)
}

// refusal reads the response to an order.
func (p *Pod) refusal(conn io.Reader) instanceapi.Refusal {
	p.t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(p.t, err)
	defer func() { _ = response.Body.Close() }()
	refusal, err := refusalIn(response)
	must(p.t, err)
	return refusal
}

// TestHalfABody: an order whose body never ends is refused, whether the client closes the connection or not. Meanwhile, no
// other body is received.
func TestHalfABody(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80)
	p.ready()
	two := nginxconf.Revision(site("two"))
	p.changesNothing(instanceapi.BadBody, 2, func() {
		closed := p.begin(p.signed(two, two, contentsOf(site("two"))))
		must(t, closed.CloseWrite())
		if got := p.refusal(closed); got != instanceapi.BadBody {
			t.Errorf("refused as %s", got)
		}
		if got := p.refusal(p.begin(p.signed(two, two, contentsOf(site("two"))))); got != instanceapi.BadBody {
			t.Errorf("refused as %s", got)
		}
	})
	// Orders that are faster must not replace it.
	slow := nextOrder(p.receiver(), instanceapi.Requested{})
	slow.Number += time.Hour.Milliseconds()
	order, err := instanceapi.Sign(p.operator.keys[0], slow, encoded(t, contentsOf(site("two"))))
	must(t, err)
	conn := p.begin(order)
	p.eventually("another body is not received", func() error {
		_, refusal, err := p.post(p.signed("", "", contentsOf(site("one"))))
		if err == nil && refusal != instanceapi.Busy {
			err = fmt.Errorf("refused as %q", refusal)
		}
		return err
	})
	p.order("", "", nil)
	must(t, conn.Close())
	p.eventually("the next body is received", func() error {
		_, refusal, err := p.post(p.signed(two, two, contentsOf(site("two"))))
		if err == nil && refusal != "" {
			err = fmt.Errorf("refused as %s", refusal)
		}
		return err
	})
	p.serves(two)
}

// TestOrdersWithoutTrust: a pod that knows neither its operator nor its own UID accepts no order.
func TestOrdersWithoutTrust(t *testing.T) {
	t.Run("no trust file", func(t *testing.T) {
		p := newPod(t, site("one")).start("forky", http80)
		p.ready()
		two := nginxconf.Revision(site("two"))
		order := p.signed(two, two, contentsOf(site("two")))
		must(t, os.RemoveAll(p.volume(instanceapi.DirNext)+"/..data"))
		p.changesNothing(instanceapi.Foreign, 1, func() { p.refusesOrder("", instanceapi.Foreign, order) })
		p.mount(instanceapi.DirNext, nil)
		if status := p.order(two, two, contentsOf(site("two"))); status.Serving != two {
			t.Errorf("status %+v", status)
		}
	})
	t.Run("no UID", func(t *testing.T) {
		p := newPod(t, site("one")).start("forky", http80, "--pod-uid=")
		p.ready()
		order := p.signed("", "", nil)
		p.changesNothing(instanceapi.Foreign, 1, func() { p.refusesOrder("", instanceapi.Foreign, order) })
	})
}

// TestOrdersOfAnEarlierProcess: a process does not accept the orders for the one before it.
func TestOrdersOfAnEarlierProcess(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		two := nginxconf.Revision(site("two"))
		p := newPod(t, site("one")).start(image, http80)
		one := p.ready().Serving
		used, unused := p.signed(two, two, contentsOf(site("two"))), p.receiver()
		_, refusal, err := p.post(used)
		if err != nil || refusal != "" {
			t.Fatalf("refused: %s (%v)", refusal, err)
		}
		later := nextOrder(unused, instanceapi.Requested{Test: two, Load: two})
		later.Number += time.Hour.Milliseconds()
		signed, err := instanceapi.Sign(p.operator.keys[0], later, encoded(t, contentsOf(site("two"))))
		must(t, err)
		p.until("its probation is over", func(s instanceapi.Status) bool { return s.Serving == two && !s.OnProbation })
		p.crash()
		p.start(image, http80)
		if status := p.serves(one); status.Requested != (instanceapi.Requested{}) || status.Orders.Number != 0 {
			t.Errorf("status %+v", status)
		}
		p.changesNothing(instanceapi.Foreign, 2, func() {
			p.refusesOrder("a used order", instanceapi.Foreign, used)
			p.refusesOrder("an unused order", instanceapi.Foreign, signed)
		})
		if status := p.order(two, two, contentsOf(site("two"))); status.Serving != two || status.Orders.Number <= 0 {
			t.Errorf("status %+v", status)
		}
	})
}

// TestFailedLoadOutlivesTheProcess: a load that ended the previous container is neither forgotten nor repeated before the
// operator has withdrawn it. Until the first order, the process does not know what is requested.
func TestFailedLoadOutlivesTheProcess(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		bad := site("bad")
		revision := nginxconf.Revision(bad)
		p := newPod(t, site("good"))
		dir := filepath.Join(scratchOf(p.dir, "/run"), "nginx-operator")
		must(t, os.MkdirAll(dir, 0o777))
		must(t, os.Chmod(dir, 0o777))
		must(t, os.WriteFile(filepath.Join(dir, "loads.json"), []byte(`{"loading":{"revision":"`+revision+`","memoryShort":true}}`), 0o666))
		p.start(image, http80)
		good := p.ready().Serving
		fails := func(r instanceapi.Revision) bool { return r.Load == instanceapi.Failed && r.Fatal }
		for range 2 {
			p.outcome(revision, fails)
			p.reload()
		}
		if status := p.order(revision, revision, contentsOf(bad)); status.Serving != good || !fails(found(status, revision)) {
			t.Errorf("status %+v", status)
		}
		p.order(revision, good, nil)
		p.outcome(revision, fails)
		if status := p.order(good, good, nil); fails(found(status, revision)) {
			t.Errorf("status %+v", status)
		}
		if status := p.order(revision, revision, contentsOf(bad)); status.Serving != revision {
			t.Errorf("status %+v", status)
		}
	})
}

// reload reloads nginx by a signal, and waits for it.
func (p *Pod) reload() {
	p.t.Helper()
	before := p.ready().Reloads.Succeeded
	p.signal(syscall.SIGHUP)
	p.until("reloaded", func(s instanceapi.Status) bool { return s.Reloads.Succeeded > before && s.Ready })
}

// TestKeyRotation: a pod follows its trust file. Neither nginx nor the process is restarted.
func TestKeyRotation(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		one := p.ready().Serving
		process := p.receiver().Process
		old, fresh := p.operator.keys[0], newKey(t)
		orders := func(key ed25519.PrivateKey) instanceapi.SignedOrder {
			signed, err := instanceapi.Sign(key, nextOrder(p.receiver(), instanceapi.Requested{Test: one, Load: one}), nil)
			must(t, err)
			return signed
		}
		for _, step := range []struct {
			trusted []ed25519.PrivateKey
			old     instanceapi.Refusal
			fresh   instanceapi.Refusal
		}{
			{[]ed25519.PrivateKey{old}, "", instanceapi.UnknownKey},
			{[]ed25519.PrivateKey{fresh, old}, "", ""},
			{[]ed25519.PrivateKey{fresh}, instanceapi.UnknownKey, ""},
		} {
			p.operator.keys = step.trusted
			p.mount(instanceapi.DirNext, nil)
			for key, want := range map[*ed25519.PrivateKey]instanceapi.Refusal{&old: step.old, &fresh: step.fresh} {
				status, got, err := p.post(orders(*key))
				if err != nil || got != want {
					t.Errorf("with %d keys, an order was answered with %q (%v), want %q", len(step.trusted), got, err, want)
				}
				if want == "" && (status.Orders.Process != process || status.Serving != one || status.Next != "" || status.Reloads != (instanceapi.Reloads{})) {
					t.Errorf("status %+v", status)
				}
			}
			var ids []string
			for _, key := range step.trusted {
				ids = append(ids, keyID(key))
			}
			if got := p.receiver().Keys; !slices.Equal(got, ids) {
				t.Errorf("keys %v, want %v", got, ids)
			}
		}
	})
}

// TestFollow: a pod that gets no orders loads the mounted configuration that its trust file names, after a test. A later
// order counts more.
func TestFollow(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		one, two, bad := nginxconf.Revision(site("one")), nginxconf.Revision(site("two")), map[string]string{"site.conf": "nonsense;"}
		p := newPod(t, site("one")).start(image, http80)
		p.serves(one)
		follow := func(files map[string]string, pods ...string) {
			p.operator.follow = &instanceapi.Follow{Revision: nginxconf.Revision(files), Number: time.Now().UnixMilli(), Pods: pods}
			p.mount(instanceapi.DirNext, files)
		}
		follow(site("two"), "another pod")
		p.until("it is mounted", func(s instanceapi.Status) bool { return s.Next == two })
		p.reload()
		if status := p.serves(one); status.Requested != (instanceapi.Requested{}) || len(status.Revisions) != 1 {
			t.Errorf("status %+v", status)
		}
		follow(site("two"), podUID)
		p.serves(two)
		p.body(80, "two")
		follow(bad)
		p.outcome(nginxconf.Revision(bad), failed)
		p.serves(two)
		if status := p.order("", one, nil); status.Serving != one || status.Requested.Load != one {
			t.Errorf("status %+v", status)
		}
		p.reload()
		p.serves(one)
	})
}

// TestOnlyOrdersAreRead: nothing else that a client can send has an effect.
func TestOnlyOrdersAreRead(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80)
	p.ready()
	for _, path := range []string{instanceapi.PathLive, instanceapi.PathReady, instanceapi.PathStatus, instanceapi.PathRequests, instanceapi.PathMetrics, instanceapi.PathOrders} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			if path == instanceapi.PathOrders && method == http.MethodPost {
				continue
			}
			request, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:9113"+path, nil)
			must(t, err)
			response, err := p.client.Do(request)
			must(t, err)
			must(t, response.Body.Close())
			if response.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %s", method, path, response.Status)
			}
		}
	}
	if code, _, err := p.get(instanceapi.Port, instanceapi.PathOrders); err != nil || code != http.StatusMethodNotAllowed {
		t.Errorf("GET %s: %d (%v)", instanceapi.PathOrders, code, err)
	}
}
