package backup

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// recipient has the form of an age public key.
var recipient = "age1" + strings.Repeat("q", 58)

// submission is an object to submit to the API server.
type submission struct {
	name string
	// object overrides the metadata.name.
	object string
	spec   string
	// want is part of the error message. If empty, the object is accepted.
	want string
}

// destinations are submitted as the destination of a backup.
var destinations = []submission{
	{name: "claim", spec: `{url: "pvc://backups"}`},
	{name: "claim and folder", spec: `{url: "pvc://backups/nginx/eu"}`},
	{name: "bucket with parameters", spec: `{url: "s3://backups/nginx?region=eu-central-1&endpoint=https://s3.example:9000", secret: {name: s3}}`},
	{name: "Google", spec: `{url: "gs://backups/nginx", secret: {name: google}}`},
	{name: "Azure", spec: `{url: "azblob://backups", secret: {name: azure}}`},
	{name: "Secret of a claim", spec: `{url: "pvc://backups", secret: {name: s3}}`, want: "destination.secret is for object stores only"},
	{name: "Secret without a name", spec: `{url: "s3://backups", secret: {name: ""}}`, want: "should be at least 1 chars long"},
	{name: "Secret with a bad name", spec: `{url: "s3://backups", secret: {name: "S3_key"}}`, want: "should match"},
	{name: "no URL", spec: `{}`, want: "destination.url: Required value"},
	{name: "empty URL", spec: `{url: ""}`, want: "at least 6 chars long"},
	{name: "another scheme", spec: `{url: "ftp://backups/nginx"}`, want: "must be pvc://claim/folder, s3://bucket/folder"},
	{name: "no scheme", spec: `{url: "backups/nginx"}`, want: "must be pvc://claim/folder, s3://bucket/folder"},
	{name: "password in the URL", spec: `{url: "s3://key:secret@backups/nginx"}`, want: "credentials belong in destination.secret"},
	{name: "no bucket", spec: `{url: "s3:///nginx"}`, want: "must be pvc://claim/folder"},
	{name: "fragment", spec: `{url: "s3://backups/nginx#a"}`, want: "must be pvc://claim/folder"},
	{name: "URL too long", spec: `{url: "s3://backups/` + strings.Repeat("x", 1024) + `"}`, want: "may not be more than 1024"},
	{name: "unknown field", spec: `{url: "s3://backups", secretName: s3}`, want: "unknown field"},
}

