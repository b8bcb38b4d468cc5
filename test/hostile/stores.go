package hostile

import (
	"fmt"
	"strings"
)

// stores tries destinations, paths and times of the backup kinds.
func stores() []Case {
	return append(destinations(), append(paths(), schedules()...)...)
}

func destinations() []Case {
	const form = "destination.url must be pvc://claim/folder"
	invalid := func(message string) Want { return Want{Reason: "DestinationInvalid", Message: message} }
	var all []Case
	try := func(url string, want Want) {
		for _, kind := range []Kind{Backup, Restore} {
			name := fmt.Sprintf("store-%d", len(all))
			destination := map[string]any{"url": url}
			text := map[string]any{"target": map[string]any{"name": "web"}, "destination": destination, "existing": map[string]any{"path": Namespace + "/web/web-1-01234567"}}
			if kind == Restore {
				text = map[string]any{"location": map[string]any{"destination": destination, "path": Namespace + "/web/web-1-01234567"}}
			}
			all = append(all, Case{Name: fmt.Sprintf("stores: %s at %.80q", kind.Name, url), Sort: "stores", Kind: kind, Object: name, Body: body(kind, name, text), Want: want})
		}
	}
	try("file:///etc/passwd", refused(form))
	try("https://169.254.169.254/latest", refused(form))
	try("s3://key:secret@bucket", refused(form))
	try("s3://bucket#fragment", refused(form))
	try("pvc:///folder", refused(form))
	try("s3://bucket/"+strings.Repeat("x", 1020), refused("may not be more than 1024"))
	try("pvc://../x", invalid("claim"))
	try("pvc://other/../../x", invalid(`".."`))
	try("pvc://backups/%2e%2e/%2e%2e/etc", invalid(`".."`))
	try("pvc://backups/a\nb", invalid(""))
	try("pvc://backups/\u202ea", invalid(""))
	try("s3://bucket?endpoint=http://me:you@169.254.169.254", invalid("credentials belong in the Secret"))
	try("s3://bucket?aws_secret=x", invalid("looks like a credential"))
	try("s3://bucket?region=a;b", invalid("cannot be read"))
	try("s3://a b", invalid("is not a URL"))
	// A variable from the Secret must not become part of an argument.
	try("s3://bucket/$(AWS_SECRET_ACCESS_KEY)", Want{Reason: "InProgress|PodNotStarted"})
	try("pvc://backups/a;rm -rf", Want{Reason: "InProgress|PodNotStarted"})
	return all
}

func paths() []Case {
	var all []Case
	n := 0
	for _, path := range []string{
		"../kube-system/web/web-1-01234567", "NAMESPACE/../web-1-01234567", "NAMESPACE/web/../web-01234567", "NAMESPACE/web/web-1-01234567/", "/NAMESPACE/web/web-1-01234567",
		"NAMESPACE//web-1-01234567", "NAMESPACE/web/web\n-01234567", "NAMESPACE/web/$(A)-01234567", "NAMESPACE/web/w\u202eb-01234567", "NAMESPACE/web/%2e%2e-01234567",
	} {
		n++
		name := fmt.Sprintf("path-%d", n)
		destination := map[string]any{"url": "pvc://backups"}
		all = append(all,
			Case{Name: fmt.Sprintf("paths: existing %q", path), Sort: "paths", Kind: Backup, Object: name,
				Body: body(Backup, name, map[string]any{"target": map[string]any{"name": "web"}, "destination": destination, "existing": map[string]any{"path": path}}), Want: refused("existing.path")},
			Case{Name: fmt.Sprintf("paths: location %q", path), Sort: "paths", Kind: Restore, Object: name,
				Body: body(Restore, name, map[string]any{"location": map[string]any{"destination": destination, "path": path}}), Want: refused("path must be <namespace>/<application>/<backup>-<uid>")})
	}
	other := func(kind Kind, text string, want Want) Case {
		return Case{Name: "paths: " + kind.Name + " of another namespace", Sort: "paths", Kind: kind, Object: "path-other", Body: body(kind, "path-other", spec(text)), Want: want}
	}
	return append(all,
		other(Backup, `{"target":{"name":"web"},"destination":{"url":"pvc://backups"},"existing":{"path":"kube-system/web/web-1-01234567"}}`, Want{Reason: "PathInvalid", Message: "kube-system"}),
		other(Restore, `{"location":{"destination":{"url":"pvc://backups"},"path":"kube-system/web/web-1-01234567"}}`, Want{Reason: "NotUsable", Message: "kube-system"}))
}

func schedules() []Case {
	var all []Case
	n := 0
	try := func(cron, zone string, want Want) {
		n++
		name := fmt.Sprintf("schedule-%d", n)
		all = append(all, Case{Name: fmt.Sprintf("schedules: %.60q in %q", cron, zone), Sort: "schedules", Kind: Policy, Object: name, Body: body(Policy, name, map[string]any{
			"target": map[string]any{"name": "none"}, "destination": map[string]any{"url": "pvc://backups"}, "suspend": true,
			"triggers": map[string]any{"schedule": map[string]any{"cron": cron, "timeZone": zone}},
		}), Want: want})
	}
	invalid := Want{Reason: "ScheduleInvalid", Message: "triggers.schedule"}
	for _, cron := range []string{"@every 1ns", "@reboot", "* * * *", "* * * * * *", "TZ=UTC * * * * *", "CRON_TZ=UTC * * * * *", "\x00", "0 3 * * *; rm -rf /", strings.Repeat("*", 129)} {
		try(cron, "Etc/UTC", refused("spec.triggers.schedule"))
	}
	for _, cron := range []string{"99 * * * *", "*/0 * * * *", "0 0 30 2 *", "a b c d e", "-1 * * * *", "$(A) * * * *", "99999999999999999999 * * * *"} {
		try(cron, "Etc/UTC", invalid)
	}
	try("* * * * *", "../../etc/passwd", refused("spec.triggers.schedule.timeZone"))
	try("* * * * *", "Mars/Olympus", invalid)
	try("* * * * *", "Local", invalid)
	try("* * * * *", "/etc/localtime", invalid)
	return all
}
