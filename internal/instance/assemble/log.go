package assemble

// logName is the format's name and the tag of its lines.
const logName = "nginx_operator"

// logFormat has what package requestlog reads. Its fields are separated by tabs, which
// nginx escapes inside of variables.
const logFormat = `log_format ` + logName + ` escape=default ` +
	`"$status\t$request_method\t$request_time\t$bytes_sent\t$request_length\t$server_name\t$upstream_response_time"`

func accessLog(s Settings) string {
	return "access_log syslog:server=unix:" + LogSocket(s.StateDir) + ",nohostname,tag=" + logName + " " + logName
}

// StatusSocket is where nginx answers the instance.
func StatusSocket(stateDir string) string { return stateDir + "/status.sock" }

// LogSocket is where nginx sends the log of requests.
func LogSocket(stateDir string) string { return stateDir + "/log.sock" }
