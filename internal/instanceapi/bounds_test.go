package instanceapi

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/boundedjson"
)

// TestEveryFieldIsBounded: every string and every list of a response has a bound.
func TestEveryFieldIsBounded(t *testing.T) {
	for _, missing := range [][]string{
		boundedjson.Unbounded[Status](), boundedjson.Unbounded[RequestWindow](), boundedjson.Unbounded[ServedConfig](), boundedjson.Unbounded[ConfigTest](),
	} {
		for _, field := range missing {
			t.Errorf("%s has no bound: add the tag max", field)
		}
	}
}

// lies are responses that take much more memory than bytes.
var lies = map[string]string{
	"certificates":        many(`{"protocol":1,"certificates":[`, `{},`, `{}]}`),
	"revisions":           many(`{"protocol":1,"revisions":[`, `{},`, `{}]}`),
	"problems":            many(`{"protocol":1,"revisions":[{"problems":[`, `{},`, `{}]}]}`),
	"names":               many(`{"protocol":1,"certificates":[{"dnsNames":[`, `"",`, `""]}]}`),
	"available":           many(`{"protocol":1,"available":[`, `"",`, `""]}`),
	"ports":               many(`{"protocol":1,"ports":[`, `{},`, `{}]}`),
	"keys":                many(`{"protocol":1,"orders":{"keys":[`, `"",`, `""]}}`),
	"lists of lists":      many(`{"protocol":1,"revisions":[`, `{"problems":[{},{},{},{},{},{},{},{}]},`, `{}]}`),
	"duplicate fields":    many(`{"protocol":1`, `,"certificates":[{}]`, `}`),
	"fields in any case":  many(`{"protocol":1`, `,"cErTiFiCaTeS":[{}],"certificateS":[{}]`, `}`),
	"unknown fields":      many(`{"protocol":1`, `,"x":{}`, `}`),
	"unknown lists":       many(`{"protocol":1,"x":[`, `0,`, `0]}`),
	"nested":              many(`{"protocol":1,"x":`, `[`, ``),
	"nested and closed":   `{"protocol":1,"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
	"a long number":       many(`{"protocol":1`, `1`, `}`),
	"a long string":       many(`{"protocol":1,"notReady":"`, `x`, `"}`),
	"an escaped string":   many(`{"protocol":1,"notReady":"`, `\u0000`, `"}`),
	"invalid UTF-8":       many(`{"protocol":1,"notReady":"`, "\xff", `"}`),
	"a long name":         many(`{"protocol":1,"`, `x`, `":1}`),
	"latencies":           many(`{"protocol":1,"latency":[`, `0,`, `0]}`),
	"only white space":    strings.Repeat(" ", MaxOldAnswer),
	"many pointers":       many(`{"protocol":1,"revisions":[`, `{"usage":{}},`, `{}]}`),
	"times":               many(`{"protocol":1,"certificates":[`, `{"notAfter":"9999-12-31T23:59:59+23:59"},`, `{}]}`),
	"beyond the bytes":    strings.Repeat(" ", 8*MaxOldAnswer) + `{"protocol":1}`,
	"strings up to bound": many(`{"protocol":1,"x":[`, `"`+strings.Repeat("x", 30<<10)+`",`, `0]}`),
}

// many repeats a text in another, up to the longest response.
func many(head, text, tail string) string {
	return head + strings.Repeat(text, (MaxOldAnswer-len(head)-len(tail))/len(text)) + tail
}

// TestLiesTakeLittleMemory: whatever a pod answers, the client allocates little, and keeps less.
func TestLiesTakeLittleMemory(t *testing.T) {
	const mostAllocated, mostKept = 12 << 20, 256 << 10
	for name, text := range lies {
		t.Run(name, func(t *testing.T) {
			client := clientOf(t, says(text))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			status, err := client.Status(t.Context(), podIP)
			runtime.ReadMemStats(&after)
			// The server of the test allocates as well.
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > mostAllocated {
				t.Errorf("%d bytes were allocated (%v)", allocated, err)
			}
			if size := boundedjson.Size(status); size > mostKept {
				t.Errorf("%d bytes are kept", size)
			}
			runtime.ReadMemStats(&before)
			_, err = client.Requests(t.Context(), podIP, "", 1)
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > mostAllocated {
				t.Errorf("%d bytes were allocated for a window (%v)", allocated, err)
			}
		})
	}
}

// TestLargestHonestStatus: what the releases before 0.5 report of many certificates with many names is understood, and cut to
// the bounds.
func TestLargestHonestStatus(t *testing.T) {
	status := Status{Protocol: 1, Version: "0.4.0", Serving: "r1", Ready: true}
	for n := range 64 {
		c := Certificate{Name: fmt.Sprintf("certificate-%d", n), Subject: "CN=a.example.com", Serial: strings.Repeat("a", 40), NotAfter: new(time.Unix(1e9, 0).UTC())}
		for i := range 100 {
			c.DNSNames = append(c.DNSNames, fmt.Sprintf("name-%d.certificate-%d.shops.example.com", i, n))
		}
		c.Listeners = []string{"0.0.0.0:443", "[::]:443"}
		status.Certificates = append(status.Certificates, c)
	}
	text := encode(t, status)
	if len(text) <= MaxAnswer || len(text) > MaxOldAnswer {
		t.Fatalf("the status has %d bytes", len(text))
	}
	got, err := clientOf(t, says(text)).Status(t.Context(), podIP)
	if err != nil || encode(t, got) != text {
		t.Errorf("it is read as %.200s (%v)", encode(t, got), err)
	}
}

// TestLongAnswersWait: responses longer than MaxAnswer are read a few at a time; all others do not wait for them.
func TestLongAnswersWait(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{}, 100)
	client := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get(ParameterRevision) == "" {
			_, _ = fmt.Fprint(w, strings.Repeat(" ", MaxAnswer+4096))
			_ = http.NewResponseController(w).Flush()
			started <- struct{}{}
			<-release
		}
		_, _ = fmt.Fprint(w, `{"protocol":1,"seconds":1}`)
	})
	var done []chan error
	for range MaxOldAnswers + 3 {
		result := make(chan error, 1)
		done = append(done, result)
		go func() {
			_, err := client.Status(t.Context(), podIP)
			result <- err
		}()
	}
	for range MaxOldAnswers + 3 {
		<-started
	}
	for len(client.old) < MaxOldAnswers {
		runtime.Gosched()
	}
	if _, err := client.Requests(t.Context(), podIP, "r1", 1); err != nil {
		t.Errorf("a short response waits for long ones: %v", err)
	}
	close(release)
	for _, result := range done {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
	if len(client.old) > 0 || len(client.decoding) > 0 {
		t.Errorf("%d and %d places are still taken", len(client.old), len(client.decoding))
	}
}

// TestHeadersAreBounded: a pod cannot send the operator megabytes of headers.
func TestHeadersAreBounded(t *testing.T) {
	client := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*MaxAnswerHeader))
		_, _ = fmt.Fprint(w, `{"protocol":1}`)
	})
	transport := client.http.Transport.(*http.Transport)
	real := NewClient(time.Second).http.Transport.(*http.Transport)
	if !real.DisableCompression {
		t.Error("responses may be compressed")
	}
	transport.MaxResponseHeaderBytes = real.MaxResponseHeaderBytes
	if status, err := client.Status(t.Context(), podIP); err == nil {
		t.Errorf("the status is %+v", status)
	}
}

// TestWorstCase: nothing within the limits takes more memory than stated, in bytes allocated for one response.
func TestWorstCase(t *testing.T) {
	const most = 8 << 20
	for _, text := range []string{
		`{"protocol":1,"certificates":[` + strings.Repeat(`{},`, 2047) + `{}]}`,
		`{"protocol":1,"revisions":[` + strings.Repeat(`{"problems":[{},{},{},{},{}]},`, 1300) + `{}]}`,
		`{"protocol":1,"revisions":[` + strings.Repeat(`{"usage":{},"problems":[{}]},`, 2047) + `{}]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, err := DecodeStatus([]byte(text))
		runtime.ReadMemStats(&after)
		if err != nil || after.TotalAlloc-before.TotalAlloc > most {
			t.Errorf("%.40s: %d bytes were allocated (%v)", text, after.TotalAlloc-before.TotalAlloc, err)
		}
		if size := boundedjson.Size(status); size > 64<<10 {
			t.Errorf("%.40s: %d bytes are kept", text, size)
		}
	}
}

