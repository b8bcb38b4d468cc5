package backup

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/test/internal/part"
	"example.com/nginx-operator/test/standin"
)

// plantShop writes an archive of the shop into the store without creating the shop. It returns the
// archive's folder and the objects that it declares.
func (b *bench) plantShop() (folder string, declared map[string]any) {
	b.t.Helper()
	for name, text := range films {
		b.file("planted", name, text)
	}
	b.claim("films")
	spec := &v1alpha2.NginxOperatorSpec{}
	must(b.t, yaml.UnmarshalStrict([]byte(shop), spec))
	info := b.info()
	info.Content = []archive.Volume{{Claim: "films", MountPath: "/srv/films"}}
	files := []archive.File{b.planted(archive.ApplicationPath,
		"apiVersion: operator.example.com/v1alpha2\nkind: NginxOperator\nmetadata: {namespace: NAMESPACE, name: web}\nspec:\n"+
			strings.ReplaceAll(shop, "\n", "\n  "))}
	declared = map[string]any{"NginxOperator web": spec}
	for _, name := range []string{"conf", "pages"} {
		files = append(files, b.planted("configmaps/"+name+".yaml",
			"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: NAMESPACE, name: "+name+"}, data: {nginx.conf: saved}}"))
		declared["ConfigMap "+name] = map[string]string{"nginx.conf": "saved"}
	}
	return b.plant("saved", info, files...), declared
}

// restoration is a restore that takes an operator several writes.
type restoration struct {
	// exists creates the initial state.
	exists func(*bench)
	change []func(*restoreSpec)
	// reason is the reason at the end. If it is Completed, everything is then as in the backup, and
	// otherwise as before.
	reason string
}

var restorations = map[string]restoration{
	"in place":        {exists: func(*bench) {}, reason: v1alpha1.ReasonCompleted},
	"over what there": {exists: others, change: []func(*restoreSpec){overwrite}, reason: v1alpha1.ReasonCompleted},
	"refused":         {exists: others, reason: v1alpha1.ReasonConflict},
	"dry run":         {exists: others, change: []func(*restoreSpec){dryRun}, reason: v1alpha1.ReasonDryRun},
}

// others creates an application with ConfigMaps and files that all differ from the backup.
func others(b *bench) {
	for _, name := range []string{"conf", "pages"} {
		b.configMap(name, "mine")
	}
	b.application("web", v1alpha2.NginxOperatorSpec{Replicas: new(int32(7))})
	b.file("films", "a/first.txt", "mine")
}

// restoring is a restoration in a namespace.
type restoring struct {
	*bench
	restoration
	folder string
	// The objects and files before the restore, and those expected in the end.
	objects, restoredObjects map[string]any
	files, restoredFiles     map[string]string
	// unheard is set if the job's message is lost, and with it what the files were before they were
	// restored.
	unheard bool
}

func (s restoration) prepare(t *testing.T) *restoring {
	t.Helper()
	r := &restoring{bench: newBench(t), restoration: s}
	r.folder, r.restoredObjects = r.plantShop()
	s.exists(r.bench)
	r.observed()
	r.objects, r.files, r.restoredFiles = r.declared(), r.bench.files("films"), films
	if s.reason != v1alpha1.ReasonCompleted {
		r.restoredObjects, r.restoredFiles = r.objects, r.files
	}
	return r
}

func (r *restoring) begin() { r.restore("back", append(r.change, from(claimURL, r.folder))...) }

// over reports whether the restore has ended.
func (r *restoring) over() bool {
	found := r.restores()
	return len(found) == 1 && outcome.RestoreFinished(&found[0]) && len(r.left()) == 0
}