var backups = []submission{
	{name: "least", spec: `{target: {name: web}, destination: {url: "pvc://backups"}}`},
	{name: "everything", spec: `{target: {name: web}, destination: {url: "s3://backups", secret: {name: s3}}, includeSecrets: {ageRecipients: [` + recipient + `]}, deletionPolicy: Delete, trigger: Schedule, policyName: all}`},
	{name: "longest name", object: strings.Repeat("a", 56), spec: `{target: {name: web}, destination: {url: "pvc://backups"}}`},
	{name: "name too long", object: strings.Repeat("a", 57), spec: `{target: {name: web}, destination: {url: "pvc://backups"}}`, want: "at most 56 characters long: the names of the jobs"},
	{name: "no target", spec: `{destination: {url: "pvc://backups"}}`, want: "spec.target: Required value"},
	{name: "no destination", spec: `{target: {name: web}}`, want: "spec.destination: Required value"},
	{name: "target with a bad name", spec: `{target: {name: "Web"}, destination: {url: "pvc://backups"}}`, want: "should match"},
	{name: "target with a long name", spec: `{target: {name: ` + strings.Repeat("a", 46) + `}, destination: {url: "pvc://backups"}}`, want: "may not be more than 45"},
	{name: "target without a name", spec: `{target: {}, destination: {url: "pvc://backups"}}`, want: "target.name: Required value"},
	{name: "unknown deletion policy", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, deletionPolicy: Keep}`, want: `supported values: "Retain", "Delete"`},
	{name: "unknown trigger", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, trigger: Whim}`, want: `supported values: "Manual", "Change", "Scale", "Schedule"`},
	{name: "no recipients", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, includeSecrets: {ageRecipients: []}}`, want: "at least 1 items"},
	{name: "recipients left out", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, includeSecrets: {}}`, want: "ageRecipients: Required value"},
	{name: "recipient twice", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, includeSecrets: {ageRecipients: [` + recipient + `, ` + recipient + `]}}`, want: "Duplicate value"},
	{name: "private key", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, includeSecrets: {ageRecipients: [AGE-SECRET-KEY-1]}}`, want: "should match"},
	{name: "policy with a long name", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, policyName: ` + strings.Repeat("a", 64) + `}`, want: "may not be more than 63"},
	{name: "existing", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, existing: {path: shop/web/web-1-01234567}}`},
	{name: "existing, the longest", spec: `{target: {name: ` + strings.Repeat("a", 45) + `}, destination: {url: "pvc://backups"}, existing: {path: ` + strings.Repeat("a", 63) + "/" + strings.Repeat("a", 45) + "/" + strings.Repeat("a", 56) + `-01234567}}`},
	{name: "existing of another application", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, existing: {path: shop/api/web-1-01234567}}`, want: "target.name must be the application in existing.path"},
	{name: "existing without a path", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, existing: {}}`, want: "existing.path: Required value"},
	{name: "existing without a UID", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, existing: {path: shop/web/web-before}}`, want: "should match"},
	{name: "existing that leaves its folder", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, existing: {path: shop/../web-1-01234567}}`, want: "should match"},
	{name: "existing with a slash more", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, existing: {path: shop/web/web-1-01234567/}}`, want: "should match"},
	{name: "typing mistake", spec: `{target: {name: web}, destination: {url: "pvc://backups"}, deletionpolicy: Delete}`, want: "unknown field"},
}

var policies = []submission{
	{name: "target", spec: `{target: {name: web}, triggers: {change: {}}, destination: {url: "pvc://backups"}}`},
	{name: "all of the namespace", spec: `{selector: {}, triggers: {scale: {settleSeconds: 0}}, destination: {url: "pvc://backups"}}`},
	{name: "everything", spec: `{selector: {matchLabels: {a: b}}, triggers: {change: {settleSeconds: 3600}, scale: {}, schedule: {cron: "*/5 3 * * 1-5", timeZone: Europe/Berlin}}, destination: {url: "s3://backups", secret: {name: s3}}, includeSecrets: {ageRecipients: [` + recipient + `]}, retention: {keepLast: 10000, keepDays: 36500}, suspend: true}`},
	{name: "longest name", object: strings.Repeat("a", 63), spec: `{selector: {}, triggers: {change: {}}, destination: {url: "pvc://backups"}}`},
	{name: "name too long", object: strings.Repeat("a", 64), spec: `{selector: {}, triggers: {change: {}}, destination: {url: "pvc://backups"}}`, want: "at most 63 characters long: it is the value of a label"},
	{name: "many labels", spec: selecting(`{matchLabels: {` + repeated(64, "l%d: v") + `}}`)},
	{name: "too many labels", spec: selecting(`{matchLabels: {` + repeated(65, "l%d: v") + `}}`), want: "at most 64 matchLabels are allowed"},
	{name: "many expressions", spec: selecting(`{matchExpressions: [` + repeated(16, "{key: k%d, operator: Exists}") + `]}`)},
	{name: "too many expressions", spec: selecting(`{matchExpressions: [` + repeated(17, "{key: k%d, operator: Exists}") + `]}`), want: "at most 16 matchExpressions are allowed"},
	{name: "many values", spec: selecting(`{matchExpressions: [{key: k, operator: In, values: [` + repeated(64, "v%d") + `]}]}`)},
	{name: "too many values", spec: selecting(`{matchExpressions: [{key: k, operator: In, values: [` + repeated(65, "v%d") + `]}]}`), want: "at most 64 values are allowed in each of matchExpressions"},
	{name: "target and selector", spec: `{target: {name: web}, selector: {}, triggers: {change: {}}, destination: {url: "pvc://backups"}}`, want: "set exactly one of target and selector"},
	{name: "neither", spec: `{triggers: {change: {}}, destination: {url: "pvc://backups"}}`, want: "set exactly one of target and selector"},
	{name: "no triggers", spec: `{selector: {}, destination: {url: "pvc://backups"}}`, want: "spec.triggers: Required value"},
	{name: "empty triggers", spec: `{selector: {}, triggers: {}, destination: {url: "pvc://backups"}}`, want: "set at least one of triggers.change, triggers.scale, triggers.schedule and triggers.beforeRollout"},
	{name: "before rollouts", spec: `{selector: {}, triggers: {beforeRollout: {}}, destination: {url: "pvc://backups"}}`},
	{name: "gate that is no name", spec: `{selector: {}, triggers: {beforeRollout: {gate: "A backup"}}, destination: {url: "pvc://backups"}}`, want: "should match"},
	{name: "no destination", spec: `{selector: {}, triggers: {change: {}}}`, want: "spec.destination: Required value"},
	{name: "Secret of a claim", spec: `{selector: {}, triggers: {change: {}}, destination: {url: "pvc://backups", secret: {name: s3}}}`, want: "destination.secret is for object stores only"},
	{name: "negative pause", spec: `{selector: {}, triggers: {change: {settleSeconds: -1}}, destination: {url: "pvc://backups"}}`, want: "greater than or equal to 0"},
	{name: "pause of more than an hour", spec: `{selector: {}, triggers: {scale: {settleSeconds: 3601}}, destination: {url: "pvc://backups"}}`, want: "less than or equal to 3600"},
	{name: "empty retention", spec: `{selector: {}, triggers: {change: {}}, destination: {url: "pvc://backups"}, retention: {}}`, want: "set keepLast, keepDays or both"},
	{name: "keep none", spec: `{selector: {}, triggers: {change: {}}, destination: {url: "pvc://backups"}, retention: {keepLast: 0}}`, want: "greater than or equal to 1"},
	{name: "keep too many", spec: `{selector: {}, triggers: {change: {}}, destination: {url: "pvc://backups"}, retention: {keepLast: 10001}}`, want: "less than or equal to 10000"},
	{name: "keep no day", spec: `{selector: {}, triggers: {change: {}}, destination: {url: "pvc://backups"}, retention: {keepDays: 0}}`, want: "greater than or equal to 1"},
	{name: "keep for centuries", spec: `{selector: {}, triggers: {change: {}}, destination: {url: "pvc://backups"}, retention: {keepDays: 36501}}`, want: "less than or equal to 36500"},
	{name: "typing mistake", spec: `{selector: {}, triggers: {onChange: {}}, destination: {url: "pvc://backups"}}`, want: "unknown field"},
}

// schedules are submitted as the schedule of a policy.
var schedules = []submission{
	{name: "five fields", spec: `{cron: "0 3 * * *"}`},
	{name: "ranges, steps and names", spec: `{cron: "*/15 0-6,22 1 JAN-MAR MON"}`},
	{name: "hourly", spec: `{cron: "@hourly"}`},
	{name: "zone", spec: `{cron: "@daily", timeZone: America/Argentina/Buenos_Aires}`},
	{name: "no times", spec: `{timeZone: Etc/UTC}`, want: "cron: Required value"},
	{name: "empty", spec: `{cron: ""}`, want: "at least 1 chars long"},
	{name: "four fields", spec: `{cron: "0 3 * *"}`, want: "cron needs five fields"},
	{name: "six fields", spec: `{cron: "0 0 3 * * *"}`, want: "cron needs five fields"},
	{name: "every", spec: `{cron: "@every 1s"}`, want: "cron needs five fields"},
	{name: "reboot", spec: `{cron: "@reboot"}`, want: "cron needs five fields"},
	{name: "zone among the times", spec: `{cron: "TZ=Europe/Berlin 0 3 * * *"}`, want: "belongs in timeZone"},
	{name: "another zone among the times", spec: `{cron: "CRON_TZ=Etc/UTC 0 3 * *"}`, want: "belongs in timeZone"},
	{name: "too long", spec: `{cron: "` + strings.Repeat("0,", 64) + `0 3 * * *"}`, want: "may not be more than 128"},
	{name: "empty zone", spec: `{cron: "@daily", timeZone: ""}`, want: "at least 1 chars long"},
	{name: "zone with a space", spec: `{cron: "@daily", timeZone: "Europe / Berlin"}`, want: "should match"},
	{name: "zone out of its folder", spec: `{cron: "@daily", timeZone: "../etc/passwd"}`, want: "should match"},
}

var restores = []submission{
	{name: "of a backup", spec: `{backup: {name: web-1}}`},
	{name: "of a location", spec: `{location: {destination: {url: "pvc://backups"}, path: shop/web/web-1-01234567}}`},
	{name: "everything", spec: `{location: {destination: {url: "s3://backups", secret: {name: s3}}, path: shop/web/web-1.a-01234567}, target: {name: new}, claims: [{from: films, to: copies}], items: [Spec, Content], onConflict: Overwrite, dryRun: true}`},
	{name: "longest name", object: strings.Repeat("a", 56), spec: `{backup: {name: ` + strings.Repeat("a", 56) + `}}`},
	{name: "name too long", object: strings.Repeat("a", 57), spec: `{backup: {name: web-1}}`, want: "at most 56 characters long: the names of the jobs"},
	{name: "neither", spec: `{dryRun: true}`, want: "set exactly one of backup and location"},
	{name: "both", spec: `{backup: {name: web-1}, location: {destination: {url: "pvc://backups"}, path: shop/web/web-1}}`, want: "set exactly one of backup and location"},
	{name: "backup without a name", spec: `{backup: {}}`, want: "backup.name: Required value"},
	{name: "backup with an empty name", spec: `{backup: {name: ""}}`, want: "at least 1 chars long"},
	{name: "backup with a long name", spec: `{backup: {name: ` + strings.Repeat("a", 57) + `}}`, want: "may not be more than 56"},
	{name: "location without a path", spec: `{location: {destination: {url: "pvc://backups"}}}`, want: "location.path: Required value"},
	{name: "location without a destination", spec: `{location: {path: shop/web/web-1}}`, want: "location.destination: Required value"},
	{name: "location with a Secret of a claim", spec: `{location: {destination: {url: "pvc://backups", secret: {name: s3}}, path: shop/web/web-1}}`, want: "destination.secret is for object stores only"},
	{name: "target with a long name", spec: `{backup: {name: web-1}, target: {name: ` + strings.Repeat("a", 46) + `}}`, want: "may not be more than 45"},
	{name: "target with a bad name", spec: `{backup: {name: web-1}, target: {name: "Web"}}`, want: "should match"},
	{name: "no items", spec: `{backup: {name: web-1}, items: []}`, want: "at least 1 items"},
	{name: "an unknown item", spec: `{backup: {name: web-1}, items: [Secrets]}`, want: `supported values: "Spec", "Configuration", "Content"`},
	{name: "an item twice", spec: `{backup: {name: web-1}, items: [Spec, Spec]}`, want: "Duplicate value"},
	{name: "an unknown policy", spec: `{backup: {name: web-1}, onConflict: Merge}`, want: `supported values: "Refuse", "Overwrite"`},
	{name: "a claim twice", spec: `{backup: {name: web-1}, claims: [{from: films, to: a}, {from: films, to: b}]}`, want: "Duplicate value"},
	{name: "a claim for nothing", spec: `{backup: {name: web-1}, claims: [{from: films, to: ""}]}`, want: "at least 1 chars long"},
	{name: "a claim without another", spec: `{backup: {name: web-1}, claims: [{from: films}]}`, want: "to: Required value"},
	{name: "typing mistake", spec: `{backup: {name: web-1}, onconflict: Overwrite}`, want: "unknown field"},
}

// paths are submitted as the path of a restore's location.
var paths = []submission{
	{name: "as backups are kept", spec: `shop/web/web-1a2b3c-01234567`},
	{name: "empty", spec: `""`, want: "at least 5 chars long"},
	{name: "two parts", spec: `shop/web`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "four parts", spec: `shop/web/web-1/data`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "absolute", spec: `/shop/web/web-1`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "with a slash at its end", spec: `shop/web/web-1/`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "with an empty part", spec: `shop//web-1`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "up from the namespace", spec: `../web/web-1`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "up from the application", spec: `shop/../web-1`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "up from the backup", spec: `shop/web/..`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "with a dot", spec: `shop/./web-1`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "with capitals", spec: `shop/web/Web-1`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "with an escape", spec: `shop/web/%2e%2e`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "with a backslash", spec: `'shop/web/a\b'`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "with a line end", spec: `"shop/web/web-1\n"`, want: "path must be <namespace>/<application>/<backup>-<uid>"},
	{name: "too long", spec: `shop/web/` + strings.Repeat("a", 248), want: "may not be more than 256"},
}

