package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// misbehaviour is what an instance does in the place of an answer.
type misbehaviour func(w http.ResponseWriter, r *http.Request, answer http.Handler)

// spell is for how many questions an instance misbehaves: long enough to be noticed, short enough to
// be waited for.
const spell = 6

// spells are others for some: an instance that refuses something is asked again after ten seconds.
var spells = map[string]int64{"refuses": 3}

// misbehaviours by their names.
var misbehaviours = map[string]misbehaviour{
	"slow": func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		if pause(r.Context(), 500*time.Millisecond) == nil {
			answer.ServeHTTP(w, r)
		}
	},
	"hangs": func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		// Only who has read a request to its end is told when the client is gone.
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	},
	"hangs-up": func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
	"unavailable": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusServiceUnavailable)
	},
	"unknown": func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.NotFound(w, r) },
	"redirects": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	},
	"empty":   func(http.ResponseWriter, *http.Request, http.Handler) {},
	"garbage": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { _, _ = w.Write([]byte("<html>hello")) }, // who asked may be gone
	"endless": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for text := []byte(strings.Repeat(" ", 1<<16)); ; {
			if _, err := w.Write(text); err != nil {
				return
			}
		}
	},
	"half":           half,
	"old-protocol":   foreign(0),
	"new-protocol":   foreign(99),
	"refuses":        refuses,
	"serves-another": said(map[string]any{"serving": "0000000000000000"}),
	"serves-nothing": said(map[string]any{"serving": "", "ready": false, "notReady": "it starts"}),
	"forgetful":      said(map[string]any{"revisions": nil, "granted": ""}),
	"sees-no-files":  said(map[string]any{"stable": "", "next": ""}),
	"not-asked":      said(map[string]any{"requested": map[string]any{}}),
}

// half breaks its answer off.
func half(w http.ResponseWriter, r *http.Request, answer http.Handler) {
	recorded := httptest.NewRecorder()
	answer.ServeHTTP(recorded, r)
	_, _ = w.Write(recorded.Body.Bytes()[:recorded.Body.Len()/2]) // who asked may be gone
	panic(http.ErrAbortHandler)
}

// said answers with other values of some fields.
func said(fields map[string]any) misbehaviour {
	return changed(func(status map[string]any) { maps.Copy(status, fields) })
}

// foreign answers in another protocol, in which the same words mean something else: what it is asked
// to test, it seems to serve.
func foreign(protocol int) misbehaviour {
	return changed(func(status map[string]any) {
		status["protocol"] = protocol
		if revision := asked(status); revision != "" {
			status["serving"] = revision
		}
	})
}

// refuses finds fault with what it is asked to test, as with a name that has no address for a moment.
var refuses = changed(func(status map[string]any) {
	if revision := asked(status); revision != "" && revision != status["serving"] {
		status["revisions"] = []any{map[string]any{
			"revision": revision, "test": "Failed", "problems": []any{map[string]any{"message": "host not found in upstream"}},
		}}
	}
})

// asked is the revision that an instance is asked to test.
func asked(status map[string]any) string {
	requested, _ := status["requested"].(map[string]any)
	revision, _ := requested["test"].(string)
	return revision
}

// changed answers with something changed.
func changed(change func(status map[string]any)) misbehaviour {
	return func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		recorded := httptest.NewRecorder()
		answer.ServeHTTP(recorded, r)
		status := map[string]any{}
		if json.Unmarshal(recorded.Body.Bytes(), &status) != nil {
			// It is no status that is asked for.
			w.WriteHeader(recorded.Code)
			return
		}
		change(status)
		_ = json.NewEncoder(w).Encode(status) // who asked may be gone
	}
}

// dies is the name of the case in which a pod is deleted at the moment it is told to load what it
// has tested.
const dies = "dies"

// moments are after how many questions one instance begins to be silent: what it has said before is
// known then.
const moments = 10

// whos are those that misbehave: all, the one that is asked first, or the others than the one that is
// the first to be told to load something.
var whos = []string{"all", "one", "others"}

// InstanceCases have the instances of a journey misbehave.
func InstanceCases(journey string) []Case {
	var all []Case
	for n := range moments {
		all = append(all, instanceCase(journey, fmt.Sprintf("hangs-one@%d", n+1)))
	}
	for _, name := range append(slices.Sorted(maps.Keys(misbehaviours)), dies) {
		for _, who := range whos {
			all = append(all, instanceCase(journey, name+"-"+who))
		}
	}
	return all
}

