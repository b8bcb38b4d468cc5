package badconfig

import (
	"fmt"
	"strings"
)

// mark marks the line that nginx names. It is removed from the files.
const mark = "¶"

// answer is the part of a server that answers requests if the configuration is served. Its response
// shows a client that a bad configuration went live.
const answer = "add_header X-Revision bad always;\n    location = /answer {\n        return 200 \"revision=bad\\n\";\n    }\n"

// healthy is a file without a fault.
var healthy = fmt.Sprintf("server {\n    listen %d;\n    %s}\n", Port, answer)

// padding returns lines of comments, so that the same fault is in different lines.
func padding(lines int) string { return strings.Repeat("# nothing is wrong here\n", lines) }

// place removes the mark from the files and returns its position.
func place(marked map[string]string) (map[string]string, string, int) {
	clean := make(map[string]string, len(marked))
	file, line := "", 0
	for name, text := range marked {
		before, after, found := strings.Cut(text, mark)
		if found {
			file, line = name, strings.Count(before, "\n")+1
		}
		clean[name] = before + after
	}
	return clean, file, line
}

// found returns a case of marked files that nginx -t rejects.
func found(marked map[string]string, messages ...string) Case {
	return by(Test, marked, messages...)
}

// by returns a case of marked files with what finds the fault.
func by(finder Finder, marked map[string]string, messages ...string) Case {
	clean, file, line := place(marked)
	return Case{Files: clean, Finder: finder, Want: Diagnosis{File: file, Line: line, Messages: messages}}
}

// fault is a marked text with nginx's message.
type fault struct{ text, message string }

// each returns a case with the given layout for each fault.
func each(layout func(i int, text string) map[string]string, faults ...fault) []Case {
	var cases []Case
	for i, f := range faults {
		cases = append(cases, found(layout(i, f.text), f.message))
	}
	return cases
}

// fileNames are typical names of users' files.
var fileNames = []string{"site.conf", "default.conf", "00-base.conf", "shop.example.com.conf", "zz_last.conf"}

// inHTTP puts a text into the http context: in a file next to a healthy one, or before or after the
// server in the only file.
func inHTTP(i int, text string) map[string]string {
	name := fileNames[i%len(fileNames)]
	switch i % 3 {
	case 0:
		return map[string]string{name: padding(i) + text + "\n", "healthy.conf": healthy}
	case 1:
		return map[string]string{name: text + "\n" + healthy}
	default:
		return map[string]string{name: healthy + padding(i) + text + "\n"}
	}
}

// inServer puts a text into the server that would answer, or into another one.
func inServer(i int, text string) map[string]string {
	name := fileNames[i%len(fileNames)]
	server := fmt.Sprintf("%sserver {\n    listen %d;\n    %s\n    %s}\n", padding(i), Port, text, answer)
	if i%2 == 0 {
		return map[string]string{name: server}
	}
	other := fmt.Sprintf("server {\n    listen %d;\n    server_name other.test;\n%s    %s\n}\n", Port, padding(i), text)
	return map[string]string{name: other, "healthy.conf": healthy}
}

// inLocation puts a text into a location.
func inLocation(i int, text string) map[string]string {
	return inServer(i, fmt.Sprintf("location /there%d {\n        %s\n    }", i, text))
}

// inStream puts a text into the stream context.
func inStream(i int, text string) map[string]string {
	return map[string]string{"tcp.stream.conf": padding(i) + text + "\n", "healthy.conf": healthy}
}

// inMain puts a text at the top level.
func inMain(i int, text string) map[string]string {
	return map[string]string{"top.main.conf": padding(i) + text + "\n", "healthy.conf": healthy}
}

// whole makes a text a complete nginx.conf.
func whole(_ int, text string) map[string]string {
	return map[string]string{"nginx.conf": text + "\n"}
}

// wholeHTTP returns a complete nginx.conf with a text in its http context.
func wholeHTTP(i int, text string) map[string]string {
	return whole(i, padding(i)+"events {\n}\nhttp {\n"+text+"\n"+healthy+"}")
}

// inEvents returns a complete nginx.conf with a text in its events context.
func inEvents(i int, text string) map[string]string {
	return whole(i, padding(i)+"events {\n"+text+"\n}\nhttp {\n"+healthy+"}")
}