// TestSchema: the API server accepts valid specs and rejects others with a message that says what
// to change.
func TestSchema(t *testing.T) {
	t.Parallel()
	for _, table := range []struct {
		kind, before, after string
		submissions         []submission
	}{
		{"NginxBackup", ``, ``, backups},
		{"NginxBackup", `{target: {name: web}, destination: `, `}`, destinations},
		{"NginxBackupPolicy", ``, ``, policies},
		{"NginxBackupPolicy", `{selector: {}, destination: {url: "pvc://backups"}, triggers: {schedule: `, `}}`, schedules},
		{"NginxRestore", ``, ``, restores},
		{"NginxRestore", `{location: {destination: {url: "pvc://backups"}, path: `, `}}`, paths},
	} {
		for _, s := range table.submissions {
			t.Run(table.kind+" "+s.name, func(t *testing.T) {
				object := &unstructured.Unstructured{}
				must(t, yaml.Unmarshal([]byte(`{apiVersion: backup.operator.example.com/v1alpha1, kind: `+table.kind+`, spec: `+table.before+s.spec+table.after+`}`), object))
				object.SetNamespace("default")
				object.SetName("web")
				if s.object != "" {
					object.SetName(s.object)
				}
				answered(t, kube.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")), s.want)
			})
		}
	}
}

// answered compares the API server's response with the wanted one.
func answered(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want == "":
	case err == nil:
		t.Errorf("accepted, want an error that says %q", want)
	case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		t.Errorf("error is not about the input: %v", err)
	// Before Kubernetes 1.32, a text that is too long "may not be longer than" it may be.
	case !strings.Contains(strings.ReplaceAll(err.Error(), "may not be longer than", "may not be more than"), want):
		t.Errorf("error does not say %q: %v", want, err)
	}
}

