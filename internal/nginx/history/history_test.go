package history

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

func TestRecordRoundTrip(t *testing.T) {
	want := Revision{
		Name: "web-1", UID: "u", Version: "7", Number: 3, State: StateGood, Stage: Rolling, Inputs: "i", Template: "t", Config: "c",
		Image: "nginx:1", ImageDigest: "sha256:1", Cause: "image", StartedAt: noon, ServedAt: noon.Add(time.Second),
		Failure: Failure{Attempt: "a", Reason: "r", Message: "m"}, Raw: []byte(`{}`),
	}
	object := appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: want.Name, UID: want.UID, ResourceVersion: want.Version, Labels: want.Labels(), Annotations: want.Annotations()},
		Revision:   want.Number, Data: runtime.RawExtension{Raw: want.Raw},
	}
	if diff := cmp.Diff(History{want}, Read([]appsv1.ControllerRevision{object})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDataRoundTrip(t *testing.T) {
	want := Data{
		Spec:     v1alpha2.NginxOperatorSpec{Image: new("nginx:1")},
		Template: []byte(`{"spec":{}}`),
		Config:   Config{Revision: "c", Files: nginxconf.Files{"a.conf": "server {}"}},
		Protocol: 1,
	}
	raw, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	r := Revision{Raw: raw}
	got, err := r.Data()
	if err != nil {
		t.Fatal(err)
	}
	want.Format = format
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Raw, err = TrimFiles(raw); err != nil {
		t.Fatal(err)
	}
	if got, err = r.Data(); err != nil || got.Config.Revision != "c" || got.Config.Files != nil || string(got.Template) != string(want.Template) {
		t.Errorf("trimmed: %+v, %v", got, err)
	}
	r.Raw = []byte(strings.Replace(string(raw), `"format":1`, `"format":2`, 1))
	if _, err := r.Data(); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("another format: %v", err)
	}
}

// TestLargestConfiguration: the largest ConfigMap, full of characters that JSON escapes, fits into
// a ControllerRevision. etcd accepts requests of up to 1.5 MiB.
func TestLargestConfiguration(t *testing.T) {
	files := nginxconf.Files{"a.conf": strings.Repeat("location = /<&>\"\n", 1<<20/17)}
	raw, err := Data{Config: Config{Revision: "c", Files: files}, Template: []byte(`{}`)}.Encode()
	if err != nil || len(raw) > 1<<20 {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	r := Revision{Raw: raw}
	got, err := r.Data()
	if err != nil || !cmp.Equal(got.Config.Files, files) {
		t.Errorf("the files are not what they were: %v", err)
	}
	if r.Raw, err = TrimFiles(raw); err != nil || len(r.Raw) > 1000 {
		t.Errorf("trimmed, they are still %d bytes (%v)", len(r.Raw), err)
	}
	if got, err = r.Data(); err != nil || got.Config.Files != nil {
		t.Errorf("trimmed: %v, %v", got.Config.Files, err)
	}
}

// TestInputs: the inputs change only with the parts of a spec that affect the pods.
func TestInputs(t *testing.T) {
	tests := map[string]struct {
		change func(*v1alpha2.NginxOperatorSpec)
		same   bool
	}{
		"nothing":                             {func(*v1alpha2.NginxOperatorSpec) {}, true},
		"replicas":                            {func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(9)) }, true},
		"suspend":                             {func(s *v1alpha2.NginxOperatorSpec) { s.Suspend = new(true) }, true},
		"the configuration":                   {func(s *v1alpha2.NginxOperatorSpec) { s.Config.ConfigMap = &v1alpha2.ConfigMapReference{Name: "c"} }, true},
		"order of content":                    {func(s *v1alpha2.NginxOperatorSpec) { slices.Reverse(s.Content) }, true},
		"order of tls":                        {func(s *v1alpha2.NginxOperatorSpec) { slices.Reverse(s.TLS) }, true},
		"order of the Secrets for registries": {func(s *v1alpha2.NginxOperatorSpec) { slices.Reverse(s.ImagePullSecrets) }, true},
		"a Secret for registries":             {func(s *v1alpha2.NginxOperatorSpec) { s.ImagePullSecrets = s.ImagePullSecrets[1:] }, false},
		"order of variables":                  {func(s *v1alpha2.NginxOperatorSpec) { slices.Reverse(s.Config.Env) }, true},
		"the name of a variable":              {func(s *v1alpha2.NginxOperatorSpec) { s.Config.Env[0].Name = "OTHER" }, true},
		"a literal variable":                  {func(s *v1alpha2.NginxOperatorSpec) { s.Config.Env[2].Value = new("b") }, true},
		"the same key again":                  {func(s *v1alpha2.NginxOperatorSpec) { s.Config.Env[2] = variable("C", "a") }, true},
		"another key":                         {func(s *v1alpha2.NginxOperatorSpec) { s.Config.Env[0] = variable("A", "c") }, false},
		"order of sources of variables":       {func(s *v1alpha2.NginxOperatorSpec) { slices.Reverse(s.Config.EnvFrom) }, true},
		"a prefix":                            {func(s *v1alpha2.NginxOperatorSpec) { s.Config.EnvFrom[0].Prefix = new("A_") }, true},
		"a source of variables":               {func(s *v1alpha2.NginxOperatorSpec) { s.Config.EnvFrom = s.Config.EnvFrom[1:] }, false},
		"another quantity":                    {func(s *v1alpha2.NginxOperatorSpec) { s.Resources = limit("1") }, false},
		"the same quantity":                   {func(s *v1alpha2.NginxOperatorSpec) { s.Resources = limit("0.5") }, true},
		"a node port":                         {func(s *v1alpha2.NginxOperatorSpec) { s.Ports[0].NodePort = new(int32(30080)) }, true},
		"image":                               {func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:2") }, false},
		"no image":                            {func(s *v1alpha2.NginxOperatorSpec) { s.Image = nil }, false},
		"port":                                {func(s *v1alpha2.NginxOperatorSpec) { s.Ports[0].Port = 81 }, false},
		"forceRedeploy":                       {func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("x") }, false},
		"content":                             {func(s *v1alpha2.NginxOperatorSpec) { s.Content = s.Content[1:] }, false},
		"tls":                                 {func(s *v1alpha2.NginxOperatorSpec) { s.TLS = s.TLS[1:] }, false},
		"pod template":                        {func(s *v1alpha2.NginxOperatorSpec) { s.PodTemplate = &v1alpha2.PodTemplate{SchedulerName: new("x")} }, false},
		"drain":                               {func(s *v1alpha2.NginxOperatorSpec) { s.Drain = &v1alpha2.Drain{DelaySeconds: new(int32(1))} }, false},
		"request metrics":                     {func(s *v1alpha2.NginxOperatorSpec) { s.Metrics = &v1alpha2.Metrics{Requests: new(false)} }, false},
		"pods of no concern":                  {func(s *v1alpha2.NginxOperatorSpec) { s.Service = &v1alpha2.Service{} }, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := spec(), spec()
			tt.change(after)
			a, err1 := Hash(Inputs(before))
			b, err2 := Hash(Inputs(after))
			if err1 != nil || err2 != nil || (a == b) != tt.same {
				t.Errorf("the hashes are equal: %t, want %t (%v, %v)", a == b, tt.same, err1, err2)
			}
		})
	}
}

