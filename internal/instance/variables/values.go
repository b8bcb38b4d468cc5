package variables

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
)

// The fields that declare variables.
const (
	fieldEnv     = "spec.config.env"
	fieldEnvFrom = "spec.config.envFrom"
)

// maxValue is the longest value, in bytes. nginx refuses longer words with a message that shows their beginning.
const maxValue = 4096

// source is where the value of a variable is: in the configuration, or in a mounted object.
type source struct {
	field  string
	value  *string
	object instanceapi.VariableObject
	key    string
}

// value is the value of a declared variable.
type value struct {
	text string
	// name is the field and the name of the variable, and of is the object with the value, for messages.
	name, of string
	secret   bool
	// usable is false if the value is missing or refused.
	usable bool
}

// values finds the values of variables.
type values struct {
	dir     string
	sources map[string]source
	// known are the values that were read, by the references to them.
	known    map[string]value
	problems []instanceapi.Problem
}

// newValues returns the values that a configuration declares. For one name, env takes precedence, and then the last entry of
// envFrom.
func newValues(declared instanceapi.Variables, dir string) values {
	v := values{dir: dir, sources: map[string]source{}, known: map[string]value{}}
	for _, from := range declared.From {
		keys, err := os.ReadDir(filepath.Join(dir, from.Dir()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			v.refuse(fieldEnvFrom, "%s cannot be read: %v", from.VariableObject, err)
		}
		for _, key := range keys {
			v.sources[from.Prefix+key.Name()] = source{field: fieldEnvFrom, object: from.VariableObject, key: key.Name()}
		}
	}
	for _, d := range declared.Variables {
		v.sources[d.Name] = source{field: fieldEnv, value: d.Value, object: d.VariableObject, key: d.Key}
	}
	return v
}

// value returns the value of a variable. Its name is empty if the variable is not declared.
func (v *values) value(reference string) value {
	if known, ok := v.known[reference]; ok {
		return known
	}
	name := strings.TrimSuffix(strings.TrimPrefix(reference, "${"), "}")
	s, ok := v.sources[name]
	if !ok {
		return value{}
	}
	found := value{name: s.field + ": " + name, secret: s.object.Kind == "Secret"}
	if s.object.Kind != "" {
		found.of = " of " + s.object.String()
	}
	if text, ok := v.read(found.name, s); ok {
		if found.usable = v.check(found, text); found.usable {
			found.text = text
		}
	}
	v.known[reference] = found
	return found
}

// read reads a value. A line break at the end is not a part of it, as most editors and tools add it.
func (v *values) read(name string, s source) (string, bool) {
	if s.value != nil {
		return strings.TrimRight(*s.value, "\r\n"), true
	}
	text, err := readStart(filepath.Join(v.dir, s.object.Dir(), filepath.Base(s.key)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.refuse(name, "%s has no key %s, or does not exist: create it", s.object, s.key)
	case err != nil:
		v.refuse(name, "key %s of %s cannot be read: %v", s.key, s.object, err)
	}
	return strings.TrimRight(string(text), "\r\n"), err == nil
}

// maxRead is how much is read of a key, in bytes. It is more than the longest value with any line breaks after it.
const maxRead = 64 << 10

// readStart reads the first bytes of a file. If the file is longer, the result ends with a letter, so that check refuses it as
// longer than maxValue.
func readStart(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxRead))
	if len(text) == maxRead {
		text[maxRead-1] = 'x'
	}
	return text, err
}

// meaningful are the characters that have a meaning in the syntax of nginx. Without them, a value in quotes stays there.
const meaningful = "\"'\\;{}$#"

// check refuses values that nginx would not take as they are, wherever they are.
func (v *values) check(found value, text string) bool {
	switch {
	case len(text) > maxValue:
		v.refuse(found.name, "the value%s is longer than %d bytes: mount it as a file", found.of, maxValue)
	case strings.ContainsAny(text, meaningful):
		v.refuse(found.name, "the value%s has one of the characters %s, which have a meaning in nginx's configuration: encode it, or mount it as a file", found.of, meaningful)
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\uFFFD' }):
		v.refuse(found.name, "the value%s has a line break or another control character, or is not UTF-8: mount it as a file", found.of)
	default:
		return true
	}
	return false
}

// secrets returns the values of Secrets that were read, by the references to them.
func (v *values) secrets() map[string]string {
	found := map[string]string{}
	for reference, known := range v.known {
		if known.secret && known.usable && known.text != "" {
			found[reference] = known.text
		}
	}
	return found
}

func (v *values) refuse(name, format string, arguments ...any) {
	if len(v.problems) < maxProblems {
		v.problems = append(v.problems, instanceapi.Problem{Message: name + ": " + fmt.Sprintf(format, arguments...)})
	}
}
