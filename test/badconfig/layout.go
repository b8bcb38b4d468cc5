package badconfig

import (
	"fmt"
	"strings"
)

// mark stands in the line that nginx names. It is taken out.
const mark = "¶"

// answer is the part of a server that would answer, were the configuration served.
// A client that is answered so knows that a bad configuration went live.
const answer = "add_header X-Revision bad always;\n    location = /answer {\n        return 200 \"revision=bad\\n\";\n    }\n"

// healthy is a file with nothing wrong in it.
var healthy = fmt.Sprintf("server {\n    listen %d;\n    %s}\n", Port, answer)

// padding are comments of some lines, so that the same fault is found in different lines.
func padding(lines int) string { return strings.Repeat("# nothing is wrong here\n", lines) }

// place takes the mark out of the files and returns where it was.
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

// found is a case of marked files that nginx -t refuses.
func found(marked map[string]string, messages ...string) Case {
	return by(Test, marked, messages...)
}

// by is a case of marked files and who finds the fault.
func by(finder Finder, marked map[string]string, messages ...string) Case {
	clean, file, line := place(marked)
	return Case{Files: clean, Finder: finder, Want: Diagnosis{File: file, Line: line, Messages: messages}}
}

// fault is a marked text and what nginx says of it.
type fault struct{ text, message string }

// each makes a case of each fault, by a layout.
func each(layout func(i int, text string) map[string]string, faults ...fault) []Case {
	var cases []Case
	for i, f := range faults {
		cases = append(cases, found(layout(i, f.text), f.message))
	}
	return cases
}

// fileNames are what users call their files.
var fileNames = []string{"site.conf", "default.conf", "00-base.conf", "shop.example.com.conf", "zz_last.conf"}

// inHTTP puts a text into the http context, alone in a file beside a healthy one, or
// before or after the server in the only file.
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

// inServer puts a text into the server that would answer, or into one beside it.
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

// whole makes a text a whole nginx.conf, if need be with what belongs into one.
func whole(_ int, text string) map[string]string {
	return map[string]string{"nginx.conf": text + "\n"}
}

// wholeHTTP is a whole nginx.conf with a text in its http context.
func wholeHTTP(i int, text string) map[string]string {
	return whole(i, padding(i)+"events {\n}\nhttp {\n"+text+"\n"+healthy+"}")
}

// inEvents is a whole nginx.conf with a text in its events context.
func inEvents(i int, text string) map[string]string {
	return whole(i, padding(i)+"events {\n"+text+"\n}\nhttp {\n"+healthy+"}")
}