// TestEncodedStatusIsShort: the status of this release is never longer than the operator reads at any time, and what it leaves
// out are names first.
func TestEncodedStatusIsShort(t *testing.T) {
	for name, tt := range map[string]struct {
		certificates, names, length int
		subject                     bool
	}{
		"few names":     {64, 2, 40, true},
		"many names":    {64, 100, 40, true},
		"long names":    {64, 256, 253, true},
		"long subjects": {64, 100, 253, false},
	} {
		status := worst(tt.certificates, tt.names, tt.length, tt.subject)
		before := encode(t, status)
		text, err := status.Encode()
		if err != nil || len(text) > MaxAnswer {
			t.Errorf("%s: %d bytes (%v)", name, len(text), err)
		}
		if encode(t, status) != before {
			t.Errorf("%s: the status was changed", name)
		}
		got, err := DecodeStatus(text)
		if err != nil {
			t.Fatal(err)
		}
		checkNeverLeftOut(t, name, &status, &got)
		if tt.subject != (got.Certificates[0].Subject != "") || tt.names == 2 && len(got.Certificates[0].DNSNames) != 2 {
			t.Errorf("%s: the first certificate is %+v", name, got.Certificates[0])
		}
	}
}

// checkNeverLeftOut fails the test unless a status that was shortened still identifies each certificate, and has the latest
// problems.
func checkNeverLeftOut(t *testing.T, name string, status, got *Status) {
	t.Helper()
	for i, c := range got.Certificates {
		if want := status.Certificates[i]; c.Name != want.Name || c.Serial != want.Serial || !c.NotAfter.Equal(*want.NotAfter) || c.Error != want.Error {
			t.Errorf("%s: certificate %d is %+v", name, i, c)
		}
	}
	if got.Revisions[0].Revision != status.Revisions[0].Revision || got.Revisions[0].Problems[0] != status.Revisions[0].Problems[0] || len(got.ReloadProblems) != 5 {
		t.Errorf("%s: the problems are gone: %+v", name, *got)
	}
}

