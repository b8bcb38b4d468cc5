// Package variables replaces the declared variables in the files of a configuration by their values.
package variables

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// Replaced are the files of a configuration with the values.
type Replaced struct {
	Files map[string]string
	// Values are the values of Secrets that the files contain, by the references to their variables.
	Values map[string]string
	// Problems say which values cannot be used, without showing them.
	Problems []instanceapi.Problem
}

// reference matches a variable. Those of nginx have no capital letters.
var reference = regexp.MustCompile(`\$\{[A-Z_][A-Z0-9_]*\}`)

// name matches what can be the name of a variable.
var name = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

// maxValue is the longest value, in bytes. nginx refuses longer words with a message that shows their beginning.
const maxValue = 4096

// Replace replaces the variables of a configuration. dir holds the mounted objects; see instanceapi.DirVariables.
// References to variables that are not declared stay.
func Replace(files map[string]string, dir string) (Replaced, error) {
	text, ok := files[instanceapi.FileVariables]
	if !ok {
		return Replaced{Files: files}, nil
	}
	var declared instanceapi.Variables
	if err := json.Unmarshal([]byte(text), &declared); err != nil {
		return Replaced{}, fmt.Errorf("read %s: %w", instanceapi.FileVariables, err)
	}
	r := &replacer{dir: dir, declared: declared, known: map[string]value{}, values: map[string]string{}}
	replaced := make(map[string]string, len(files))
	for file, text := range files {
		if !strings.HasPrefix(file, nginxconf.ReservedPrefix) {
			text = reference.ReplaceAllStringFunc(text, r.replace)
		}
		replaced[file] = text
	}
	slices.SortFunc(r.problems, func(a, b instanceapi.Problem) int { return strings.Compare(a.Message, b.Message) })
	return Replaced{Files: replaced, Values: r.values, Problems: r.problems}, nil
}

// value is what is known of a variable.
type value struct {
	text string
	// declared is false if no variable has the name, and usable is false if the value is missing or refused.
	declared, usable bool
}

type replacer struct {
	dir      string
	declared instanceapi.Variables
	known    map[string]value
	values   map[string]string
	problems []instanceapi.Problem
}

// replace returns the value of a variable, or the reference itself.
func (r *replacer) replace(reference string) string {
	v, ok := r.known[reference]
	if !ok {
		v = r.find(strings.TrimSuffix(strings.TrimPrefix(reference, "${"), "}"))
		r.known[reference] = v
	}
	if !v.usable {
		return reference
	}
	return v.text
}

// find returns the value of a variable of a name.
func (r *replacer) find(name string) value {
	for _, v := range r.declared.Variables {
		switch {
		case v.Name != name:
		case v.Value != nil:
			return r.check(name, *v.Value, instanceapi.VariableObject{})
		default:
			return r.read(name, v.VariableObject, v.Key, true)
		}
	}
	for _, from := range slices.Backward(r.declared.From) {
		key, ok := strings.CutPrefix(name, from.Prefix)
		if !ok || key == "" {
			continue
		}
		if v := r.read(name, from.VariableObject, key, false); v.declared {
			return v
		}
	}
	return value{}
}

// read reads the value of a key. A key that is not required may be missing.
func (r *replacer) read(variable string, object instanceapi.VariableObject, key string, required bool) value {
	if !required && !name.MatchString(key) && !name.MatchString(variable) {
		return value{}
	}
	text, err := os.ReadFile(filepath.Join(r.dir, object.Dir(), filepath.Base(key)))
	switch {
	case errors.Is(err, fs.ErrNotExist) && required:
		return r.refuse("%s: %s has no key %s, or does not exist: create it", variable, object, key)
	case errors.Is(err, fs.ErrNotExist):
		return value{}
	case err != nil:
		return r.refuse("%s: key %s of %s cannot be read: %v", variable, key, object, err)
	}
	return r.check(variable, string(text), object)
}

// meaningful are the characters that have a meaning in the syntax of nginx: with one of them, a value could be more than
// one word of the configuration.
const meaningful = "\"'\\;{}$#"

// check refuses values that nginx would not take as they are. A line break at the end is not a part of the value, as most
// editors and tools add it.
func (r *replacer) check(variable, text string, object instanceapi.VariableObject) value {
	text = strings.TrimRight(text, "\r\n")
	where := ""
	if object.Kind != "" {
		where = " of " + object.String()
	}
	switch {
	case len(text) > maxValue:
		return r.refuse("%s: the value%s is longer than %d bytes: mount it as a file", variable, where, maxValue)
	case strings.ContainsAny(text, meaningful):
		return r.refuse("%s: the value%s has one of the characters %s, which have a meaning in nginx's configuration: encode it, or mount it as a file", variable, where, meaningful)
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\uFFFD' }):
		return r.refuse("%s: the value%s has a line break or another control character, or is not UTF-8: mount it as a file", variable, where)
	}
	if object.Kind == "Secret" && text != "" {
		r.values["${"+variable+"}"] = text
	}
	return value{text: text, declared: true, usable: true}
}

func (r *replacer) refuse(format string, args ...any) value {
	r.problems = append(r.problems, instanceapi.Problem{Message: "spec.config.env: " + fmt.Sprintf(format, args...)})
	return value{declared: true}
}
