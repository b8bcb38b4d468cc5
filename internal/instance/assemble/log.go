package assemble

import (
	"slices"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
)

// logName is the name of the log format.
const logName = "nginx_operator"

// logFormat defines the format that package requestlog parses. Tabs separate the fields, because nginx escapes tabs
// inside variables. The configuration revision is a literal, so that workers of the previous generation keep logging
// their own. In the pod of a cache, another field has what the cache says of the request. A configuration that an earlier
// release of the operator wrote says nothing.
func (f *findings) logFormat(s Settings) string {
	fields := `$status\t$request_method\t$request_time\t$bytes_sent\t$request_length\t$server_name\t$upstream_response_time\t$remote_addr\t` + s.Revision
	if s.CacheMetrics && slices.ContainsFunc(f.httpLevel["map"], definesCacheLog) {
		fields += `\t` + instanceapi.VariableCacheLog
	}
	return `log_format ` + logName + ` escape=default "` + fields + `"`
}

func definesCacheLog(v syntax.Visit) bool {
	return len(v.Args) == 2 && v.Args[1] == instanceapi.VariableCacheLog
}

// accessLog writes through a buffer, so that one write carries whole lines of hundreds of requests. It flushes soon,
// because other pods wait for the first answers of a configuration. nginx also flushes the buffer when a worker exits.
func accessLog(s Settings) string {
	return "access_log " + s.RequestLog + " " + logName + " buffer=64k flush=50ms"
}

// StatusSocket returns the path of the socket on which nginx answers the instance.
func StatusSocket(dir string) string { return dir + "/status.sock" }

// logContexts are the blocks below http in which access_log is a directive. In a map block, for example, it is a value.
var logContexts = []string{"server", "location", "if", "limit_except"}

// logBlock is a block that contains access_log directives of the user, in nginx's order.
type logBlock struct {
	logs []syntax.Visit
	// http is true for the http block, which already has the log of the request metrics.
	http bool
}

// off reports whether the block logs nothing. In nginx, `off` overrides every other log of the same block.
func (b *logBlock) off() bool {
	return slices.ContainsFunc(b.logs, func(v syntax.Visit) bool { return v.Is("access_log", "off") })
}

// place returns the access_log that the log of the request metrics is added to or replaces. A directive in an included
// file is preferred, because every other block that includes the file then has the log as well.
func (b *logBlock) place() syntax.Visit {
	if i := slices.IndexFunc(b.logs, fromInclude); i >= 0 {
		return b.logs[i]
	}
	return b.logs[0]
}

// fromInclude reports whether the directive is in a file that its block includes.
func fromInclude(v syntax.Visit) bool {
	return !slices.Contains(v.Block().Block, v.Directive)
}

// logBlocks returns the http block, if it has access logs, and all blocks below it that do.
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

// logRequests adds the log of the request metrics to every block whose own access logs would override the log of the
// http level. It replaces `access_log off`, so that those requests are counted too.
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
		// A log in an included file must stay while another block uses it. `off` must then stay too, because this block
		// would otherwise use that log.
		if b.off() && !slices.ContainsFunc(b.logs, func(v syntax.Visit) bool { return used[v.Directive] || v.Opens }) {
			b.replace(c, s)
		}
	}
}

// replace replaces all logs of a block that logs nothing with the log of the request metrics.
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
