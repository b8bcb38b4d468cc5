package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// suites are the Debian suites whose nginx is built into an image: several versions that are years
// apart, for tests of upgrades and downgrades.
var suites = []string{"bookworm", "trixie", "forky"}

// packages are the packages of an image. They are unpacked, not installed: their installation
// scripts would set up a service, which a container does not have.
const packages = "nginx,libnginx-mod-stream,libnginx-mod-http-xslt-filter,dash,coreutils"

// nginxUser is the user ID of nginx in the official image.
const nginxUser = 101

//go:embed nginx
var nginxFiles embed.FS

// Nginx builds an image of each suite in the folder out, unless one from the same recipe exists,
// and returns the archives. The tags of the images are the versions of nginx in them.
func Nginx(ctx context.Context, out string, progress *log.Logger) ([]string, error) {
	var archives []string
	for i, suite := range suites {
		archive := filepath.Join(out, "nginx-"+suite+".tar")
		archives = append(archives, archive)
		made, err := madeByRecipe(archive)
		if err != nil {
			return archives, err
		}
		if made {
			continue
		}
		progress.Printf("making the nginx image of %s (%d of %d) ...", suite, i+1, len(suites))
		if err := makeNginx(ctx, suite, archive, progress); err != nil {
			return archives, fmt.Errorf("making the nginx image of %s: %w", suite, err)
		}
		if err := os.WriteFile(archive+".recipe", []byte(recipe()), 0o644); err != nil {
			return archives, err
		}
	}
	return archives, nil
}

// recipe returns a hash of everything that the images are built from.
func recipe() string {
	hash := sha256.New()
	hash.Write([]byte(packages))
	for _, name := range slices.Sorted(maps.Keys(nginxPaths)) {
		hash.Write(fmt.Appendln(nil, name, nginxPaths[name]))
	}
	files, err := nginxFiles.ReadDir("nginx")
	if err != nil {
		panic("image: the embedded folder is there: " + err.Error())
	}
	for _, file := range files {
		content, err := nginxFiles.ReadFile("nginx/" + file.Name())
		if err != nil {
			panic("image: the embedded file is there: " + err.Error())
		}
		hash.Write(fmt.Appendf(nil, "%s %d %s\n", file.Name(), len(content), content))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func madeByRecipe(archive string) (bool, error) {
	if _, err := os.Stat(archive); err != nil {
		return false, ignoreNotExist(err)
	}
	made, err := os.ReadFile(archive + ".recipe")
	return string(made) == recipe(), ignoreNotExist(err)
}

func ignoreNotExist(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func makeNginx(ctx context.Context, suite, archive string, progress *log.Logger) error {
	var rootfs, messages bytes.Buffer
	command := exec.CommandContext(ctx, "mmdebstrap", "--variant=extract", "--include="+packages,
		// Package lists of a suite in development are valid for a week. A mirror that lags behind
		// must not cause a failure; signatures are still checked.
		`--aptopt=Acquire::Check-Valid-Until "false"`, suite, "-")
	command.Stdout, command.Stderr = &rootfs, &messages
	if err := command.Run(); err != nil {
		return fmt.Errorf("mmdebstrap: %w\n%s", err, messages.Bytes())
	}
	layer, err := FromTar(&rootfs)
	if err != nil {
		return err
	}
	if err := addNginxFiles(layer); err != nil {
		return err
	}
	series, exact, err := nginxVersion(layer)
	if err != nil {
		return err
	}
	content, err := layer.Tar()
	if err != nil {
		return err
	}
	tags := []string{"localhost/nginx:" + series + "-debian", "localhost/nginx:" + exact + "-debian"}
	progress.Printf("%s holds %v", archive, tags)
	return Write(archive, content, v1.Config{
		Cmd:          []string{"nginx", "-g", "daemon off;"},
		Env:          []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "NGINX_VERSION=" + exact},
		ExposedPorts: map[string]struct{}{"80/tcp": {}},
		// On SIGTERM, nginx drops all connections at once.
		StopSignal: "SIGQUIT",
	}, tags...)
}

// nginxPaths maps the embedded files to their paths in the image.
var nginxPaths = map[string]string{
	"nginx.conf":   "/etc/nginx/nginx.conf",
	"default.conf": "/etc/nginx/conf.d/default.conf",
	"index.html":   "/usr/share/nginx/html/index.html",
	"passwd":       "/etc/passwd",
	"group":        "/etc/group",
	// The installation scripts of Debian's package would create a link here.
	"stream.conf": "/etc/nginx/modules-enabled/50-mod-stream.conf",
}

// addNginxFiles makes the image resemble the official nginx image.
func addNginxFiles(layer Layer) error {
	for name, destination := range nginxPaths {
		content, err := nginxFiles.ReadFile("nginx/" + name)
		if err != nil {
			return err
		}
		layer.Add(destination, File(0o644, content))
	}
	// nginx's logs become the container's logs.
	layer.Add("/var/log/nginx/access.log", Link("/dev/stdout"))
	layer.Add("/var/log/nginx/error.log", Link("/dev/stderr"))
	// Debian's nginx is compiled to store request bodies and other temporary files here.
	layer.Add("/var/lib/nginx", DirEntry(0o755, nginxUser))
	layer.Add("/tmp", DirEntry(0o1777, 0))
	layer.Add("/run", DirEntry(0o755, 0))
	return nil
}

var versionPattern = regexp.MustCompile(`nginx/((\d+\.\d+)\.\d+)`)

// nginxVersion reads the version from the binary, without running it.
func nginxVersion(layer Layer) (series, exact string, err error) {
	match := versionPattern.FindSubmatch(layer["usr/sbin/nginx"].Content)
	if match == nil {
		return "", "", errors.New("there is no nginx of a known version in it")
	}
	return string(match[2]), string(match[1]), nil
}