func spec() *v1alpha2.NginxOperatorSpec {
	return &v1alpha2.NginxOperatorSpec{
		Image:     new("nginx:1"),
		Ports:     []v1alpha2.Port{{Name: "http", Port: 80, Protocol: "TCP"}},
		Content:   []v1alpha2.Content{{MountPath: "/a"}, {MountPath: "/b"}},
		TLS:       []v1alpha2.Certificate{{Name: "a"}, {Name: "b"}},
		Resources: limit("500m"),

		ImagePullSecrets: []v1alpha2.SecretReference{{Name: "a"}, {Name: "b"}},
		Config: &v1alpha2.Config{
			Env:     []v1alpha2.ConfigEnvVar{variable("A", "a"), variable("B", "b"), {Name: "C", Value: new("a")}},
			EnvFrom: []v1alpha2.ConfigEnvFromSource{{SecretRef: &v1alpha2.SecretReference{Name: "x"}}, {ConfigMapRef: &v1alpha2.ConfigMapReference{Name: "x"}}},
		},
	}
}

func variable(name, key string) v1alpha2.ConfigEnvVar {
	return v1alpha2.ConfigEnvVar{Name: name, ValueFrom: &v1alpha2.ConfigEnvVarSource{SecretKeyRef: &v1alpha2.KeyReference{Name: "shop", Key: key}}}
}

// TestInputsWithoutVariables: a configuration without variables that pods mount is not a part of the inputs, as in
// releases that did not have them.
func TestInputsWithoutVariables(t *testing.T) {
	literal := &v1alpha2.Config{Env: []v1alpha2.ConfigEnvVar{{Name: "C", Value: new("a")}}}
	for _, config := range []*v1alpha2.Config{nil, {}, literal} {
		if got := Inputs(&v1alpha2.NginxOperatorSpec{Config: config}); got.Config != nil || got.ImagePullSecrets != nil {
			t.Errorf("%+v", got)
		}
	}
}

func limit(cpu string) *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
}

