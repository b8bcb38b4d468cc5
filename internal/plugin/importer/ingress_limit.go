package importer

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// limitRequests returns the reader of a number of requests in a time.
func limitRequests(unit string) func(*annotationReader, string) (Outcome, string) {
	return func(a *annotationReader, value string) (Outcome, string) {
		factor := cmp.Or(a.settings.values["limit-burst-multiplier"], "5")
		rate, errRate := strconv.Atoi(value)
		times, errTimes := strconv.Atoi(factor)
		if errRate != nil || errTimes != nil || rate <= 0 || times <= 0 {
			return NotCarried, "the value is not a number of requests"
		}
		key, ok := a.limitKey()
		if !ok {
			return NotCarried, "limit-whitelist is not a list of networks"
		}
		zone := a.settings.id + map[string]string{"r/s": "_rps", "r/m": "_rpm"}[unit]
		a.importer.http = append(a.importer.http, fmt.Sprintf("limit_req_zone %s zone=%s:5m rate=%d%s;", key, zone, rate, unit))
		statement := fmt.Sprintf("limit_req zone=%s burst=%d nodelay", zone, rate*times)
		a.settings.location = append(a.settings.location, statement+";")
		return Changed, statement + " in each pod"
	}
}

func limitConnections(a *annotationReader, value string) (Outcome, string) {
	key, ok := a.limitKey()
	if !number.MatchString(value) || !ok {
		return NotCarried, "the value is not a number, or limit-whitelist is not a list of networks"
	}
	zone := a.settings.id + "_conn"
	a.importer.http = append(a.importer.http, fmt.Sprintf("limit_conn_zone %s zone=%s:5m;", key, zone))
	statement := "limit_conn " + zone + " " + value
	a.settings.location = append(a.settings.location, statement+";")
	return Changed, statement + " in each pod"
}

// limitKey returns the key by which clients are limited. It is empty for those of limit-whitelist, which nginx does not limit.
func (a *annotationReader) limitKey() (string, bool) {
	list := cmp.Or(a.settings.values["limit-allowlist"], a.settings.values["limit-whitelist"])
	if list == "" {
		return "$binary_remote_addr", true
	}
	id := a.settings.id
	key := "$limit_key_" + id
	if a.settings.values["limit key"] != "" {
		return key, true
	}
	entries := []string{"default 1;"}
	for network := range strings.SplitSeq(list, ",") {
		network = strings.TrimSpace(network)
		if _, err := netip.ParsePrefix(network); err != nil {
			return "", false
		}
		entries = append(entries, network+" 0;")
	}
	a.settings.values["limit key"] = "declared"
	a.importer.http = append(a.importer.http,
		fmt.Sprintf("geo $limited_%s { %s }", id, strings.Join(entries, " ")),
		fmt.Sprintf("map $limited_%s %s { 0 \"\"; 1 $binary_remote_addr; }", id, key))
	return key, true
}
