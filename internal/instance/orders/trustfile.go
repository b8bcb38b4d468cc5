package orders

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/instanceapi"
)

// TrustFile reads the trust file in a mounted folder.
type TrustFile struct {
	dir string
	// trust is its content at a version of the folder.
	trust   instanceapi.Trust
	version string
}

// NewTrustFile returns the TrustFile in a mounted folder.
func NewTrustFile(dir string) *TrustFile { return &TrustFile{dir: dir} }

// Trust returns the content of the file. It is zero, so that the pod accepts no order, if the file is missing or cannot be
// parsed. While it cannot be read, because of the node, it is what it was.
func (f *TrustFile) Trust() instanceapi.Trust {
	version := volumes.Version(f.dir)
	if version == f.version {
		return f.trust
	}
	text, err := os.ReadFile(filepath.Join(f.dir, version, instanceapi.FileTrust))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		slog.Warn("cannot read which orders of the operator the pod accepts", "error", err)
		return f.trust
	}
	f.version, f.trust = version, instanceapi.Trust{}
	if err == nil {
		f.trust, err = instanceapi.ParseTrust(string(text))
	}
	if err != nil {
		slog.Warn("the pod accepts no orders of the operator", "reason", err.Error())
	}
	return f.trust
}
