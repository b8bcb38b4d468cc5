package page

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// Configuration is the requested configuration, and how it differs from the one that pods start with.
type Configuration struct {
	Stable string `json:"stable,omitempty"`
	Next   string `json:"next,omitempty"`
	Files  []File `json:"files"`
	// Verdict is the message of ConfigValid while it is not True.
	Verdict string `json:"verdict,omitempty"`
	// Problems are nginx's messages in the verdict, at their lines.
	Problems []Problem `json:"problems,omitempty"`
}

// File is a file of the configuration.
type File struct {
	Name string `json:"name"`
	// Change is added, removed, changed or empty.
	Change string `json:"change,omitempty"`
	Lines  []Line `json:"lines"`
}

// Problem is a message of nginx about a line.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func configuration(o *Objects) Configuration {
	c := Configuration{Files: []File{}}
	stable, next := nginxconf.Files{}, nginxconf.Files{}
	for i := range o.ConfigMaps {
		switch m := &o.ConfigMaps[i]; m.Name {
		case naming.ConfigMap(o.Nginx.Name):
			c.Stable, stable = m.Annotations[naming.AnnotationConfig], filesOf(m)
		case naming.ConfigMapNext(o.Nginx.Name):
			c.Next, next = m.Annotations[naming.AnnotationConfig], filesOf(m)
		}
	}
	if c.Stable == "" {
		stable = nil
	}
	c.Files = compare(stable, next)
	if v := condition(o.Nginx, v1alpha2.ConditionConfigValid); v != nil && v.Status != "True" {
		c.Verdict, c.Problems = v.Message, problems(v.Message)
	}
	return c
}

// filesOf returns the user's files in a ConfigMap.
func filesOf(m *corev1.ConfigMap) nginxconf.Files {
	files := nginxconf.Files{}
	maps.Copy(files, m.Data)
	for name, text := range m.BinaryData {
		files[name] = string(text)
	}
	return files.User()
}

// compare returns the files of two configurations. Without an earlier one, nothing has changed.
func compare(before, after nginxconf.Files) []File {
	all := maps.Clone(before)
	if all == nil {
		all = nginxconf.Files{}
		before = after
	}
	maps.Copy(all, after)
	files := []File{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		old, had := before[name]
		now, has := after[name]
		file := File{Name: name, Lines: Diff(old, now)}
		switch {
		case !had:
			file.Change = "added"
		case !has:
			file.Change = "removed"
		case old != now:
			file.Change = "changed"
		}
		files = append(files, file)
	}
	return files
}

// located matches a message at a line, as poddiagnosis.Problems writes it.
var located = regexp.MustCompile(`(?:^|[ ;])([-._a-zA-Z0-9/]+):(\d+): ([^;]*)`)

// problems returns the messages at lines in the message of a condition.
func problems(message string) []Problem {
	var all []Problem
	for _, m := range located.FindAllStringSubmatch(message, -1) {
		line, err := strconv.Atoi(m[2])
		if err != nil || line < 1 {
			continue
		}
		file := m[1][strings.LastIndex(m[1], "/")+1:]
		all = append(all, Problem{File: file, Line: line, Message: strings.TrimSpace(m[3])})
	}
	return all
}
