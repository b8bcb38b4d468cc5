package hostile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// sizes tries values that are too long, too many or too deep, and requests of the maximum size.
func sizes() []Case {
	return slices.Concat(lengths(), counts(), huge(), []Case{everything()}, deep())
}

// lengths tries texts at the limit and one character above it.
func lengths() []Case {
	var all []Case
	for i, limit := range []struct {
		what   string
		length int
		spec   string
	}{
		{"forceRedeploy", 256, `{"forceRedeploy":"TEXT"}`},
		{"image", 512, `{"image":"TEXT"}`},
		{"name of a port", 15, `{"ports":[{"name":"TEXT","port":80}]}`},
		{"name of a certificate", 40, `{"tls":[{"name":"TEXT","secretName":"a"}]}`},
		{"name of a Secret", 253, `{"tls":[{"name":"a","secretName":"TEXT"}]}`},
		{"mount path", 512, `{"content":[{"mountPath":"/EXT","persistentVolumeClaim":{"claimName":"a"}}]}`},
		{"gate", 63, `{"rollout":{"gates":["TEXT"]}}`},
		{"name of a volume", 63, `{"podTemplate":{"volumes":[{"name":"TEXT","emptyDir":{}}]}}`},
		{"name of a container", 63, `{"podTemplate":{"containers":[{"name":"TEXT","image":"a"}]}}`},
		{"argument", 4096, `{"podTemplate":{"containers":[{"name":"a","image":"a","args":["TEXT"]}]}}`},
		{"scheduler", 253, `{"podTemplate":{"schedulerName":"TEXT"}}`},
		{"file", 262144, `{"config":{"files":{"a.conf":"TEXT"}}}`},
	} {
		for over := range 2 {
			text := strings.Repeat("a", limit.length+over)
			filled := strings.Replace(strings.Replace(limit.spec, "TEXT", text, 1), "/EXT", "/"+text[1:], 1)
			want := Want{}
			if over > 0 {
				want = refused(fmt.Sprintf("may not be more than %d", limit.length))
			}
			all = append(all, application("sizes", fmt.Sprintf("length-%d-%d", i, over), fmt.Sprintf("%s of %d characters", limit.what, limit.length+over), filled, want))
		}
	}
	return all
}

// counts tries lists and maps at the limit and one item above it.
func counts() []Case {
	var all []Case
	for i, limit := range []struct {
		what  string
		count int
		// item contains %[1]d in place of its number.
		spec, item string
	}{
		{"ports", 32, `{"ports":[ITEMS]}`, `{"name":"p%[1]d","port":%[1]d}`},
		{"certificates", 64, `{"tls":[ITEMS]}`, `{"name":"c%[1]d","secretName":"c%[1]d"}`},
		{"folders", 16, `{"content":[ITEMS]}`, `{"mountPath":"/srv/%[1]d","persistentVolumeClaim":{"claimName":"c%[1]d"}}`},
		{"files", 64, `{"config":{"files":{ITEMS}}}`, `"%[1]d.conf":""`},
		{"variables", 128, `{"podTemplate":{"env":[ITEMS]}}`, `{"name":"V%[1]d","value":"a"}`},
		{"labels", 64, `{"podTemplate":{"labels":{ITEMS}}}`, `"l%[1]d":"a"`},
		{"sidecars", 8, `{"podTemplate":{"containers":[ITEMS]}}`, `{"name":"c%[1]d","image":"a"}`},
		{"gates", 8, `{"rollout":{"gates":[ITEMS]}}`, `"g%[1]d"`},
		{"volumes", 32, `{"podTemplate":{"volumes":[ITEMS]}}`, `{"name":"v%[1]d","emptyDir":{}}`},
	} {
		for over := range 2 {
			var items []string
			for n := range limit.count + over {
				items = append(items, fmt.Sprintf(limit.item, n+1))
			}
			want := Want{}
			if over > 0 {
				want = refused(fmt.Sprintf("must have at most %d", limit.count))
			}
			all = append(all, application("sizes", fmt.Sprintf("count-%d-%d", i, over), fmt.Sprintf("%d %s", limit.count+over, limit.what),
				strings.Replace(limit.spec, "ITEMS", strings.Join(items, ","), 1), want))
		}
	}
	return all
}

