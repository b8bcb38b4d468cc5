package assemble

import (
	"slices"
	"strconv"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
)

// level maps directive names to the user's directives at one level of the configuration.
type level map[string][]syntax.Visit

func (l level) has(name string) bool { return len(l[name]) > 0 }

// last returns the argument of the last directive of that name.
func (l level) last(name string) string {
	visits := l[name]
	if len(visits) == 0 || len(visits[len(visits)-1].Args) == 0 {
		return ""
	}
	return visits[len(visits)-1].Args[0]
}

// findings is the result of a walk through the user's files.
type findings struct {
	// main and httpLevel are the directives directly at the top level and in the http block.
	main, httpLevel level
	// http is the user's own http block, if there is one.
	http *syntax.Visit
	// logs are the access logs below the http level.
	logs []syntax.Visit
	// connections is the last worker_connections directive, or nil.
	connections *syntax.Visit
	// resolves reports whether a server of an upstream in the http block is resolved again while nginx runs.
	resolves bool
	// unixListens are the listen directives for unix sockets.
	unixListens []syntax.Visit
	problems    []instanceapi.Problem
}

func survey(user map[string]string, l layout) *findings {
	f := &findings{main: level{}, httpLevel: level{}}
	l.walk(user, func(v syntax.Visit) {
		if v.Loop {
			f.problem(v, "include cycle: "+v.File+" is already being read")
			return
		}
		f.visit(v, l)
	})
	return f
}

func (f *findings) visit(v syntax.Visit, l layout) {
	f.resolves = f.resolves || resolvesAgain(v)
	switch {
	case v.In():
		f.atMain(v, l)
	case v.In("http"):
		f.httpLevel[v.Name] = append(f.httpLevel[v.Name], v)
	case v.In("events") && v.Name == "worker_connections":
		f.connections = &v
	case v.TopBlockIs("http") && v.Name == "access_log" && slices.Contains(logContexts, v.Block().Name):
		f.logs = append(f.logs, v)
	case v.Name == "listen" && len(v.Args) > 0 && strings.HasPrefix(v.Args[0], "unix:"):
		f.unixListens = append(f.unixListens, v)
	}
}

// resolvesAgain reports whether a directive is a server of an upstream that nginx resolves again while it runs.
func resolvesAgain(v syntax.Visit) bool {
	return v.Name == "server" && v.TopBlockIs("http") && v.Block().Name == "upstream" && slices.Contains(v.Args, "resolve")
}

func (f *findings) problem(v syntax.Visit, message string) {
	f.problems = append(f.problems, instanceapi.Problem{File: v.File, Line: v.Line, Message: message})
}

func (f *findings) atMain(v syntax.Visit, l layout) {
	f.main[v.Name] = append(f.main[v.Name], v)
	if message := processProblem(v); message != "" {
		f.problem(v, message)
	}
	switch v.Name {
	case "http":
		f.http = &v
		if len(l.http) > 0 {
			f.problem(v, "this http block conflicts with the one that includes "+l.http[0]+": put everything in nginx.conf, or move the lines of this block to a *.conf file")
		}
	case "stream":
		if len(l.stream) > 0 {
			f.problem(v, "there is a stream block here, and "+l.stream[0]+" is included in another one: put everything into nginx.conf, or take the lines out of this block")
		}
	}
}

// processProblem returns why nginx's processes cannot run as the directive requests, or "" if they can.
func processProblem(v syntax.Visit) string {
	workers, numbered := number(&v)
	switch {
	case v.Name == "daemon" && !v.Is("daemon", "off"):
		return "nginx must run in the foreground: remove this directive"
	case v.Name == "master_process" && !v.Is("master_process", "on"):
		return "nginx cannot be reloaded without its master process: remove this directive"
	case v.Name == "worker_processes" && numbered && workers == 0:
		return "nginx would start no worker process and serve nothing: set a number from 1 on, or auto"
	case v.Name == "pid" && !stockPID(v.Directive):
		return "nginx-operator sets the path of the process ID file: remove this directive"
	}
	return ""
}

var stockPIDs = []string{
	"/run/nginx.pid", "/var/run/nginx.pid", "logs/nginx.pid", "/tmp/nginx.pid", "nginx.pid",
	"/run/nginx/nginx.pid", "/var/run/nginx/nginx.pid", "/opt/bitnami/nginx/tmp/nginx.pid", "/run/angie.pid", "/var/run/angie.pid",
	"/usr/local/openresty/nginx/logs/nginx.pid",
}

// stockPID reports whether the directive is the default pid file of an image or a package, which the user most likely
// did not choose.
func stockPID(d *syntax.Directive) bool {
	return slices.ContainsFunc(stockPIDs, func(path string) bool { return d.Is("pid", path) })
}

// workers returns the number of worker processes that nginx will start.
func (f *findings) workers(automatic int) int {
	text := f.main.last("worker_processes")
	if text == "" || text == "auto" {
		return automatic
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return number
}
