package edits

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
)

// TestEdits: what each change does to an application, or why it does not.
func TestEdits(t *testing.T) {
	served := func(n int64, ago time.Duration) history.Revision {
		return history.Revision{Number: n, State: history.StateGood, ServedAt: time.Unix(0, 0).Add(-ago)}
	}
	candidate := func(stage history.Stage) history.Revision {
		return history.Revision{Number: 9, State: history.StateCandidate, Stage: stage}
	}
	waiting := &v1alpha2.WaitingRollout{Revision: "5b3f", Gates: []string{"backup", "review"}}
	paused := v1alpha2.NginxOperatorStatus{Conditions: []metav1.Condition{{Type: v1alpha2.ConditionUpToDate, Reason: v1alpha2.ReasonRolloutPaused}}}
	canaryRuns := []metav1.Condition{{Type: v1alpha2.ConditionUpToDate, Reason: v1alpha2.ReasonCanaryRunning}}
	toRevision := func(revision int64) func(*v1alpha2.NginxOperator) {
		return func(n *v1alpha2.NginxOperator) { n.Spec.Rollout = &v1alpha2.Rollout{ToRevision: &revision} }
	}
	annotated := func(pairs ...string) func(*v1alpha2.NginxOperator) {
		return func(n *v1alpha2.NginxOperator) {
			n.Annotations = map[string]string{}
			for pair := range slices.Chunk(pairs, 2) {
				n.Annotations[pair[0]] = pair[1]
			}
		}
	}
	for name, tt := range map[string]struct {
		command string
		status  v1alpha2.NginxOperatorStatus
		history history.History
		want    func(*v1alpha2.NginxOperator)
		fails   string
	}{
		"rollback to a number":         {command: "rollback 3", history: history.History{served(3, 1)}, want: toRevision(3)},
		"rollback to none":             {command: "rollback 3", history: history.History{served(2, 1), {Number: 3, State: history.StateFailed}}, fails: "has no revision 3 that every pod has served"},
		"rollback to the one before":   {command: "rollback", status: v1alpha2.NginxOperatorStatus{Revision: 8}, history: history.History{served(5, 3), served(6, 2), served(8, 1)}, want: toRevision(6)},
		"rollback during a rollout":    {command: "rollback", status: v1alpha2.NginxOperatorStatus{Revision: 8}, history: history.History{served(7, 2), served(8, 1), candidate(history.Proving)}, want: toRevision(8)},
		"rollback after a failed one":  {command: "rollback", status: v1alpha2.NginxOperatorStatus{Revision: 8}, history: history.History{served(7, 2), served(8, 1), {Number: 9, State: history.StateFailed}}, want: toRevision(8)},
		"rollback without another one": {command: "rollback", status: v1alpha2.NginxOperatorStatus{Revision: 8}, history: history.History{served(8, 1)}, fails: "no earlier revision"},
		"rollback to zero":             {command: "rollback 0", fails: "set it to a number"},
		"abort":                        {command: "abort", status: v1alpha2.NginxOperatorStatus{Revision: 8}, history: history.History{served(8, 1), candidate(history.Rolling)}, want: toRevision(8)},
		"abort a configuration":        {command: "abort", status: v1alpha2.NginxOperatorStatus{Revision: 8, Conditions: canaryRuns}, history: history.History{served(8, 1)}, want: toRevision(8)},
		"abort one that waits":         {command: "abort", status: v1alpha2.NginxOperatorStatus{Revision: 8, Conditions: []metav1.Condition{{Type: v1alpha2.ConditionUpToDate, Reason: v1alpha2.ReasonWaitingForGate}}}, history: history.History{served(8, 1)}, want: toRevision(8)},
		"abort nothing":                {command: "abort", status: v1alpha2.NginxOperatorStatus{Revision: 8}, history: history.History{served(8, 1)}, fails: "no rollout of web is in progress"},
		"abort the first rollout":      {command: "abort", history: history.History{candidate(history.Proving)}, fails: "has served no revision yet"},
		"promote past gates":           {command: "promote", status: v1alpha2.NginxOperatorStatus{WaitingRollout: waiting}, want: annotated(v1alpha2.AnnotationGatePrefix+"backup", "5b3f", v1alpha2.AnnotationGatePrefix+"review", "5b3f")},
		"promote a canary":             {command: "promote", history: history.History{candidate(history.Canary)}, want: annotated(v1alpha2.AnnotationPromote, "9")},
		"promote a configuration":      {command: "promote", status: v1alpha2.NginxOperatorStatus{Conditions: canaryRuns, Config: &v1alpha2.ConfigStatus{Revision: "c2"}, Revision: 8}, want: annotated(v1alpha2.AnnotationPromote, "c2@8")},
		"promote nothing":              {command: "promote", history: history.History{candidate(history.Rolling)}, fails: "waits for a gate or runs a canary"},
		"approve":                      {command: "approve review", status: v1alpha2.NginxOperatorStatus{WaitingRollout: waiting}, want: annotated(v1alpha2.AnnotationGatePrefix+"review", "5b3f")},
		"approve another gate":         {command: "approve lunch", status: v1alpha2.NginxOperatorStatus{WaitingRollout: waiting}, fails: "for backup, review"},
		"pause":                        {command: "pause", want: func(n *v1alpha2.NginxOperator) { n.Spec.Rollout = &v1alpha2.Rollout{Paused: new(true)} }},
		"resume what continues":        {command: "resume", fails: "neither paused nor suspended"},
		"promote what is paused":       {command: "promote", status: paused, history: history.History{candidate(history.Canary)}, fails: "is paused: kubectl nginx resume web"},
		"scale to too few":             {command: "scale -1", fails: "set it to a number from 0"},
	} {
		t.Run(name, func(t *testing.T) {
			nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Status: tt.status}
			want := nginx.DeepCopy()
			words := strings.Fields(tt.command)
			at := slices.IndexFunc(All(), func(e Edit) bool { return e.Command == words[0] })
			done, err := All()[at].Change(Target{nginx, tt.history}, words[1:])
			switch {
			case tt.fails == "" && (err != nil || done == ""):
				t.Errorf("%q, %v", done, err)
			case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
				t.Errorf("%q, %v, want %q", done, err, tt.fails)
			}
			if tt.want != nil {
				tt.want(want)
			}
			if diff := cmp.Diff(want, nginx); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestMaintenance: the end of a maintenance restores all that its begin has replaced, and it listens as the application does.
func TestMaintenance(t *testing.T) {
	declared := v1alpha2.NginxOperatorSpec{
		Ports: []v1alpha2.Port{{Name: "http", Port: 80}, {Name: "https", Port: 443, TargetPort: new(int32(8443))}},
		TLS:   []v1alpha2.Certificate{{Name: "site", SecretName: "shop"}},
		Config: &v1alpha2.Config{
			Files: map[string]v1alpha2.ConfigFile{"a.conf": "server { listen 80 proxy_protocol; listen [::]:8443 ssl; }"},
			Env:   []v1alpha2.ConfigEnvVar{{Name: "X", ValueFrom: &v1alpha2.ConfigEnvVarSource{SecretKeyRef: &v1alpha2.KeyReference{Name: "s", Key: "k"}}}},
		},
		Checks:  []v1alpha2.Check{{Path: "/health"}},
		Rollout: &v1alpha2.Rollout{MinReadySeconds: new(int32(5)), Canary: &v1alpha2.Canary{}, Gates: []string{"review"}},
	}
	n := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: *declared.DeepCopy()}
	maintain(t, n, "off", "not in maintenance")
	maintain(t, n, "on", "")
	text := string(n.Spec.Config.Files["maintenance.conf"])
	for _, want := range []string{"listen 80 default_server proxy_protocol;", "listen [::]:8443 default_server ssl;", "ssl_certificate /etc/nginx/tls/site/tls.crt;", "return 503"} {
		if !strings.Contains(text, want) {
			t.Errorf("the configuration lacks %q:\n%s", want, text)
		}
	}
	if len(n.Spec.Config.Env) != 1 {
		t.Error("without the variables, the pods would be replaced")
	}
	if n.Spec.Rollout.Canary != nil || n.Spec.Rollout.Gates != nil || n.Spec.Checks != nil || *n.Spec.Rollout.FirstAnswers != v1alpha2.FirstAnswersIgnore {
		t.Errorf("the answers are compared with what they were: %+v", n.Spec)
	}
	maintain(t, n, "on", "already")
	changed := n.DeepCopy()
	changed.Spec.Config.Files["new.conf"] = "server {}"
	maintain(t, changed, "off", "was changed during the maintenance")
	maintain(t, n, "off", "")
	if diff := cmp.Diff(declared, n.Spec); diff != "" || len(n.Annotations) != 0 {
		t.Errorf("annotations %v; -declared +restored:\n%s", n.Annotations, diff)
	}
}

// TestHeldUp: what the user learns about changes that something else holds up, or that end it.
func TestHeldUp(t *testing.T) {
	pinned := v1alpha2.Rollout{ToRevision: new(int64(2))}
	for name, tt := range map[string]struct {
		command string
		spec    v1alpha2.NginxOperatorSpec
		want    string
		left    v1alpha2.NginxOperatorSpec
	}{
		"restart what is pinned": {command: "restart", spec: v1alpha2.NginxOperatorSpec{Rollout: &pinned}, want: "its pods would not be replaced: kubectl nginx unpin web", left: v1alpha2.NginxOperatorSpec{Rollout: &pinned}},
		"unpin":                  {command: "unpin", spec: v1alpha2.NginxOperatorSpec{Rollout: pinned.DeepCopy()}, want: "unpinned"},
		"resume both":            {command: "resume", spec: v1alpha2.NginxOperatorSpec{Suspend: new(true), Rollout: &v1alpha2.Rollout{Paused: new(true)}}, want: "end of the pause and of the suspension"},
		"resume one":             {command: "resume", spec: v1alpha2.NginxOperatorSpec{Suspend: new(true)}, want: "end of the suspension"},
		"abort a pause": {
			command: "abort", spec: v1alpha2.NginxOperatorSpec{Rollout: &v1alpha2.Rollout{Paused: new(true)}}, want: "returning to revision 2; the pause is over",
			left: v1alpha2.NginxOperatorSpec{Rollout: &pinned},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: tt.spec, Status: v1alpha2.NginxOperatorStatus{Revision: 2}}
			at := slices.IndexFunc(All(), func(e Edit) bool { return e.Command == tt.command })
			said, err := All()[at].Change(Target{n, history.History{{Number: 3, Stage: history.Canary}}}, nil)
			if err != nil {
				said = err.Error()
			}
			if !strings.Contains(said, tt.want) {
				t.Errorf("%q, want %q", said, tt.want)
			}
			if diff := cmp.Diff(tt.left, n.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestMaintenanceKeepsTheDefault: the server for all other names stays the one that is declared, also one that rejects them, and
// servers without a certificate of their own have that of the level above.
func TestMaintenanceKeepsTheDefault(t *testing.T) {
	n := &v1alpha2.NginxOperator{Spec: v1alpha2.NginxOperatorSpec{
		Ports: []v1alpha2.Port{{Name: "https", Port: 8443}},
		Config: &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.conf": `
ssl_certificate a.crt; ssl_certificate_key a.key;
server { listen 8443 ssl; server_name a.test; }
server { listen 8443 ssl; server_name b.test; ssl_certificate b.crt; ssl_certificate_key b.key; ssl_certificate b2.crt; ssl_certificate_key b2.key; }
server { listen 8443 ssl default_server; ssl_reject_handshake on; }`}},
	}}
	maintain(t, n, "on", "")
	if diff := cmp.Diff([]string{
		"listen 8443 default_server ssl;", "ssl_reject_handshake on;",
		"listen 8443 ssl;", "server_name a.test;", "ssl_certificate a.crt;", "ssl_certificate_key a.key;",
		"listen 8443 ssl;", "server_name b.test;", "ssl_certificate b.crt;", "ssl_certificate_key b.key;", "ssl_certificate b2.crt;", "ssl_certificate_key b2.key;",
	}, tlsLines(n)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// tlsLines returns the lines about names and certificates of a maintenance.
func tlsLines(n *v1alpha2.NginxOperator) []string {
	var found []string
	for line := range strings.Lines(string(n.Spec.Config.Files[maintenanceFile])) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "listen") || strings.HasPrefix(line, "server_name") || strings.HasPrefix(line, "ssl_") {
			found = append(found, line)
		}
	}
	return found
}

// TestMaintenanceOfSeveralCertificates: each name keeps its certificate.
func TestMaintenanceOfSeveralCertificates(t *testing.T) {
	n := &v1alpha2.NginxOperator{Spec: v1alpha2.NginxOperatorSpec{
		Ports: []v1alpha2.Port{{Name: "http", Port: 80}, {Name: "https", Port: 443}},
		TLS:   []v1alpha2.Certificate{{Name: "one"}, {Name: "two"}},
		Config: &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{
			"b.conf": `server { listen 443 ssl; server_name two.example.com ~^x\d "$host"; ssl_certificate /etc/nginx/tls/two/tls.crt; ssl_certificate_key /etc/nginx/tls/two/tls.key; }`,
			"a.conf": `# server { listen 443 ssl; ssl_certificate wrong; }
server { listen 80; listen 443 ssl; server_name one.example.com; ssl_certificate /etc/nginx/tls/one/tls.crt; ssl_certificate_key /etc/nginx/tls/one/tls.key; }`,
			"c.conf": `server { listen 443 ssl; server_name any.example.com; ssl_certificate /etc/nginx/tls/$ssl_server_name.crt; ssl_certificate_key /etc/nginx/tls/$ssl_server_name.key; }`,
		}},
	}}
	maintain(t, n, "on", "")
	want := []string{
		"listen 80 default_server;", "listen 443 default_server ssl;", "ssl_certificate /etc/nginx/tls/one/tls.crt;", "ssl_certificate_key /etc/nginx/tls/one/tls.key;",
		"listen 443 ssl;", "server_name two.example.com;", "ssl_certificate /etc/nginx/tls/two/tls.crt;", "ssl_certificate_key /etc/nginx/tls/two/tls.key;",
	}
	if diff := cmp.Diff(want, tlsLines(n)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// maintain begins or ends a maintenance, or expects an error.
func maintain(t *testing.T, n *v1alpha2.NginxOperator, argument, want string) {
	t.Helper()
	_, err := maintenance(Target{NginxOperator: n}, []string{argument})
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("maintenance %s: %v, want %q", argument, err, want)
	}
}

// TestNoMaintenance: what cannot be answered with 503, or could not be restored, is refused.
func TestNoMaintenance(t *testing.T) {
	for _, tt := range []struct {
		spec v1alpha2.NginxOperatorSpec
		want string
	}{
		{v1alpha2.NginxOperatorSpec{Ports: []v1alpha2.Port{{Name: "dns", Port: 53, Protocol: "UDP"}}}, "port dns is UDP"},
		{v1alpha2.NginxOperatorSpec{Ports: []v1alpha2.Port{{Name: "https", Port: 443}}, Config: &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "web"}}}, "spec.tls has none"},
		{v1alpha2.NginxOperatorSpec{Config: &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"a.conf": v1alpha2.ConfigFile(strings.Repeat("#", maxBefore))}}}, "too large"},
		{v1alpha2.NginxOperatorSpec{Rollout: &v1alpha2.Rollout{Paused: new(true)}}, "rollouts of web are paused"},
		{v1alpha2.NginxOperatorSpec{Rollout: &v1alpha2.Rollout{ToRevision: new(int64(2))}}, "web is pinned to revision 2"},
		{v1alpha2.NginxOperatorSpec{Suspend: new(true)}, "web is suspended"},
	} {
		maintain(t, &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: tt.spec}, "on", tt.want)
	}
}
