package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/testenv"
)

const (
	chartDir   = "charts/nginx-operator"
	valuesGlob = "hack/release/internal/chart/testdata/*.values.yaml"
)

// measurePackages installs, upgrades and uninstalls the Helm chart, validates the bundle, and
// builds the release twice.
func measurePackages(ctx context.Context, s *session) ([]figure.Figure, error) {
	r := &packagesRun{session: s, helm: setting("HELM", "helm")}
	var all []figure.Figure
	for _, part := range []func(context.Context) ([]figure.Figure, error){r.chart, r.lifecycle, r.bundle, r.reproduce} {
		figures, err := part(ctx)
		all = append(all, figures...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// packagesRun is one run of the measurement.
type packagesRun struct {
	*session
	helm string
}

// command runs a program in the repository. details are its command line and the end of its output.
func (r *packagesRun) command(ctx context.Context, env []string, name string, arguments ...string) (output string, details []string, err error) {
	line := "$ " + strings.Join(append(env, append([]string{filepath.Base(name)}, arguments...)...), " ")
	r.progress("packages: %s", line)
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir, command.Env = testenv.Root(), append(append(os.Environ(), "HELM="+r.helm), env...)
	printed, err := command.CombinedOutput()
	details = []string{line}
	for text := range strings.Lines(string(printed)) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			details = append(details, text)
		}
	}
	const most = 12
	if len(details) > most {
		details = append([]string{line, "…"}, details[len(details)-most+2:]...)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", line, err, printed)
	}
	return string(printed), details, err
}

// chart validates every set of values with Helm's linter and the API server.
func (r *packagesRun) chart(ctx context.Context) ([]figure.Figure, error) {
	values, err := filepath.Glob(filepath.Join(testenv.Root(), valuesGlob))
	if err != nil {
		return nil, err
	}
	arguments := []string{"lint", "--strict", chartDir}
	_, details, err := r.command(ctx, nil, r.helm, arguments...)
	failed, sets := failures(err), [][]string{nil}
	for _, file := range values {
		relative, err := filepath.Rel(testenv.Root(), file)
		if err != nil {
			return nil, err
		}
		sets = append(sets, []string{"--values", relative})
		_, more, err := r.command(ctx, nil, r.helm, append(arguments, "--values", relative)...)
		details, failed = append(details, more...), failed+failures(err)
	}
	refused, templates := 0, []string{}
	for _, set := range sets {
		arguments := append([]string{"$HELM", "template", process.Account.Name, chartDir, "--namespace", "default"}, set...)
		if strings.Contains(strings.Join(set, ""), "confined") {
			// Use namespaces that exist.
			arguments = append(arguments, "--set", "watchNamespaces={default}")
		}
		// The API server validates every object with a dry run.
		_, more, err := r.command(ctx, nil, "bash", "-o", "pipefail", "-c", strings.Join(arguments, " ")+
			" | kubectl apply --dry-run=server --server-side --force-conflicts -f - | grep -c serverside-applied")
		templates, refused = append(templates, more...), refused+failures(err)
	}
	return []figure.Figure{
		figure.HasGoal("helm lint --strict: sets of values that fail", float64(failed), "sets", figure.AtMost(0), details...),
		figure.HasGoal("helm template: sets of values that the API server rejects", float64(refused), "sets", figure.AtMost(0), templates...),
	}, nil
}

func failures(err error) int {
	if err != nil {
		return 1
	}
	return 0
}

var findings = regexp.MustCompile(`(?m)^\S.*: (\d+) errors, (\d+) warnings$`)

// bundle validates the OLM bundle with the published rules.
func (r *packagesRun) bundle(ctx context.Context) ([]figure.Figure, error) {
	output, details, err := r.command(ctx, nil, "go", "-C", "hack/release", "run", ".", "validate", "../../bundle")
	rows := findings.FindAllStringSubmatch(output, -1)
	if len(rows) == 0 {
		return nil, fmt.Errorf("no validator ran: %w", err)
	}
	var broken, warned int
	for _, row := range rows {
		errors, _ := strconv.Atoi(row[1])
		warnings, _ := strconv.Atoi(row[2])
		broken, warned = broken+errors, warned+warnings
	}
	return []figure.Figure{
		figure.Info("bundle: validators", float64(len(rows)), "validators"),
		figure.HasGoal("bundle: errors", float64(broken), "errors", figure.AtMost(0), details...),
		figure.HasGoal("bundle: warnings", float64(warned), "warnings", figure.AtMost(0)),
	}, nil
}

// reproduce builds the release twice: in different folders and time zones, and the second time with
// an empty build cache.
func (r *packagesRun) reproduce(ctx context.Context) ([]figure.Figure, error) {
	dir, err := os.MkdirTemp("", "packages-")
	if err != nil {
		return nil, err
	}
	r.atEnd(func(context.Context) error { return os.RemoveAll(dir) })
	elsewhere := filepath.Join(dir, "elsewhere", "deeper")
	if err := os.MkdirAll(elsewhere, 0o755); err != nil {
		return nil, err
	}
	builds := [][]string{
		{"TZ=UTC"},
		{"TZ=Asia/Tokyo", "TMPDIR=" + elsewhere, "PROGRAMS_GOCACHE=" + filepath.Join(dir, "cache")},
	}
	// Build the same commit twice, even if there are new ones in the meantime.
	head, _, err := r.command(ctx, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	var sums [2]map[string]string
	var took [2]float64
	var details []string
	for i, env := range builds {
		start := time.Now()
		out := filepath.Join(dir, fmt.Sprintf("dist-%d", i+1))
		_, lines, err := r.command(ctx, env, "hack/release/release.sh", out, strings.TrimSpace(head))
		if err != nil {
			return nil, err
		}
		took[i] = time.Since(start).Seconds()
		details = append(details, strings.ReplaceAll(lines[0], dir, "$DIR"))
		if sums[i], err = readSums(filepath.Join(out, "SHA256SUMS")); err != nil {
			return nil, err
		}
	}
	differ := differences(sums[0], sums[1])
	return []figure.Figure{
		figure.HasGoal("release: files", float64(len(sums[0])), "files", figure.AtLeast(8), details...),
		figure.HasGoal("release: files that differ in a second build", float64(len(differ)), "files", figure.AtMost(0), differ...),
		figure.Info("release: first build", took[0], "s"),
		figure.Info("release: second build, with nothing compiled before", took[1], "s"),
	}, nil
}

// differences returns the files that only one build has, or that differ.
func differences(first, second map[string]string) []string {
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(first)) {
		switch second[name] {
		case first[name]:
		case "":
			differ = append(differ, name+" is missing")
		default:
			differ = append(differ, name+" differs")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(second)) {
		if first[name] == "" {
			differ = append(differ, name+" is new")
		}
	}
	return differ
}

// readSums reads checksums by file.
func readSums(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is no checksum", path, line)
		}
		sums[name] = sum
	}
	return sums, nil
}
