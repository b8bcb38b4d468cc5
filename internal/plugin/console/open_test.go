package console

import (
	"os"
	"strings"
	"testing"
)

// TestWrite: only the user can read the file with the URL.
func TestWrite(t *testing.T) {
	path, err := write(t.TempDir(), "http://127.0.0.1:1/#token=ABC")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `content="0;url=http://127.0.0.1:1/#token=ABC"`) {
		t.Errorf("%s, %v", text, err)
	}
}
