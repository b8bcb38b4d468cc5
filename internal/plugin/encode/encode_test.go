package encode

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// isControl reports whether a terminal would obey a character of an encoded text.
func isControl(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }

// TestControlCharacters: what a terminal would obey is escaped, and decodes to what it was.
func TestControlCharacters(t *testing.T) {
	for _, text := range []string{"", "plain", "a\x7fb", "\u0080", "x\u009b31m\u009fé€", "\x1b[31m\x00\r\n\t", "<&>", strings.Repeat("ä\u0085", 100)} {
		var asJSON strings.Builder
		if err := JSON(&asJSON, map[string]string{"k": text}, "  "); err != nil {
			t.Fatal(err)
		}
		asYAML, err := YAML(map[string]string{"k": text})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		for _, encoded := range []string{asJSON.String(), string(asYAML)} {
			if strings.ContainsFunc(encoded, isControl) {
				t.Errorf("%q becomes %q", text, encoded)
			}
		}
		var back, again map[string]string
		if err := json.Unmarshal([]byte(asJSON.String()), &back); err != nil || back["k"] != text {
			t.Errorf("JSON: %q, %v", back["k"], err)
		}
		if err := yaml.Unmarshal(asYAML, &again); err != nil || again["k"] != text {
			t.Errorf("YAML: %q, %v", again["k"], err)
		}
	}
}
