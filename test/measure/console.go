package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/plugin/console"
	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/browser"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/testenv"
)

const (
	consoleObjects = 10000
	// consoleLoads and consoleWrites are how often the fleet is opened, and how many changes are followed.
	consoleLoads  = 5
	consoleWrites = 20
	// The goals of the console, in milliseconds.
	usableGoal = 1000
	lagGoal    = 1000
)

// consoleBench is a console with a fleet, in a browser.
type consoleBench struct {
	*session
	plane    *testenv.ControlPlane
	browser  *browser.Browser
	url      string
	requests audit.Log
}

// measureConsole opens the pages of the console among many objects, on a bare control plane.
func measureConsole(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := newConsoleBench(ctx, s)
	if err != nil {
		return nil, err
	}
	var figures []figure.Figure
	for _, part := range []func(context.Context) ([]figure.Figure, error){b.open, b.lag, b.requestsOfViews} {
		found, err := part(ctx)
		figures = append(figures, found...)
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

func newConsoleBench(ctx context.Context, s *session) (*consoleBench, error) {
	dir, err := os.MkdirTemp("", "nginx-operator-console-")
	if err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return os.RemoveAll(dir) })
	b := &consoleBench{session: s}
	if b.plane, err = testenv.Start(dir, testenv.Audited); err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return b.plane.Stop() })
	b.requests = audit.Log{Path: b.plane.AuditLog}
	if err := b.plane.InstallCRD(ctx, 0); err != nil {
		return nil, err
	}
	if err := b.fill(ctx); err != nil {
		return nil, err
	}
	if err := b.serve(ctx); err != nil {
		return nil, err
	}
	if b.browser, err = browser.Start(ctx); err != nil {
		return nil, err
	}
	s.atEnd(func(context.Context) error { return b.browser.Stop() })
	return b, nil
}

// serve serves a console with the rights of a user of its own, whose requests can be told apart.
func (b *consoleBench) serve(ctx context.Context) error {
	config, err := consoleViewer(ctx, b.plane)
	if err != nil {
		return err
	}
	viewers, token, err := console.NewLocal(config)
	if err != nil {
		return err
	}
	server := httptest.NewUnstartedServer(nil)
	address := server.Listener.Addr().String()
	server.Config.Handler = console.New(ctx, console.Options{Viewers: viewers, Hosts: console.LocalHosts(address), MaxStreams: 16})
	server.Start()
	b.atEnd(func(context.Context) error {
		server.CloseClientConnections()
		server.Close()
		return nil
	})
	b.url = "http://" + address + "/#token=" + token
	return nil
}

// page opens the console in a tab, and waits until the fleet is complete.
func (b *consoleBench) page() (*browser.Page, error) {
	p, err := b.browser.NewPage(1280, 900)
	if err != nil {
		return nil, err
	}
	return p, errors.Join(p.Open(b.url), p.Wait(`document.getElementById("main").dataset.complete === "true"`, b.patience))
}

// open opens the fleet a few times, and measures from the start of the navigation.
func (b *consoleBench) open(context.Context) ([]figure.Figure, error) {
	var first, complete, memory []float64
	var search float64
	for range consoleLoads {
		p, err := b.page()
		if err != nil {
			return nil, err
		}
		for mark, times := range map[string]*[]float64{"fleet-first": &first, "fleet-complete": &complete} {
			at, err := p.Number(`performance.getEntriesByName("` + mark + `")[0].startTime`)
			if err != nil {
				return nil, err
			}
			*times = append(*times, at)
		}
		if search, err = p.Number(searchFor("web-77")); err != nil {
			return nil, err
		}
		used, err := p.Memory()
		if err != nil {
			return nil, err
		}
		memory = append(memory, used/(1<<20))
		p.Close()
	}
	slices.Sort(first)
	slices.Sort(complete)
	what := fmt.Sprintf("the fleet among %d objects", b.count(consoleObjects))
	return []figure.Figure{
		figure.HasGoal(what+": the first rows can be used, median", first[len(first)/2], "ms", figure.AtMost(usableGoal), listed(first, "ms")),
		figure.Info(what+": all rows are there, median", complete[len(complete)/2], "ms", listed(complete, "ms")),
		figure.Info("a search in all rows", search, "ms"),
		figure.Info("memory of the page's scripts", slices.Max(memory), "MiB", listed(memory, "MiB")),
	}, nil
}

