package badconfig

import "fmt"

func process() []sort {
	return []sort{
		{"daemon", owned("daemon", "run in the foreground", "on", "On", "ON")},
		{"master-process", owned("master_process", "its master process", "off", "Off", "OFF")},
		{"pid", owned("pid", "process ID", "/tmp/other.pid", "/run/web.pid", "web.pid", "/dev/null", "/no/such/folder/nginx.pid")},
		{"top-level", topLevel()},
	}
}

// owned returns directives that belong to the instance manager. If the instance manager does not
// check for them, nginx finds duplicates. Values that are common and harmless (daemon off, the pid
// file of the image) are not among them.
func owned(name, message string, values ...string) []Case {
	duplicate := fmt.Sprintf("%q directive is duplicate", name)
	var cases []Case
	for i := range 10 {
		text := fmt.Sprintf("%s%s %s;", mark, name, values[i%len(values)])
		if i%3 == 2 {
			cases = append(cases, found(whole(i, padding(i)+text+"\nevents {\n}\nhttp {\n"+healthy+"}"), duplicate, message))
			continue
		}
		cases = append(cases, found(inMain(i, text), duplicate, message))
	}
	return cases
}

func topLevel() []Case {
	return append(each(inMain,
		fault{mark + "worker_priority high;", "invalid"}, fault{mark + "worker_rlimit_nofile many;", "invalid number"},
		fault{mark + "worker_rlimit_core 1x;", "invalid value"}, fault{mark + "worker_shutdown_timeout soon;", "invalid value"},
		fault{mark + "timer_resolution 1q;", "invalid value"}, fault{mark + "worker_cpu_affinity 0102;", "invalid character"},
		fault{mark + "thread_pool a threads=0;", "invalid threads value"}, fault{mark + "debug_points crash;", `invalid value "crash"`},
		fault{mark + "pcre_jit 1;", `invalid value "1"`}),
		each(inEvents, fault{mark + "worker_connections many;", "invalid number"}, fault{mark + "use windows;", `invalid event type "windows"`},
			fault{mark + "multi_accept 1;", `invalid value "1"`})...)
}
