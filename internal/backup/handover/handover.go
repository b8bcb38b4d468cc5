// Package handover is how the pod that has read a backup tells the operator what the backup
// declares: over HTTP, since a termination message has no room for it, and the pod may write
// no object.
//
//	GET /ready       answers once the backup is verified
//	GET /documents   a tar: backup.json, nginxoperator.yaml, configmaps/<name>.yaml, all of them JSON
//
// What it declares is as secret as ConfigMaps are: who asks shows a token.
package handover

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

// Port is where the pod listens.
const Port = 9114

// The paths of the pod's answers.
const (
	ReadyPath     = "/ready"
	documentsPath = "/documents"
)

// headName is the first file of an answer.
const headName = "backup.json"

// limit is how many bytes of files are taken, each of which counts fileCost beside them: no
// archive holds more documents, and its info is smaller than one.
var limit = archive.DefaultLimits().Documents + archive.DefaultLimits().Document

const fileCost = 1 << 10

// Head is what is told of a backup before its files.
type Head struct {
	archive.Info
	// SHA256 of the archive that was read, in hexadecimal. What is restored of it later is to be of
	// the same.
	SHA256 string `json:"sha256"`
}

// Handler answers with the declarations of a backup.
func Handler(token string, head Head, files []archive.File) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ReadyPath, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET "+documentsPath, func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) != 1 {
			http.Error(w, "the token is another", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/x-tar")
		if err := write(w, head, files); err != nil {
			// The status is sent: that it is not whole has to show in the connection.
			panic(http.ErrAbortHandler)
		}
	})
	return mux
}

func write(w io.Writer, head Head, files []archive.File) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	if err := put(out, archive.File{Path: headName, Data: text}); err != nil {
		return err
	}
	for _, f := range files {
		if !Declares(f.Path) {
			continue
		}
		if err := put(out, f); err != nil {
			return err
		}
	}
	return out.Close()
}

// Declares tells whether a document of an archive is one that is handed over.
func Declares(path string) bool {
	return path == archive.ApplicationPath || strings.HasPrefix(path, archive.ConfigMapsFolder)
}

func put(out *tar.Writer, f archive.File) error {
	if err := out.WriteHeader(&tar.Header{Name: f.Path, Size: int64(len(f.Data)), Mode: 0o600, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := out.Write(f.Data)
	return err
}

// timeout bounds one answer.
const timeout = 30 * time.Second

// Fetch asks the pod at an IP address. The answer is that of a program which may be out of its
// mind: it is bounded, and no path is followed.
func Fetch(ctx context.Context, client *http.Client, ip, token string) (Head, []archive.File, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	url := "http://" + net.JoinHostPort(ip, strconv.Itoa(Port)) + documentsPath
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return Head{}, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := straight(client).Do(request)
	if err != nil {
		return Head{}, nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	if answer.StatusCode != http.StatusOK {
		return Head{}, nil, fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return read(answer.Body)
}

// straight is a client that is sent nowhere else: the pod's answer must not choose whom the
// operator asks.
func straight(client *http.Client) *http.Client {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

func read(body io.Reader) (Head, []archive.File, error) {
	var head Head
	var files []archive.File
	// Beside the files there are headers, of which each file has few.
	in := tar.NewReader(io.LimitReader(body, 2*limit))
	for left := limit; ; {
		header, err := in.Next()
		switch {
		case errors.Is(err, io.EOF) && head.Format != 0:
			return head, files, nil
		case errors.Is(err, io.EOF):
			return head, nil, fmt.Errorf("the answer has no %s", headName)
		case err != nil:
			return head, nil, err
		case header.Size > left-fileCost:
			return head, nil, fmt.Errorf("the answer has more than %d MiB", limit>>20)
		}
		left -= header.Size + fileCost
		data, err := io.ReadAll(in)
		if err != nil {
			return head, nil, err
		}
		if header.Name != headName {
			files = append(files, archive.File{Path: header.Name, Data: data})
			continue
		}
		if err := json.Unmarshal(data, &head); err != nil {
			return head, nil, fmt.Errorf("%s: %w", headName, err)
		}
	}
}