// searchFor returns an expression that searches, and whose value is how long it takes to show the rows, in milliseconds.
func searchFor(words string) string {
	return `(() => {
		const search = document.querySelector(".search"), start = performance.now();
		search.value = "` + words + `";
		search.dispatchEvent(new Event("input"));
		document.querySelector(".rows").getBoundingClientRect();
		return performance.now() - start;
	})()`
}

// listed returns values with their unit.
func listed(values []float64, unit string) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprintf("%.0f %s", v, unit))
	}
	return strings.Join(texts, ", ")
}

// lag changes objects, and measures how long after the API server's answer the page shows it.
func (b *consoleBench) lag(ctx context.Context) ([]figure.Figure, error) {
	p, err := b.page()
	if err != nil {
		return nil, err
	}
	defer p.Close()
	// The row is beyond the visible ones, unless it is searched.
	if _, err := p.Number(searchFor("web-0")); err != nil {
		return nil, err
	}
	var lags []float64
	for i := range consoleWrites {
		nginx := fleet.Object(consoleNamespace, 0)
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, i+2))
		if err := b.plane.Client.Patch(ctx, nginx, patch); err != nil {
			return nil, err
		}
		written := time.Now()
		shown := fmt.Sprintf(`[...document.querySelectorAll(".row:not([hidden])")].some((row) => row.dataset.name === "%s/web-0" && row.querySelector(".count").textContent.endsWith("/%d"))`, consoleNamespace, i+2)
		if err := p.Wait(shown, b.patience); err != nil {
			return nil, err
		}
		lags = append(lags, float64(time.Since(written).Milliseconds()))
	}
	slices.Sort(lags)
	return []figure.Figure{
		figure.Info("lag of the fleet behind a write, median", lags[len(lags)/2], "ms"),
		figure.HasGoal("lag of the fleet behind a write, longest", lags[len(lags)-1], "ms", figure.AtMost(lagGoal), listed(lags, "ms")),
	}, nil
}

// requestsOfViews counts the requests to the API server while a view is open and nothing changes, and after it is closed.
func (b *consoleBench) requestsOfViews(ctx context.Context) ([]figure.Figure, error) {
	var figures []figure.Figure
	for _, view := range []struct{ name, path string }{
		{"the fleet", "/"},
		{"an application with two pods", "/applications/" + consoleNamespace + "/web-1"},
	} {
		opening := time.Now()
		p, err := b.page()
		if err != nil {
			return figures, err
		}
		if _, err := p.Text(`location.hash = "` + view.path + `"`); err != nil {
			return figures, err
		}
		if err := p.Wait(`document.getElementById("main").dataset.complete === "true"`, b.patience); err != nil {
			return figures, err
		}
		opened, begin := time.Now(), time.Now().Add(settling)
		if err := pause(ctx, settling+b.window); err != nil {
			return figures, err
		}
		end := time.Now()
		p.Close()
		closed := time.Now().Add(settling)
		if err := pause(ctx, 2*settling+b.window); err != nil {
			return figures, err
		}
		found, err := b.countRequests(view.name, [2]time.Time{opening, opened}, [2]time.Time{begin, end}, [2]time.Time{closed, time.Now()})
		figures = append(figures, found...)
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// settling is how long after a page is opened or closed requests are not counted.
const settling = 3 * time.Second

// countRequests counts the requests of the console while a view is opened, while it is open, and after it is closed.
func (b *consoleBench) countRequests(view string, opening, open, closed [2]time.Time) ([]figure.Figure, error) {
	var counted [3][]audit.Event
	for i, span := range [][2]time.Time{opening, open, closed} {
		found, err := b.requests.Requests(audit.Filter{User: consoleUser, Since: span[0], Until: span[1]})
		if err != nil {
			return nil, err
		}
		counted[i] = found
	}
	perMinute := func(i int, span [2]time.Time) float64 {
		return float64(len(counted[i])) / span[1].Sub(span[0]).Minutes()
	}
	return []figure.Figure{
		figure.Info(view+": requests to open it", float64(len(counted[0])), "", audit.Tally(counted[0])...),
		figure.Info(view+": requests while it is open", perMinute(1, open), "a minute", audit.Tally(counted[1])...),
		figure.HasGoal(view+": requests after it is closed", perMinute(2, closed), "a minute", figure.AtMost(0), audit.Tally(counted[2])...),
	}, nil
}
