// Package console serves a page that shows and changes applications, live.
//
// It has no rights of its own: every request to the API server uses those of the viewer. Each view of the page has one
// stream of JSON lines, fed by watches that end with it, so nothing is requested while nobody looks. The page renders the
// data; the server renders no HTML.
package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"

	"example.com/nginx-operator/internal/plugin/edits"
)

// Options configure a console.
type Options struct {
	// Viewers identifies whose rights a request uses.
	Viewers Viewers
	// Hosts are the values of the header Host that are accepted, with the port or, for any port, without it; empty: all.
	Hosts []string
	// SignIn has the page ask for a token of the cluster.
	SignIn bool
	// Cluster names the cluster on the page.
	Cluster string
	// Namespace is the one that the page selects if the viewer may not list all. With OneNamespace, it is selected first.
	Namespace    string
	OneNamespace bool
	// MaxStreams bounds the streams that are open at the same time, and MaxStreamsOfViewer those of one viewer; 0: as
	// MaxStreams.
	MaxStreams, MaxStreamsOfViewer int
	// WriteTimeout ends the stream of a reader that does not keep up; 0: after 10 seconds.
	WriteTimeout time.Duration
}

// console is the handler's state.
type console struct {
	options Options
	limiter *limiter
	// ctx ends all streams.
	ctx context.Context
}

// New returns the handler of a console. Its streams end with the context.
func New(ctx context.Context, o Options) http.Handler {
	o.WriteTimeout = cmp.Or(o.WriteTimeout, writeTimeout)
	c := &console{options: o, limiter: newLimiter(o.MaxStreams, cmp.Or(o.MaxStreamsOfViewer, o.MaxStreams)), ctx: ctx}
	mux := http.NewServeMux()
	mux.Handle("GET /", assets())
	mux.HandleFunc("GET /api/settings", c.settings)
	mux.HandleFunc("GET /api/session", c.viewed(c.session))
	mux.HandleFunc("GET /api/fleet", c.viewed(c.streamed(c.fleet)))
	mux.HandleFunc("GET /api/applications/{namespace}/{name}", c.viewed(c.streamed(c.application)))
	mux.HandleFunc("GET /api/applications/{namespace}/{name}/traffic", c.viewed(c.streamed(c.traffic)))
	mux.HandleFunc("POST /api/applications/{namespace}/{name}/edits", c.viewed(c.edit))
	return guard(o.Hosts, mux)
}

// settings are what the page needs before the viewer is known.
func (c *console) settings(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"cluster": c.options.Cluster, "namespace": c.options.Namespace, "oneNamespace": c.options.OneNamespace, "signIn": c.options.SignIn,
	})
}

// session says who the viewer is, and which changes exist.
func (c *console) session(w http.ResponseWriter, r *http.Request, v *Viewer) {
	type edit struct {
		Command   string   `json:"command"`
		Arguments []string `json:"arguments"`
		Short     string   `json:"short"`
		Long      string   `json:"long,omitempty"`
	}
	all := []edit{}
	for _, e := range edits.All() {
		all = append(all, edit{e.Command, append([]string{}, e.Arguments...), e.Short, e.Long})
	}
	user, err := v.user(r.Context())
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"user": user, "edits": all})
}

// viewed identifies the viewer of a request.
func (c *console) viewed(handle func(http.ResponseWriter, *http.Request, *Viewer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, part := range []string{r.PathValue("namespace"), r.PathValue("name")} {
			// A name becomes a part of a path of the API.
			if part != "" && len(validation.NameIsDNSSubdomain(part, false)) > 0 {
				answer(w, http.StatusBadRequest, failure{Message: "the path holds no legal name of a namespace and of an application"})
				return
			}
		}
		v, err := c.options.Viewers.Of(r)
		if err != nil {
			refuse(w, err)
			return
		}
		handle(w, r, v)
	}
}

// bearer returns the token of a request; empty: it has none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// failure is the answer to a request that fails.
type failure struct {
	Message string `json:"error"`
	// Reason is the one of the API server, such as Forbidden.
	Reason string `json:"reason,omitempty"`
	// Code is the status code, for an error in a stream.
	Code int `json:"code,omitempty"`
}

// errUnknownViewer is the answer to a request without a known token.
var errUnknownViewer = unauthenticated{errors.New("the request has no token of this console: open the URL that the command printed")}

// answer writes JSON. An error means that the viewer has left.
func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