// worst returns a status with all outcomes that an instance can report.
func worst(certificates, names, length int, shortSubject bool) Status {
	problem := Problem{File: strings.Repeat("f", 253), Line: 1, Message: strings.Repeat("m", 500)}
	if !shortSubject {
		// Each takes six bytes in JSON.
		problem.Message = strings.Repeat("<", 500)
	}
	problems := []Problem{problem, problem, problem, problem, problem}
	status := Status{Protocol: 1, Serving: "r0", ReloadProblems: problems}
	few := problems[:1]
	for n := range 7 {
		r := Revision{Revision: fmt.Sprint("r", n), Test: Failed, Problems: few}
		if !shortSubject {
			r.Problems, r.Unread = problems, strings.Split(strings.Repeat(strings.Repeat("u", 253)+" ", 10), " ")
		}
		status.Revisions = append(status.Revisions, r)
	}
	subject := "CN=a.example.com"
	if !shortSubject {
		subject = strings.Repeat("<", 300)
	}
	for n := range certificates {
		c := Certificate{
			Name: fmt.Sprintf("certificate-%d", n), Subject: subject, Issuer: subject, Serial: strings.Repeat("a", 40),
			Error: strings.Repeat("e", 150), NotAfter: new(time.Unix(1e9, 0).UTC()), NotBefore: new(time.Unix(1e8, 0).UTC()),
		}
		for range names {
			c.DNSNames = append(c.DNSNames, strings.Repeat("n", length))
		}
		status.Certificates = append(status.Certificates, c)
	}
	return status
}