func instanceCase(journey, point string) Case {
	c := Case{Kind: "instance", Journey: journey, Point: point}
	c.run = func(ctx context.Context, s *Stage, g *Golden) (bool, error) {
		b, err := s.newBewitched(point)
		if err != nil {
			return false, err
		}
		return s.bewitched(ctx, c, g, b)
	}
	return c
}

// newBewitched reads what becomes of instances: name-all, name-one, name-others, each also with @ and
// the number of questions that are answered before.
func (s *Stage) newBewitched(point string) (*bewitched, error) {
	what, moment, late := strings.Cut(point, "@")
	i := strings.LastIndex(what, "-")
	if i < 0 || !slices.Contains(whos, what[i+1:]) {
		return nil, fmt.Errorf("%q does not tell who: it ends with one of %v", point, whos)
	}
	b := &bewitched{stage: s, does: misbehaviours[what[:i]], who: what[i+1:], spell: cmp.Or(spells[what[:i]], spell)}
	if what[:i] == dies {
		b.does, b.told = b.die, true
	}
	var err error
	if late {
		b.after, err = strconv.ParseInt(moment, 10, 64)
	}
	if b.does == nil || err != nil {
		return nil, fmt.Errorf("no instance does %s", point)
	}
	return b, nil
}

// bewitched are the instances of a play, which misbehave for a spell from begun on.
type bewitched struct {
	stage *Stage
	does  misbehaviour
	// who is one of whos. told: only at what is not a question.
	who  string
	told bool
	// after so many questions it begins, and lasts for spell.
	after, spell int64

	namespace string
	begun     atomic.Bool
	first     atomic.Pointer[string]
	questions atomic.Int64
	// under counts the questions that get no honest answer at this moment.
	under atomic.Int64
	// happened: one has misbehaved.
	happened atomic.Bool
}

// handler stands before the instance of a pod.
func (b *bewitched) handler(pod string, answer http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.begun.Load() || !b.concerns(pod, r) {
			answer.ServeHTTP(w, r)
			return
		}
		if n := b.questions.Add(1); n <= b.after || n > b.after+b.spell {
			answer.ServeHTTP(w, r)
			return
		}
		b.happened.Store(true)
		b.under.Add(1)
		defer b.under.Add(-1)
		b.does(w, r.WithContext(context.WithValue(r.Context(), podKey{}, pod)), answer)
	})
}

// concerns tells whether a pod misbehaves.
func (b *bewitched) concerns(pod string, r *http.Request) bool {
	if b.told && r.Method == http.MethodGet {
		return false
	}
	switch b.who {
	case "one":
		return b.first.CompareAndSwap(nil, &pod) || *b.first.Load() == pod
	case "others":
		if r.Method == http.MethodPost {
			b.first.CompareAndSwap(nil, &pod)
		}
		first := b.first.Load()
		return first != nil && *first != pod
	}
	return true
}

type podKey struct{}

// die deletes the pod that is told to load something.
func (b *bewitched) die(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	pods, err := b.stage.resource(b.namespace, "Pod", "v1")
	if pod, ok := r.Context().Value(podKey{}).(string); ok && err == nil {
		_ = pods.Delete(context.WithoutCancel(r.Context()), pod, metav1.DeleteOptions{}) // it is gone already
	}
	panic(http.ErrAbortHandler)
}

func (s *Stage) bewitched(ctx context.Context, c Case, g *Golden, b *bewitched) (reached bool, err error) {
	p, err := s.newPlay(ctx, s.journeys[c.Journey], func(namespace string) {
		b.namespace = namespace
		s.Pods.Disturb(namespace, b.handler)
	})
	defer func() { err = joined(err, p) }()
	if err != nil {
		return false, err
	}
	begin, err := p.taker.Take(ctx, p.namespace)
	if err != nil {
		return false, err
	}
	p.mortal = strings.HasPrefix(c.Point, dies)
	b.begun.Store(true)
	if err = p.perform(ctx); err == nil {
		err = p.settle(ctx)
	}
	// Where nobody was asked yet, it would begin when nothing is to be written any more.
	b.begun.Store(false)
	if err == nil {
		err = b.over(ctx, p)
	}
	if err == nil {
		err = p.ends(ctx, g, begin)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.said())
	}
	return b.happened.Load(), err
}

// over waits until nobody waits for an answer any more who would write that there is none.
func (b *bewitched) over(ctx context.Context, p *play) error {
	err := p.await(ctx, func(context.Context) error {
		if n := b.under.Load(); n > 0 {
			return fmt.Errorf("%d questions wait for their answers", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.settle(ctx)
}
