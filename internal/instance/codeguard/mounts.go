package codeguard

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is a line of /proc/self/mountinfo (https://docs.kernel.org/filesystems/proc.html).
type mount struct {
	id uint64
	// device identifies the file system, root is the mounted folder in it, and point is where it is mounted.
	device, root, point string
	readOnly            bool
}

// mountTable are the mounts of the container.
type mountTable []mount

// writable returns the name of an open file, and whether it is a regular file that a mount of the container contains which
// is not read-only. The same folder may be mounted twice, once read-only. A file that is on no mount counts as writable.
func (t *mountTable) writable(descriptor string) (name string, writable bool) {
	info, err := statMount(descriptor)
	if err != nil {
		return "a file that is not open", true
	}
	if info.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", false
	}
	name, err = os.Readlink(descriptor)
	if err != nil {
		return "a file that is not open", true
	}
	return name, t.contains(info.Mnt_id, name)
}

// contains reports whether a mount that is not read-only contains a file with a name on another mount, or no mount is known
// that does.
func (t *mountTable) contains(id uint64, name string) bool {
	of := t.find(id)
	if of == nil {
		return true
	}
	inside := path.Join(of.root, strings.TrimPrefix(name, of.point))
	return slices.ContainsFunc(*t, func(m mount) bool {
		return !m.readOnly && m.device == of.device && below(inside, m.root)
	})
}

// find returns a mount, and reads the table again if it is not there.
func (t *mountTable) find(id uint64) *mount {
	for range 2 {
		if at := slices.IndexFunc(*t, func(m mount) bool { return m.id == id }); at >= 0 {
			return &(*t)[at]
		}
		// An error is an empty table, in which nothing is read-only.
		text, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return nil
		}
		*t = parseMounts(string(text))
	}
	return nil
}

// below reports whether a path is a folder or is in it.
func below(file, folder string) bool {
	return file == folder || strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/")
}

func parseMounts(text string) []mount {
	var all []mount
	for line := range strings.Lines(text) {
		const id, device, root, point, options = 0, 2, 3, 4, 5
		before, after, found := strings.Cut(line, " - ")
		fields, ofFileSystem := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) <= options || len(ofFileSystem) == 0 {
			continue
		}
		number, err := strconv.ParseUint(fields[id], 10, 64)
		if err != nil {
			continue
		}
		all = append(all, mount{
			id: number, device: fields[device], root: unescape(fields[root]), point: unescape(fields[point]),
			readOnly: readOnly(fields[options]) || readOnly(ofFileSystem[len(ofFileSystem)-1]),
		})
	}
	return all
}

func readOnly(options string) bool { return slices.Contains(strings.Split(options, ","), "ro") }

// unescape replaces the escapes of the kernel.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
