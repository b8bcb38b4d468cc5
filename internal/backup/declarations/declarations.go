// Package declarations transfers the declarations of a backup from the pod that has read it to the
// operator. It uses HTTP, since a termination message has no room for them, and the pod may not write
// objects.
//
//	GET /ready       answers once the backup is verified
//	GET /documents   a tar: backup.json, nginxoperator.yaml, configmaps/<name>.yaml, all of them JSON
//
// The declarations are as confidential as ConfigMaps, so a client has to present a token.
package declarations

import (
	"archive/tar"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/nginx-operator/internal/backup/archive"
)

// Port is the port that the pod listens on.
const Port = 9114

// The paths that the pod serves.
const (
	ReadyPath     = "/ready"
	documentsPath = "/documents"
)

// headName is the name of the first file in an answer.
const headName = "backup.json"

// limit bounds the files that are accepted, with their names, in bytes. Each counts fileCost bytes in addition. No archive holds
// more documents, and its info is smaller than one document.
var limit = archive.DefaultLimits().Documents + archive.DefaultLimits().Document

const fileCost = 1 << 10

// BackupInfo describes a backup. It precedes the files.
type BackupInfo struct {
	archive.Info
	// SHA256 is the hash of the archive that was read, in hexadecimal. What is restored later must
	// come from the same archive.
	SHA256 string `json:"sha256"`
}

// Handler serves the declarations of a backup.
func Handler(token string, head BackupInfo, files []archive.File) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ReadyPath, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET "+documentsPath, func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			http.Error(w, "the token is wrong", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/x-tar")
		if err := write(w, head, files); err != nil {
			// The status has been sent: abort the connection so that the client notices.
			panic(http.ErrAbortHandler)
		}
	})
	return mux
}

func write(w io.Writer, head BackupInfo, files []archive.File) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	if err := put(out, archive.File{Path: headName, Data: text}); err != nil {
		return err
	}
	for _, f := range files {
		if !IsManifest(f.Path) {
			continue
		}
		if err := put(out, f); err != nil {
			return err
		}
	}
	return out.Close()
}

// IsManifest reports whether a document of an archive is served to the operator.
func IsManifest(path string) bool {
	return path == archive.ApplicationPath || strings.HasPrefix(path, archive.ConfigMapsFolder)
}

func put(out *tar.Writer, f archive.File) error {
	if err := out.WriteHeader(&tar.Header{Name: f.Path, Size: int64(len(f.Data)), Mode: 0o600, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := out.Write(f.Data)
	return err
}

// timeout bounds one request.
const timeout = 30 * time.Second

// FetchFromPod requests the declarations from the pod at an IP address. The pod is not trusted: its answer
// is bounded, and the paths in it are never used as file names. admit is called with the bytes of each file, its name included,
// before it is read.
func FetchFromPod(
	ctx context.Context, client *http.Client, ip, token string, admit func(context.Context, int64) error,
) (BackupInfo, []archive.File, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	url := "http://" + net.JoinHostPort(ip, strconv.Itoa(Port)) + documentsPath
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return BackupInfo{}, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := withoutRedirects(client).Do(request)
	if err != nil {
		return BackupInfo{}, nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	if answer.StatusCode != http.StatusOK {
		return BackupInfo{}, nil, fmt.Errorf("%s answered %s", url, answer.Status)
	}
	return parseTar(answer.Body, func(bytes int64) error { return admit(ctx, bytes) })
}

// withoutRedirects returns a client that does not follow redirects: the pod must not choose what the
// operator connects to.
func withoutRedirects(client *http.Client) *http.Client {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

func parseTar(body io.Reader, admit func(int64) error) (BackupInfo, []archive.File, error) {
	var head BackupInfo
	var files []archive.File
	// Each file adds a few header blocks.
	steps := &stepReader{r: io.LimitReader(body, 2*limit)}
	in := tar.NewReader(steps)
	for left := limit; ; {
		header, err := steps.next(in)
		switch {
		case errors.Is(err, io.EOF) && head.Format != 0:
			return head, files, nil
		case errors.Is(err, io.EOF):
			return head, nil, fmt.Errorf("the answer has no %s", headName)
		case err != nil:
			return head, nil, err
		}
		cost := int64(len(header.Name)) + fileCost
		if header.Size > left-cost {
			return head, nil, fmt.Errorf("the answer has more than %d MiB", limit>>20)
		}
		left -= header.Size + cost
		data, err := steps.readFile(in, header.Size, cost, admit)
		if err != nil {
			return head, nil, err
		}
		if header.Name != headName {
			// The name may be a part of all headers of the file.
			files = append(files, archive.File{Path: strings.Clone(header.Name), Data: data})
			continue
		}
		if err := archive.CheckInfo(data); err != nil {
			return head, nil, fmt.Errorf("%s: %w", headName, err)
		}
		if err := json.Unmarshal(data, &head); err != nil {
			return head, nil, fmt.Errorf("%s: %w", headName, err)
		}
	}
}

// headerLimit bounds the headers of a file in an answer, in bytes. Package tar keeps all of them in memory: names, owners and
// any other records. nameLimit bounds the name, which the operator keeps.
const (
	headerLimit = 16 << 10
	nameLimit   = 4 << 10
)

// stepReader reads an answer. It allows only the bytes of the current step, a header or a file, so that package tar reads no
// headers of megabytes.
type stepReader struct {
	r       io.Reader
	allowed int64
	// padding is the number of bytes between the last file and the next header.
	padding int64
}

// Read implements io.Reader.
func (s *stepReader) Read(p []byte) (int, error) {
	if s.allowed == 0 && len(p) > 0 {
		return 0, fmt.Errorf("a file of the answer has headers of more than %d bytes", headerLimit)
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.allowed)])
	s.allowed -= int64(n)
	return n, err
}

// next returns the header of the next file. It refuses what Handler never sends.
func (s *stepReader) next(in *tar.Reader) (*tar.Header, error) {
	s.allowed = s.padding + headerLimit
	header, err := in.Next()
	switch {
	case err != nil:
		return nil, err
	case len(header.Name) > nameLimit:
		return nil, fmt.Errorf("a file of the answer has a name of %d bytes: at most %d are allowed", len(header.Name), nameLimit)
	case header.Name != headName && !IsManifest(header.Name):
		return nil, fmt.Errorf("the answer has the file %.200q, which is no declaration", header.Name)
	case header.Typeflag != tar.TypeReg || !plain(header):
		return nil, fmt.Errorf("%.200q in the answer is not a regular file", header.Name)
	}
	return header, nil
}

// plain reports whether the headers of a file have no records but its name and size. A sparse file would be longer than its bytes
// in the answer.
func plain(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if key != "path" && key != "size" {
			return false
		}
	}
	return true
}

// readFile reads a file. cost counts in addition to its size.
func (s *stepReader) readFile(in io.Reader, size, cost int64, admit func(int64) error) ([]byte, error) {
	if err := admit(size + cost); err != nil {
		return nil, err
	}
	s.allowed, s.padding = size, -size&(blockSize-1)
	return io.ReadAll(in)
}

// blockSize is the size in bytes of a block of a tar.
const blockSize = 512