// TestImmutable: no field of a backup can be changed, except for what happens to the data.
func TestImmutable(t *testing.T) {
	t.Parallel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, kube.Create(t.Context(), namespace))
	const refused = "a backup's spec cannot be changed, apart from deletionPolicy: create another NginxBackup"
	type spec = v1alpha1.NginxBackupSpec
	full := func(s *spec) {
		s.Destination.Secret = &v1alpha1.SecretReference{Name: "s3"}
		s.IncludeSecrets = &v1alpha1.IncludeSecrets{AgeRecipients: []string{recipient}}
		s.ExcludeClaims = []string{"cache"}
		s.PolicyName = new("all")
		s.Existing = &v1alpha1.ExistingBackup{Path: "shop/web/web-1-01234567"}
	}
	other := "age1" + strings.Repeat("p", 58)
	for _, tt := range []struct {
		name   string
		full   bool
		change func(*spec)
		want   string
	}{
		{name: "deletion policy", change: func(s *spec) { s.DeletionPolicy = v1alpha1.Delete }},
		{name: "deletion policy of a full one", full: true, change: func(s *spec) { s.DeletionPolicy = v1alpha1.Delete }},
		{name: "target", change: func(s *spec) { s.Target.Name = "other" }, want: refused},
		{name: "destination", change: func(s *spec) { s.Destination.URL = "s3://other" }, want: refused},
		{name: "Secret set", change: func(s *spec) { s.Destination.Secret = &v1alpha1.SecretReference{Name: "s3"} }, want: refused},
		{name: "Secret unset", full: true, change: func(s *spec) { s.Destination.Secret = nil }, want: refused},
		{name: "Secret changed", full: true, change: func(s *spec) { s.Destination.Secret.Name = "other" }, want: refused},
		{name: "recipients set", change: func(s *spec) { s.IncludeSecrets = &v1alpha1.IncludeSecrets{AgeRecipients: []string{recipient}} }, want: refused},
		{name: "recipients unset", full: true, change: func(s *spec) { s.IncludeSecrets = nil }, want: refused},
		{name: "recipients changed", full: true, change: func(s *spec) { s.IncludeSecrets.AgeRecipients = []string{other} }, want: refused},
		{name: "excluded claims set", change: func(s *spec) { s.ExcludeClaims = []string{"cache"} }, want: refused},
		{name: "excluded claims unset", full: true, change: func(s *spec) { s.ExcludeClaims = nil }, want: refused},
		{name: "excluded claims changed", full: true, change: func(s *spec) { s.ExcludeClaims = []string{"films"} }, want: refused},
		{name: "trigger", change: func(s *spec) { s.Trigger = v1alpha1.TriggerChange }, want: refused},
		{name: "policy set", change: func(s *spec) { s.PolicyName = new("all") }, want: refused},
		{name: "policy unset", full: true, change: func(s *spec) { s.PolicyName = nil }, want: refused},
		{name: "path set", change: func(s *spec) { s.Existing = &v1alpha1.ExistingBackup{Path: "shop/web/web-1-01234567"} }, want: refused},
		{name: "path unset", full: true, change: func(s *spec) { s.Existing = nil }, want: refused},
		{name: "path changed", full: true, change: func(s *spec) { s.Existing.Path = "shop/web/web-1-76543210" }, want: refused},
		{name: "policy changed", full: true, change: func(s *spec) { s.PolicyName = new("other") }, want: refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			backup := &v1alpha1.NginxBackup{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, GenerateName: "web-"},
				Spec:       spec{Target: v1alpha1.TargetReference{Name: "web"}, Destination: v1alpha1.Destination{URL: "s3://backups"}},
			}
			if tt.full {
				full(&backup.Spec)
			}
			must(t, kube.Create(t.Context(), backup))
			tt.change(&backup.Spec)
			answered(t, kube.Update(t.Context(), backup, client.DryRunAll), tt.want)
		})
	}
}

