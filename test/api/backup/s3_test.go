package backup

import (
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// objects stands in for an S3 server, with the requests that backups need. It can cut off its
// client at any of them, which for the store looks like a client that was killed.
type objects struct {
	url string

	mu    sync.Mutex
	files map[string][]byte
	// at is the number of the request at which the client dies, or 0 for none. If sent is set, that
	// request is carried out.
	at   int
	sent bool
	// refuse responds to that request with an error, and the client goes on.
	refuse   bool
	requests int
	happened bool
	// cut is closed when the client dies.
	cut chan struct{}
	// race delays the first record of a backup until there is a second one, if set.
	race *race
}

// race describes two clients that write the same record. The first write is carried out when both
// have been sent, even if its client is gone.
type race struct {
	arrived, second, done chan struct{}
	records               int
}

// wait orders the writes of the records. The caller holds the lock, and wait releases it while it
// waits.
func (r *race) wait(lock *sync.Mutex) (carriedOut func()) {
	r.records++
	n := r.records
	lock.Unlock()
	defer lock.Lock()
	switch n {
	case 1:
		close(r.arrived)
		<-r.second
		return func() { close(r.done) }
	case 2:
		close(r.second)
		<-r.done
	}
	return func() {}
}

func newObjects(t *testing.T) *objects {
	t.Helper()
	o := &objects{files: map[string][]byte{}, cut: make(chan struct{})}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	o.url = "s3://bucket/folder?use_path_style=true&request_checksum_calculation=when_required&endpoint=" + server.URL
	return o
}

// copied returns another server with the same files.
func (o *objects) copied(t *testing.T) *objects {
	t.Helper()
	other := newObjects(t)
	o.mu.Lock()
	defer o.mu.Unlock()
	other.files = maps.Clone(o.files)
	return other
}

// revive lets the next client work.
func (o *objects) revive() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at = 0
}

// ServeHTTP responds to a request or cuts off its client.
func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return
	}
	o.requests++
	if o.race != nil && r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/backup.json") {
		defer o.race.wait(&o.mu)()
	}
	if o.at == 0 || o.requests < o.at {
		o.answer(w, r, body)
		return
	}
	if o.refuse {
		o.at, o.happened = 0, true
		fail(w, http.StatusForbidden, "AccessDenied")
		return
	}
	if o.requests == o.at {
		if o.sent {
			o.answer(httptest.NewRecorder(), r, body)
		}
		o.happened = true
		close(o.cut)
	}
	panic(http.ErrAbortHandler)
}

func (o *objects) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	key := strings.TrimPrefix(r.URL.Path, "/bucket/")
	file, found := o.files[key]
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Has("list-type"):
		o.list(w, r.URL.Query().Get("prefix"))
	case r.Method == http.MethodPut && found && r.Header.Get("If-None-Match") != "":
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		o.files[key] = body
		w.Header().Set("ETag", etag(body))
	case r.Method == http.MethodDelete:
		delete(o.files, key)
		w.WriteHeader(http.StatusNoContent)
	case !found:
		fail(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", etag(file))
		http.ServeContent(w, r, "", time.Now(), strings.NewReader(string(file)))
	}
}

func etag(body []byte) string { return fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(body))) }

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}

func (o *objects) list(w http.ResponseWriter, prefix string) {
	type contents struct {
		Key          string
		Size         int
		LastModified string
	}
	answer := struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Name     string
		Contents []contents
	}{Name: "bucket"}
	for key, file := range o.files {
		if strings.HasPrefix(key, prefix) {
			answer.Contents = append(answer.Contents, contents{key, len(file), time.Now().UTC().Format(time.RFC3339)})
		}
	}
	slices.SortFunc(answer.Contents, func(a, b contents) int { return strings.Compare(a.Key, b.Key) })
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(answer)
}

// kept returns the files of the folder, as on a claim.
func (o *objects) kept() map[string][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	files := map[string][]byte{}
	for key, file := range o.files {
		files[strings.TrimPrefix(key, "folder/")] = file
	}
	return files
}

// count returns the number of requests so far.
func (o *objects) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requests
}