// end waits until the restore has ended, and checks its result.
func (r *restoring) end() {
	r.t.Helper()
	r.waitRestore("back", r.reason)
	r.settled()
	restore := r.waitRestore("back", r.reason)
	r.same(r.restoredObjects)
	r.has("films", r.restoredFiles)
	// Each object was written once, and the restore reports what existed before.
	generation := int64(1)
	if r.reason == v1alpha1.ReasonCompleted && r.objects["NginxOperator web"] != nil {
		generation = 2
	}
	nginx := &v1alpha2.NginxOperator{ObjectMeta: r.object("web")}
	if r.restoredObjects["NginxOperator web"] != nil {
		must(r.t, kube.Get(r.t.Context(), client.ObjectKeyFromObject(nginx), nginx))
		if nginx.Generation != generation {
			r.t.Errorf("the application is of generation %d, want %d", nginx.Generation, generation)
		}
	}
	for _, c := range restore.Status.Changes {
		if r.unheard && c.Kind == "PersistentVolumeClaim" {
			continue
		}
		if want := map[bool]string{true: "Create", false: "Replace"}[len(r.objects) == 0]; c.Action != want {
			r.t.Errorf("the restore says %v", changesAsText(restore))
			break
		}
	}
	if jobs := slices.Sorted(slices.Values(r.place.Started())); len(jobs) != len(slices.Compact(slices.Clone(jobs))) {
		r.t.Errorf("two jobs had the same name: %v", jobs)
	}
}

// unfinished is the name of a file while the extracting program writes it. That program runs on
// while the operator is dead.
const unfinished = ".nginx-operator-restore"

// neverHalf checks that each object and file is either as before or as in the backup, and that the
// application is restored only after everything that it refers to.
func (r *restoring) neverHalf() {
	r.t.Helper()
	now, files := r.declared(), r.bench.files("films")
	back := apiequality.Semantic.DeepEqual(now["NginxOperator web"], r.restoredObjects["NginxOperator web"])
	for name, object := range now {
		isBack := apiequality.Semantic.DeepEqual(object, r.restoredObjects[name])
		if !isBack && (back || !apiequality.Semantic.DeepEqual(object, r.objects[name])) {
			r.t.Errorf("%s is %+v, and the application is back: %v", name, object, back)
		}
	}
	for name, text := range files {
		if path.Base(name) == unfinished {
			continue
		}
		if text != r.restoredFiles[name] && (back || text != r.files[name]) {
			r.t.Errorf("the file %s has %q, and the application is back: %v", name, text, back)
		}
	}
}

// TestRestoreKilledAtEachWrite: a restore always reaches the same end if the operator is killed at
// its k-th write, for every k, before the write is sent or after it was carried out but before the
// response arrives. In further cases, the API server rejects that write, in each possible way.
func TestRestoreKilledAtEachWrite(t *testing.T) {
	t.Parallel()
	var killed, refused atomic.Int64
	t.Run("cases", func(t *testing.T) {
		for name, s := range restorations {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n := s.undisturbed(t)
				t.Logf("it takes %d writes", n)
				for k := range part.Selected().Positions() {
					if k > n {
						break
					}
					for _, how := range s.disturbances(k) {
						t.Run(fmt.Sprintf("write %d sent %v refused %d", k, how.sent, how.refuse), func(t *testing.T) {
							t.Parallel()
							if !s.disturbed(t, how) {
								return
							}
							if how.refuse == 0 {
								killed.Add(1)
							} else {
								refused.Add(1)
							}
						})
					}
				}
			})
		}
	})
	t.Logf("the operator was killed %d times while it restored, and refused %d times", killed.Load(), refused.Load())
}

// disturbances returns the disturbances of the k-th write. The restore that writes
// most gets all rejections, and the others get one per write, in turn.
func (s restoration) disturbances(k int64) []*death {
	all := []*death{{at: k}, {at: k, sent: true}}
	codes := []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusForbidden}
	if len(s.change) > 0 || s.reason != v1alpha1.ReasonCompleted {
		position := k % int64(len(codes))
		codes = codes[position : position+1]
	}
	for _, code := range codes {
		all = append(all, &death{at: k, refuse: code})
	}
	return all
}

// undisturbed returns how many writes an operator needs that is not disturbed.
func (s restoration) undisturbed(t *testing.T) int64 {
	t.Helper()
	r := s.prepare(t)
	before := len(r.operator.wrote())
	r.begin()
	r.end()
	return int64(len(r.operator.wrote()) - before)
}

// disturbed kills the operator at a write, or rejects the write. It returns false if there was no
// such write.
func (s restoration) disturbed(t *testing.T, d *death) bool {
	t.Helper()
	r := s.prepare(t)
	r.operator.death.Store(d)
	r.begin()
	r.eventually("disturbed or over", func() error {
		if d.happened.Load() || r.over() {
			return nil
		}
		return fmt.Errorf("under way")
	})
	if !d.happened.Load() {
		r.settled()
	}
	if d.happened.Load() && d.refuse == 0 {
		r.operator.stop()
		r.neverHalf()
		r.restart()
	}
	r.end()
	return d.happened.Load()
}