func TestAttempt(t *testing.T) {
	attempt := func(inputs, config string, rollout *v1alpha2.Rollout) string {
		a, err := Attempt(inputs, config, rollout)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	base := attempt("i", "c", nil)
	for name, other := range map[string]string{
		"inputs": attempt("j", "c", nil), "config": attempt("i", "d", nil),
		"policy": attempt("i", "c", &v1alpha2.Rollout{ProgressDeadlineSeconds: new(int32(9))}),
		"glued":  attempt("ic", "", nil),
	} {
		if other == base {
			t.Errorf("another %s is the same attempt", name)
		}
	}
	if hold := attempt("i", "c", &v1alpha2.Rollout{OnFailure: v1alpha2.OnFailureHold}); hold != base {
		t.Error("what happens on a failure cannot be changed after it")
	}
	for _, gates := range [][]string{{}, {"backup"}} {
		if gated := attempt("i", "c", &v1alpha2.Rollout{Gates: gates}); gated != base {
			t.Errorf("with gates %q it is another attempt", gates)
		}
	}
}

func TestLookups(t *testing.T) {
	h := History{
		{Name: "a", Number: 1, State: StateGood, Template: "t1", ServedAt: noon.Add(2 * time.Hour)},
		{Name: "b", Number: 2, State: StateGood, Template: "t2", ServedAt: noon.Add(time.Hour)},
		{Name: "c", Number: 3, State: StateFailed, Template: "t3"},
	}
	if got := h.LastGood(""); got.Name != "a" {
		t.Errorf("the last good one is %s: what was served last counts, not the number", got.Name)
	}
	if got := h.LastGood("a"); got.Name != "b" {
		t.Errorf("the last good one apart from a is %s", got.Name)
	}
	if got := h.Numbered(3); got != nil {
		t.Errorf("a failed one can be gone back to: %s", got.Name)
	}
	if got := h.Numbered(2); got.Name != "b" {
		t.Errorf("number 2 is %s", got.Name)
	}
	if h.HasBeenGood("t3") || !h.HasBeenGood("t1") {
		t.Error("which templates were good")
	}
	if got := h.NextNumber(); got != 4 {
		t.Errorf("the next number is %d", got)
	}
}

func TestWith(t *testing.T) {
	h := History{{Name: "a", Number: 1, State: StateGood}, {Name: "b", Number: 2, State: StateCandidate}}
	tests := []struct {
		name     string
		recorded Revision
		want     []string
	}{
		{"another state", Revision{Name: "b", Number: 2, State: StateGood}, []string{"a 1 good", "b 2 good"}},
		{"gone back to", Revision{Name: "a", Number: 3, State: StateGood}, []string{"b 2 candidate", "a 3 good"}},
		{"a new one", Revision{Name: "c", Number: 3, State: StateCandidate}, []string{"a 1 good", "b 2 candidate", "c 3 candidate"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range h.With(tt.recorded) {
				got = append(got, fmt.Sprint(r.Name, " ", r.Number, " ", r.State))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
			if h[0].State != StateGood || h[1].State != StateCandidate {
				t.Error("the history before has changed")
			}
		})
	}
}

func TestStale(t *testing.T) {
	var h History
	for i := range Limit + 3 {
		h = append(h, Revision{Name: fmt.Sprint("good", i), State: StateGood, ServedAt: noon.Add(time.Duration(i) * time.Minute)})
	}
	h = append(h,
		Revision{Name: "failed now", State: StateFailed, Failure: Failure{Attempt: "now"}},
		Revision{Name: "failed then", State: StateFailed, Failure: Failure{Attempt: "then"}},
		Revision{Name: "candidate", State: StateCandidate},
		Revision{Name: "abandoned", State: StateCandidate})
	used := []string{"candidate", "good1"}
	var got []string
	for _, r := range h.Stale("now", func(r *Revision) bool { return slices.Contains(used, r.Name) }) {
		got = append(got, r.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"abandoned", "failed then", "good0", "good2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCause(t *testing.T) {
	before := Data{Spec: Inputs(spec())}
	changed := spec()
	changed.ForceRedeploy = new("x")
	changed.Resources = limit("2")
	after := Inputs(changed)
	tests := map[string]struct{ got, want string }{
		"first": {Cause(nil, "", "", nil, "", ""), "first rollout"},
		"all": {Cause(&before, "nginx:1", "c1", &after, "nginx:2", "c2"),
			"image nginx:1 → nginx:2, forceRedeploy, resources, configuration c1 → c2"},
		"another default": {Cause(&before, "nginx:1", "c1", &before.Spec, "nginx:2", "c1"), "the operator's own template, image nginx:1 → nginx:2"},
		"none":            {Cause(&before, "nginx:1", "c1", &before.Spec, "nginx:1", "c1"), "the operator's own template"},
	}
	for name, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", name, tt.got, tt.want)
		}
	}
}

// TestPackedFilesAreBounded: files that unpack to more than a configuration can have are refused.
func TestPackedFilesAreBounded(t *testing.T) {
	for what, text := range map[string]string{
		"values": "{" + strings.Repeat(`"a":"",`, 500_000) + `"b":""}`, "nested": `{"a":[` + strings.Repeat("[", 1000), "bytes": strings.Repeat(" ", 80<<20),
	} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if files, err := decompress(packed.Bytes()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%d files (%v), want an error that names the %s", len(files), err, what)
		}
	}
}
