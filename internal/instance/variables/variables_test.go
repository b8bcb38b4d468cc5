package variables

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instance/problems"
	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
)

// mounted returns a folder with the objects that a pod mounts.
func mounted(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var (
	secret    = instanceapi.VariableObject{Kind: "Secret", Object: "shop"}
	configMap = instanceapi.VariableObject{Kind: "ConfigMap", Object: "shop"}
)

func replace(t *testing.T, text string, declared instanceapi.Variables, mountedFiles map[string]string) Replaced {
	t.Helper()
	file, err := json.Marshal(declared)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Replace(map[string]string{"site.conf": text, instanceapi.FileVariables: string(file)}, mounted(t, mountedFiles))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReplace: declared variables are replaced, and everything else stays, byte for byte.
func TestReplace(t *testing.T) {
	declared := instanceapi.Variables{
		Variables: []instanceapi.Variable{
			{Name: "PORT", Value: new("8080")},
			{Name: "TOKEN", VariableObject: secret, Key: "api.token"},
			{Name: "BACKEND", VariableObject: configMap, Key: "backend"},
			{Name: "UNUSED", VariableObject: secret, Key: "missing"},
		},
		From: []instanceapi.VariablesFrom{{Prefix: "A_", VariableObject: configMap}, {Prefix: "A_", VariableObject: secret}},
	}
	mountedFiles := map[string]string{
		"secret/shop/api.token": "hunter2\n", "configmap/shop/backend": "b:80", "configmap/shop/USER": "of the map", "configmap/shop/ONLY": "x", "secret/shop/USER": "of the Secret",
	}
	r := replace(t, "listen ${PORT};\n# ${A_USER}\n${BACKEND}\n ${TOKEN}\n; x '${A_USER}' ${A_ONLY} ${A_NONE} ${host} $PORT ${OTHER};\n", declared, mountedFiles)
	if diff := cmp.Diff("listen 8080;\n# of the Secret\nb:80\n hunter2\n; x 'of the Secret' x ${A_NONE} ${host} $PORT ${OTHER};\n", r.Files["site.conf"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := problems.Confidential{
		Values: map[string]string{"${TOKEN}": "hunter2", "${A_USER}": "of the Secret"},
		Lines:  map[string][]problems.LineRange{"site.conf": {{First: 3, Last: 5, Reference: "${TOKEN}"}}},
	}
	if diff := cmp.Diff(want, r.Confidential); diff != "" {
		t.Errorf("values of Secrets (-want +got):\n%s", diff)
	}
	if len(r.Problems) > 0 {
		t.Error(r.Problems)
	}
}

// TestRefused: a value that is missing, or that nginx could take for more than one word, is refused, and not shown.
func TestRefused(t *testing.T) {
	declared := instanceapi.Variables{Variables: []instanceapi.Variable{{Name: "TOKEN", VariableObject: secret, Key: "token"}}}
	for name, tt := range map[string]struct{ value, want string }{
		"a directive":         {"hunter2; return 200", "has one of the characters"},
		"a block":             {"hunter2}", "has one of the characters"},
		"a quote":             {`hunter2"`, "has one of the characters"},
		"a variable of nginx": {"hunter2$host", "has one of the characters"},
		"a comment":           {"hunter2#", "has one of the characters"},
		"two lines":           {"hunter2\nb", "a line break or another control character"},
		"not UTF-8":           {"hunter2\xff", "is not UTF-8"},
		"long":                {"hunter2" + strings.Repeat("x", maxValue), "is longer than"},
		"much too long":       {"hunter2" + strings.Repeat("x", 1<<20), "is longer than"},
		"line breaks":         {"hunter2" + strings.Repeat("\n", 1<<20), "is longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			r := replace(t, "${TOKEN}", declared, map[string]string{"secret/shop/token": tt.value})
			if len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0].Message, "spec.config.env: TOKEN: the value of Secret shop ") || !strings.Contains(r.Problems[0].Message, tt.want) {
				t.Fatalf("problems: %v", r.Problems)
			}
			if strings.Contains(r.Problems[0].Message, "hunter2") || r.Files["site.conf"] != "${TOKEN}" {
				t.Errorf("the value is shown: %v %v", r.Problems, r.Files)
			}
		})
	}
	r := replace(t, "${TOKEN} ${TOKEN}", declared, nil)
	if len(r.Problems) != 1 || r.Problems[0].Message != "spec.config.env: TOKEN: Secret shop has no key token, or does not exist: create it" {
		t.Errorf("a missing one: %v", r.Problems)
	}
}

// TestPlaces: a value that is one word can be anywhere, and other values only where they stay one.
func TestPlaces(t *testing.T) {
	tests := map[string]struct{ text, value, want string }{
		"a space between words":         {"allow ${A};", "10.0.0.1 x", twoWords},
		"a space in a word":             {"proxy_pass http://${A};", "a b", twoWords},
		"a space in quotes":             {`add_header X "a ${A}";`, "10.0.0.1 x", ""},
		"a space in single quotes":      {"add_header X '${A}';", "10.0.0.1 x", ""},
		"a space in a word with quotes": {`add_header X a="${A}";`, "10.0.0.1 x", twoWords},
		"a space after quotes":          {`if ($a = "b"${A}) { }`, "c d", twoWords},
		"a space in an expression":      {"location ~ ^/${A}/ { }", "a b", twoWords},
		"a space in an include":         {"include ${A};", "/etc/a /etc/b", twoWords},
		"a space in a comment":          {"# ${A}\nallow all; # ${A}", "a b", ""},
		"a sharp in a word":             {"allow a#${A};", "a b", twoWords},
		"nothing between words":         {"allow ${A};", "", emptyWord},
		"nothing in quotes":             {`allow "${A}";`, "", ""},
		"nothing in a word":             {"location ${A}/api { }", "", ""},
		"nothing before quotes":         {`allow ${A}"b c";`, "", otherWord},
		"nothing before a comment":      {"allow ${A}#b;", "", otherWord},
		"a name":                        {"${A} all;", "deny", ""},
		"a name with a space":           {"${A};", "deny all", twoWords},
		"the name include":              {"map $a $b { ${A} 1; }", "include", otherName},
		"a part of the name include":    {"${A}de /etc/passwd;", "inclu", otherName},
		"the name of a Lua block":       {"content_by_${A} { }", "lua_block", otherName},
		"a backslash":                   {`add_header X "\${A}";`, "nice", escaped},
		"two backslashes":               {`add_header X "\\${A}";`, "nice", ""},
		"a block of Lua":                {"content_by_lua_block { ngx.say(${A}) }", "os.exit()", inLua},
		"a string in Lua":               {"content_by_lua_block { ngx.say('${A}') }", "a b", ""},
		"a long string in Lua":          {"content_by_lua_block { ngx.say([[${A}]]) }", "]]..os.exit()", inLua},
		"a backslash in Lua":            {`content_by_lua_block { ngx.say("\${A}") }`, "n", escaped},
		"after a block of Lua":          {"content_by_lua_block { [[ ' ]] } allow ${A};", "a b", twoWords},
		"Lua in quotes":                 {"content_by_lua 'ngx.say(\"${A}\")';", "a", inCode},
		"Perl in quotes":                {"perl_set $a 'sub { ${A} }';", "exit()", inCode},
		"a file of Lua":                 {"content_by_lua_file ${A};", "/etc/a.lua", ""},
		"after a brace too many":        {"} allow ${A};", "a b", twoWords},
		"a variable of nginx":           {"proxy_pass http://$arg_${A};", "name", ""},
		"a word without an end":         {"allow ${A}", "a b", twoWords},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			declared := instanceapi.Variables{Variables: []instanceapi.Variable{{Name: "A", Value: &tt.value}}}
			r := replace(t, "\n"+tt.text, declared, nil)
			if tt.want == "" {
				if got := r.Files["site.conf"]; len(r.Problems) > 0 || got != "\n"+strings.ReplaceAll(tt.text, "${A}", tt.value) {
					t.Errorf("%q: %v", got, r.Problems)
				}
				return
			}
			want := []instanceapi.Problem{{File: "site.conf", Line: 2, Message: "spec.config.env: A: the value " + tt.want}}
			if diff := cmp.Diff(want, r.Problems); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestFields: a problem names the field that declares the variable, and the object.
func TestFields(t *testing.T) {
	declared := instanceapi.Variables{From: []instanceapi.VariablesFrom{{Prefix: "A_", VariableObject: secret}}}
	r := replace(t, "allow ${A_B};\nallow ${A_C};", declared, map[string]string{"secret/shop/B": "hunter2;", "secret/shop/C": "hunter2 x", "secret/shop/..data": "x"})
	want := []instanceapi.Problem{
		{Message: "spec.config.envFrom: A_B: the value of Secret shop has one of the characters " + meaningful + ", which have a meaning in nginx's configuration: encode it, or mount it as a file"},
		{File: "site.conf", Line: 2, Message: "spec.config.envFrom: A_C: the value of Secret shop " + twoWords},
	}
	if diff := cmp.Diff(want, r.Problems); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestJavaScript: ${NAME} is a part of a template there.
func TestJavaScript(t *testing.T) {
	declared, err := json.Marshal(instanceapi.Variables{Variables: []instanceapi.Variable{{Name: "A", Value: new("b")}}})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"a.js": "`${A}`", "a.mjs": "`${A}`", "a.txt": "${A}", instanceapi.FileVariables: string(declared)}
	r, err := Replace(files, t.TempDir())
	if err != nil || r.Files["a.js"] != "`${A}`" || r.Files["a.mjs"] != "`${A}`" || r.Files["a.txt"] != "b" {
		t.Errorf("%v, %v", r, err)
	}
}

// TestTooLarge: the files with the values are not made if they are larger than a configuration can be.
func TestTooLarge(t *testing.T) {
	const references = 50_000
	declared := instanceapi.Variables{Variables: []instanceapi.Variable{
		{Name: "A", Value: new(strings.Repeat("a", maxValue))}, {Name: "B", Value: new("b")},
	}}
	text := "${B}\n" + strings.Repeat("${A}\n", references)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := replace(t, text, declared, nil)
	runtime.ReadMemStats(&after)
	want := []instanceapi.Problem{{File: "site.conf", Line: 2, Message: "spec.config.env: A: the configuration has 200048 KiB with the values of its variables, and at most 900 KiB are allowed: " +
		"${A} stands for 4096 bytes in 50000 places: use it in fewer, or mount it as a file"}}
	if diff := cmp.Diff(want, r.Problems); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 32 {
		t.Errorf("it takes %d MiB", made)
	}
	if r = replace(t, strings.Repeat("${A}\n", 200), declared, nil); len(r.Problems) > 0 {
		t.Errorf("less than the limit: %v", r.Problems)
	}
}

// FuzzReplace: whatever the values are, the statements of the file and their words stay where they were.
func FuzzReplace(f *testing.F) {
	f.Add("value", "server_name ${A};")
	f.Add("a;b", "${A}")
	f.Add("a b", "a '${A}' \"\\${A}\" ${A}{ x_by_lua_block { '${A}' }")
	f.Add("", "a ${A}'b c' ${A}#d")
	f.Fuzz(func(t *testing.T, value, text string) {
		file, err := json.Marshal(instanceapi.Variables{Variables: []instanceapi.Variable{{Name: "A", Value: &value}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Replace(map[string]string{"site.conf": text, instanceapi.FileVariables: string(file)}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Files["site.conf"]; len(r.Problems) == 0 && outline(got) != outline(text) {
			t.Errorf("%q with %q has become %q", text, value, got)
		}
	})
}

// outline returns the lines of the statements, the numbers of their words, and the names that change how nginx reads.
func outline(text string) string {
	var b strings.Builder
	for s := range syntax.Statements(text) {
		fmt.Fprintln(&b, s.Line, s.LastLine, len(s.Words), len(s.Strings), readsOtherwise.MatchString(s.Name))
	}
	return b.String()
}

// TestRefusedValuesTakeNoMemory: values that are too long are not read to their end, and not kept.
func TestRefusedValuesTakeNoMemory(t *testing.T) {
	dir := mounted(t, map[string]string{"secret/shop/token": strings.Repeat("x", 10<<20)})
	v := newValues(instanceapi.Variables{Variables: []instanceapi.Variable{{Name: "TOKEN", VariableObject: secret, Key: "token"}}}, dir)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found := v.value("${TOKEN}")
	runtime.ReadMemStats(&after)
	if found.usable || found.text != "" {
		t.Errorf("%d bytes are kept", len(found.text))
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8*maxRead {
		t.Errorf("%d bytes were allocated", allocated)
	}
}

// TestDeclarationsAreBounded: users who can change ConfigMaps cannot use up the memory of process 1.
func TestDeclarationsAreBounded(t *testing.T) {
	for what, text := range map[string]string{
		"items": `{"variables":[` + strings.Repeat("{},", 200_000) + `{}]}`, "nested": strings.Repeat(`{"x":`, 1000), "bytes": strings.Repeat(" ", 1<<20),
	} {
		if _, err := Replace(map[string]string{instanceapi.FileVariables: text}, t.TempDir()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one that names the %s", err, what)
		}
	}
}