// TestRestoreImmutable: no field of a restore can be changed, because a restore is carried out
// once.
func TestRestoreImmutable(t *testing.T) {
	t.Parallel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, kube.Create(t.Context(), namespace))
	for name, change := range map[string]func(*restoreSpec){
		"backup":           func(s *restoreSpec) { s.Backup.Name = "other" },
		"location":         from(claimURL, "shop/web/web-1"),
		"target":           toNew,
		"claims":           copies,
		"items":            items(v1alpha1.RestoreContent),
		"conflicts":        overwrite,
		"dry run":          dryRun,
		"dry run unset":    func(s *restoreSpec) { s.DryRun = nil },
		"defaults, as set": func(s *restoreSpec) { s.OnConflict, s.Items = "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := &v1alpha1.NginxRestore{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, GenerateName: "back-"},
				Spec:       restoreSpec{Backup: &v1alpha1.BackupReference{Name: "saved"}, DryRun: new(false)},
			}
			must(t, kube.Create(t.Context(), r))
			if len(r.Spec.Items) != 3 || r.Spec.OnConflict != v1alpha1.ConflictRefuse {
				t.Errorf("the defaults are %v and %s", r.Spec.Items, r.Spec.OnConflict)
			}
			change(&r.Spec)
			want := "a restore's spec cannot be changed: create another NginxRestore"
			if name == "defaults, as set" {
				want = ""
			}
			answered(t, kube.Update(t.Context(), r, client.DryRunAll), want)
		})
	}
}

// selecting returns the spec of a policy with a selector.
func selecting(selector string) string {
	return `{selector: ` + selector + `, triggers: {change: {}}, destination: {url: "pvc://backups"}}`
}

// repeated returns a number of items of a list or map, with their numbers in place of %d.
func repeated(n int, item string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(item, i))
	}
	return strings.Join(all, ", ")
}
