package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// format is the version of Data. Adding fields does not change it.
const format = 1

// Data is the content of a ControllerRevision. It never changes.
type Data struct {
	// Format is the version of these fields.
	Format int `json:"format"`
	// Spec is the part of the spec that describes the pods, see Inputs.
	Spec v1alpha2.NginxOperatorSpec `json:"spec"`
	// Template is the pod template as it was applied.
	Template json.RawMessage `json:"template"`
	// Config is the configuration of the revision.
	Config Config `json:"config"`
	// Protocol is the protocol version of the template's instance manager.
	Protocol int `json:"protocol"`
}

// Config is a configuration with its files.
type Config struct {
	Revision string `json:"revision"`
	// Files are not in the operator's cache, see TrimFiles.
	Files nginxconf.Files `json:"files,omitempty"`
	// FilesGzip replaces Files if they are large: JSON, compressed with gzip (RFC 1952).
	FilesGzip []byte `json:"filesGzip,omitempty"`
}

// readable is the size in bytes up to which files are kept uncompressed, for users to read. Ten
// revisions of a ConfigMap of 1 MiB would burden etcd, and a single one, escaped in JSON, could
// exceed its limit.
const readable = 64 << 10

// Encode returns the data of a ControllerRevision.
func (d Data) Encode() ([]byte, error) {
	d.Format = format
	size := 0
	for _, text := range d.Config.Files {
		size += len(text)
	}
	if size > readable {
		var err error
		if d.Config.FilesGzip, err = compress(d.Config.Files); err != nil {
			return nil, err
		}
		d.Config.Files = nil
	}
	return json.Marshal(d)
}

func compress(files nginxconf.Files) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := json.NewEncoder(w).Encode(files); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

func decompress(packed []byte) (files nginxconf.Files, err error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := filesLimits.Read(r)
	if err != nil {
		return nil, err
	}
	return files, json.Unmarshal(text, &files)
}

// filesLimits bounds the decompressed files: a ConfigMap holds 1 MiB, and JSON makes it at most six times as long.
var filesLimits = boundedjson.Limits{Bytes: 8 << 20, Depth: 1, Items: 2048, Values: 2048, String: 8 << 20}

// Data decodes the revision's data.
func (r *Revision) Data() (Data, error) {
	var d Data
	if err := json.Unmarshal(r.Raw, &d); err != nil {
		return d, fmt.Errorf("read ControllerRevision %s: %w", r.Name, err)
	}
	if d.Format != format {
		return d, fmt.Errorf("read ControllerRevision %s: its data is of format %d, this operator reads %d", r.Name, d.Format, format)
	}
	if len(d.Config.FilesGzip) == 0 {
		return d, nil
	}
	files, err := decompress(d.Config.FilesGzip)
	if err != nil {
		return d, fmt.Errorf("unpack the configuration of ControllerRevision %s: %w", r.Name, err)
	}
	d.Config.Files, d.Config.FilesGzip = files, nil
	return d, nil
}

// TrimFiles removes the configuration's files from raw data. They can be large, and only a rollback
// needs them.
func TrimFiles(raw []byte) ([]byte, error) {
	var d map[string]json.RawMessage
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	var c map[string]json.RawMessage
	if err := json.Unmarshal(d["config"], &c); err != nil {
		return nil, err
	}
	delete(c, "files")
	delete(c, "filesGzip")
	config, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	d["config"] = config
	return json.Marshal(d)
}