// TestRestoreAgentKilledAtEachCall: the next attempt always goes on if a program that reads or
// extracts a backup is killed at its k-th request to an S3 server, for every k, before the request
// is sent or after it was carried out. In further cases, the server rejects the request.
func TestRestoreAgentKilledAtEachCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	full := newObjects(t)
	b.build()
	b.backup("saved", "web", full.url)
	folder := folderOf(&b.waitBackups(1)[0])
	servers := &sync.Map{}
	b.place.Fail(func(j *batchv1.Job) standin.Fate {
		c, ok := servers.Load(j.Labels[v1alpha1.LabelRestore])
		if !ok {
			return standin.Fate{}
		}
		return c.(agentCase).fate(j)
	})
	reading := b.requests("reading", full.copied(t), folder, items(v1alpha1.RestoreSpec, v1alpha1.RestoreConfiguration))
	all := b.requests("all", full.copied(t), folder)
	t.Logf("a restore takes %d requests, %d of them for reading", all, reading)
	cases := map[string]*objects{}
	for k := range all {
		for _, how := range []string{"before", "after", "refused"} {
			o := full.copied(t)
			o.at, o.sent, o.refuse = k+1, how == "after", how == "refused"
			name := fmt.Sprintf("%s-%d", how, k+1)
			job := "-r1"
			if k >= reading {
				job = "-e1"
			}
			servers.Store(name, agentCase{o, name + job})
			cases[name] = o
			b.restoreTo(name, o, folder)
		}
	}
	for name, o := range cases {
		b.waitRestore(name, v1alpha1.ReasonCompleted)
		b.has("claim-"+name, films)
		if !o.happened {
			t.Errorf("%s did not happen", name)
		}
	}
	t.Logf("the program was killed %d times while it restored, and refused %d times", 2*all, all)
}

// agentCase is a server that kills the program of a job.
type agentCase struct {
	*objects
	job string
}

func (c agentCase) fate(j *batchv1.Job) standin.Fate {
	switch {
	case j.Name == c.job:
		return standin.Fate{Cut: c.cut}
	case strings.HasSuffix(j.Name, "2"):
		c.revive()
	}
	return standin.Fate{}
}

// restoreTo restores the shop from a server under a new name, to a separate claim.
func (b *bench) restoreTo(name string, o *objects, folder string, change ...func(*restoreSpec)) {
	b.t.Helper()
	b.claim("claim-" + name)
	b.restore(name, append(change, from(o.url, folder), func(spec *restoreSpec) {
		spec.Target = &v1alpha1.TargetReference{Name: "new-" + name}
		spec.Claims = []v1alpha1.ClaimReplacement{{From: "films", To: "claim-" + name}}
	})...)
}

// requests returns how many requests a restore takes.
func (b *bench) requests(name string, o *objects, folder string, change ...func(*restoreSpec)) int {
	b.t.Helper()
	b.restoreTo(name, o, folder, change...)
	b.waitRestore(name, v1alpha1.ReasonCompleted)
	return o.count()
}

// TestRestorePodsFail: pods that are killed, or whose message is lost, are replaced. So is the pod
// that has read the backup, if it is lost while files are restored.
func TestRestorePodsFail(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	for name, fates := range map[string]map[string]standin.Fate{
		"reading killed":     {"back-r1": {Killed: true}},
		"extracting killed":  {"back-e1": {Killed: true}},
		"extracting unheard": {"back-e1": {Unheard: true}},
		"both killed":        {"back-r1": {Killed: true}, "back-e1": {Killed: true}},
		"reading lost":       {"back-e1": {Hold: release}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := restorations["in place"].prepare(t)
			r.unheard = name == "extracting unheard"
			r.place.Fail(func(j *batchv1.Job) standin.Fate { return fates[j.Name] })
			r.begin()
			if name == "reading lost" {
				r.eventually("files are brought back", func() error {
					if jobs := r.place.Started(); !slices.Contains(jobs, "back-e1") {
						return fmt.Errorf("there are %v", jobs)
					}
					return nil
				})
				must(t, kube.Delete(t.Context(), &batchv1.Job{ObjectMeta: r.object("back-r1")}, client.PropagationPolicy("Background")))
				close(release)
			}
			r.end()
		})
	}
}