// huge returns resources of about the size that etcd accepts, 1.5 MiB, and of more than a request
// may have, 3 MiB.
func huge() []Case {
	large := func(what, short string, each, n int, item, text string, want Want) Case {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(item, i, strings.Repeat("x", each)))
		}
		return application("sizes", short, what, strings.Replace(text, "ITEMS", strings.Join(items, ","), 1), want)
	}
	const variable, variables = `{"name":"V%d","value":%q}`, `{"podTemplate":{"env":[ITEMS]}}`
	const file, files = `"%d.conf":%q`, `{"config":{"files":{ITEMS}}}`
	const note, notes = `"a%d":%q`, `{"podTemplate":{"annotations":{ITEMS}}}`
	return []Case{
		large("a configuration of 900 KiB", "huge-config", 220<<10, 4, file, files, Want{}),
		large("a configuration of 1,024 KiB", "huge-config-1024", 256<<10, 4, file, files, Want{Reason: "ConfigInvalid", Message: "at most 900 KiB"}),
		large("a configuration of 1.4 MiB", "huge-config-1400", 240<<10, 6, file, files, Want{Reason: "ConfigInvalid", Message: "at most 900 KiB"}),
		large("variables of 300 KiB", "huge-env-300", 3<<10, 100, variable, variables, Want{}),
		large("variables of 1.3 MiB", "huge-env-1300", 13<<10, 100, variable, variables, Want{Reason: "Rejected", Message: "ControllerRevision"}),
		large("variables of 2 MiB", "huge-env-2000", 20<<10, 100, variable, variables, refused("too large")),
		large("variables of 4 MiB", "huge-env-4000", 40<<10, 100, variable, variables, refused("too large")),
		large("annotations of 1.2 MiB", "huge-notes", 20<<10, 60, note, notes, Want{Reason: "Rejected", Message: "ControllerRevision"}),
		{Name: "sizes: annotations of its own of 1.4 MiB", Sort: "sizes", Kind: Nginx, Object: "huge-own-notes",
			Body: resource(Nginx, map[string]any{"name": "huge-own-notes", "annotations": map[string]any{"a": strings.Repeat("x", 1400<<10)}}, map[string]any{}),
			Want: refused("metadata.annotations: Too long: may not be more than 262144")},
		application("sizes", "huge-key", "the name of a file of 1 MiB", `{"config":{"files":{"`+strings.Repeat("k", 1<<20)+`.conf":""}}}`, Want{Reason: "ConfigInvalid", Message: "longer than 253 characters"}),
		application("sizes", "huge-label", "the key of a label of 1 MiB", `{"podTemplate":{"labels":{"`+strings.Repeat("k", 1<<20)+`":"a"}}}`, Want{Reason: "Rejected", Message: "ControllerRevision"}),
	}
}

// everything tries the maximum of every list and map at once, with the longest names and with a configuration and variables
// that fill most of a request.
func everything() Case {
	long := func(prefix string, i, length int) string {
		name := fmt.Sprint(prefix, i)
		return name + strings.Repeat("x", length-len(name))
	}
	list := func(n int, item func(i int) any) []any {
		var items []any
		for i := range n {
			items = append(items, item(i))
		}
		return items
	}
	table := func(n int, prefix string, length int, suffix, value string) map[string]any {
		entries := map[string]any{}
		for i := range n {
			entries[long(prefix, i, length)+suffix] = value
		}
		return entries
	}
	all := map[string]any{
		"forceRedeploy": strings.Repeat("f", 256),
		"ports":         list(32, func(i int) any { return map[string]any{"name": long("p", i, 15), "port": 1024 + i} }),
		"tls":           list(64, func(i int) any { return map[string]any{"name": long("t", i, 40), "secretName": long("s", i, 253)} }),
		"content": list(16, func(i int) any {
			return map[string]any{"mountPath": long("/srv/c", i, 255), "persistentVolumeClaim": map[string]any{"claimName": long("c", i, 253)}}
		}),
		"config":  map[string]any{"files": table(64, "f", 248, ".conf", "# "+strings.Repeat("x", 13<<10))},
		"rollout": map[string]any{"gates": list(8, func(i int) any { return long("g", i, 63) })},
		"podTemplate": map[string]any{
			"env":         list(128, func(i int) any { return map[string]any{"name": long("V", i, 63), "value": strings.Repeat("v", 1000)} }),
			"labels":      table(64, "l", 63, "", strings.Repeat("l", 63)),
			"annotations": table(64, "a", 63, "", strings.Repeat("a", 300)),
			"volumes":     list(32, func(i int) any { return map[string]any{"name": long("v", i, 63), "emptyDir": map[string]any{}} }),
			"containers": list(8, func(i int) any {
				return map[string]any{"name": long("c", i, 63), "image": strings.Repeat("i", 512), "args": []any{strings.Repeat("a", 4096)}}
			}),
		},
	}
	return Case{Name: "sizes: the maximum of every list and map at once", Sort: "sizes", Kind: Nginx, Object: strings.Repeat("m", longestNginx), Body: body(Nginx, strings.Repeat("m", longestNginx), all)}
}

// deep tries deeply nested values.
func deep() []Case {
	nested := func(open, close string, n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(open, n) + "1" + strings.Repeat(close, n))
	}
	at := func(short, what string, value json.RawMessage, want Want) Case {
		return Case{Name: "sizes: " + what, Sort: "sizes", Kind: Nginx, Object: short, Body: raw(short, fmt.Sprintf(`{"config":%s}`, value)), Want: want}
	}
	lenient := at("deep-unknown", "100 objects in each other where nothing is known", json.RawMessage(`{"files":{"a.conf":""},"x":`+string(nested(`{"a":`, "}", 100))+"}"), Want{})
	lenient.Lenient = true
	return []Case{
		lenient,
		at("deep-lists", "1,000 lists in each other", nested("[", "]", 1000), refused("spec.config")),
		at("deep-objects", "1,000 objects in each other", nested(`{"files":`, "}", 1000), refused("spec.config.files")),
		at("deeper-lists", "20,000 lists in each other", nested("[", "]", 20_000), refused("max depth")),
	}
}

// raw returns an NginxOperator whose spec may be unreadable.
func raw(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"spec":%s}`, Nginx.APIVersion(), Nginx.Name, name, spec)
}
