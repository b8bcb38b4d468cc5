package assemble

import (
	"slices"

	"example.com/nginx-operator/internal/instance/syntax"
)

// logName is the format's name.
const logName = "nginx_operator"

// logFormat has what package requestlog reads. Its fields are separated by tabs, which
// nginx escapes inside of variables. The revision of the configuration is a literal: workers of
// the generation before go on logging theirs.
func logFormat(s Settings) string {
	return `log_format ` + logName + ` escape=default ` +
		`"$status\t$request_method\t$request_time\t$bytes_sent\t$request_length\t$server_name\t$upstream_response_time\t` + s.Revision + `"`
}

// accessLog is written through a buffer: one write for hundreds of requests, whole lines at
// a time, and soon at the latest: the first answers of a configuration are looked at while others
// wait. A buffer is flushed when its worker ends, too.
func accessLog(s Settings) string {
	return "access_log " + s.RequestLog + " " + logName + " buffer=64k flush=50ms"
}

// StatusSocket is where nginx answers the instance, in the folder of its sockets.
func StatusSocket(dir string) string { return dir + "/status.sock" }

// logContexts are the blocks below http in which access_log is a directive. In a map, for example,
// it is a value.
var logContexts = []string{"server", "location", "if", "limit_except"}

// logBlock is a block with access logs of the user's, in nginx's order.
type logBlock struct {
	logs []syntax.Visit
	// http tells that it is the http block, which has the log of the request metrics already.
	http bool
}

// off tells whether nothing is logged: for nginx, off outweighs every other log of the block.
func (b *logBlock) off() bool {
	return slices.ContainsFunc(b.logs, func(v syntax.Visit) bool { return v.Is("access_log", "off") })
}

// place is the log beside which, or in whose place, that of the request metrics is put. Included
// files come first: another block that includes the file has its log then, too.
func (b *logBlock) place() syntax.Visit {
	if i := slices.IndexFunc(b.logs, fromInclude); i >= 0 {
		return b.logs[i]
	}
	return b.logs[0]
}

// fromInclude tells whether the directive stands in a file that its block includes.
func fromInclude(v syntax.Visit) bool {
	return !slices.Contains(v.Block().Block, v.Directive)
}

// logBlocks are the http block, if it has logs, and those below it.
func (f *findings) logBlocks() []*logBlock {
	var blocks []*logBlock
	if logs := f.httpLevel["access_log"]; len(logs) > 0 {
		blocks = append(blocks, &logBlock{logs: logs, http: true})
	}
	known := map[*syntax.Directive]*logBlock{}
	for _, v := range f.logs {
		b := known[v.Block()]
		if b == nil {
			b = &logBlock{}
			known[v.Block()] = b
			blocks = append(blocks, b)
		}
		b.logs = append(b.logs, v)
	}
	return blocks
}

// logRequests adds the request metrics' log wherever the user's own access logs would
// override that of the http level: once in each block. It takes the place of `access_log off`, so
// that requests are counted there as well.
func (f *findings) logRequests(c changes, s Settings) {
	blocks := f.logBlocks()
	used := map[*syntax.Directive]bool{}
	for _, b := range blocks {
		if b.off() {
			continue
		}
		for _, v := range b.logs {
			used[v.Directive] = true
		}
		if !b.http {
			c.insert(b.place(), " "+accessLog(s)+";")
		}
	}
	for _, b := range blocks {
		// A log that is in use where another block includes its file has to stay. So does off here,
		// or this block would use the log as well.
		if b.off() && !slices.ContainsFunc(b.logs, func(v syntax.Visit) bool { return used[v.Directive] || v.Opens }) {
			b.replace(c, s)
		}
	}
}

// replace puts the request metrics' log in the place of all logs of a block in which nothing is logged.
func (b *logBlock) replace(c changes, s Settings) {
	place := b.place()
	for _, v := range b.logs {
		text := ""
		if v.Directive == place.Directive && !b.http {
			text = accessLog(s) + ";"
		}
		if !c.has(v) {
			c.replace(v, text)
		}
	}
}
