package importer

import (
	"fmt"
	"regexp"
	"strings"
)

// directive is the directive that an annotation stands for.
type directive struct {
	// format is the directive, with the value, and value matches the values that it may have.
	format string
	value  *regexp.Regexp
	// inServer is set if it belongs into the server block, and onOff if "true" means "on".
	inServer, onOff bool
}

var (
	number   = regexp.MustCompile(`^[0-9]+$`)
	duration = regexp.MustCompile(`^[0-9]+(ms|s|m|h)?$`)
	size     = regexp.MustCompile(`^[0-9]+[kKmMgG]?$`)
	oneWord  = regexp.MustCompile(`^[^\s;{}"'\\]+$`)
	words    = regexp.MustCompile(`^[^;{}"'\\]+$`)
	boolean  = regexp.MustCompile(`^(true|false|on|off)$`)
)

// directives are the annotations with one directive as their counterpart.
var directives = map[string]directive{
	"proxy-body-size":             {format: "client_max_body_size %s", value: size},
	"client-body-buffer-size":     {format: "client_body_buffer_size %s", value: size},
	"proxy-connect-timeout":       {format: "proxy_connect_timeout %ss", value: number},
	"proxy-send-timeout":          {format: "proxy_send_timeout %ss", value: number},
	"proxy-read-timeout":          {format: "proxy_read_timeout %ss", value: number},
	"proxy-next-upstream":         {format: "proxy_next_upstream %s", value: words},
	"proxy-next-upstream-timeout": {format: "proxy_next_upstream_timeout %s", value: duration},
	"proxy-next-upstream-tries":   {format: "proxy_next_upstream_tries %s", value: number},
	"proxy-request-buffering":     {format: "proxy_request_buffering %s", value: boolean, onOff: true},
	"proxy-buffering":             {format: "proxy_buffering %s", value: boolean, onOff: true},
	"proxy-buffer-size":           {format: "proxy_buffer_size %s", value: size},
	"proxy-busy-buffers-size":     {format: "proxy_busy_buffers_size %s", value: size},
	"proxy-max-temp-file-size":    {format: "proxy_max_temp_file_size %s", value: size},
	"proxy-cookie-domain":         {format: "proxy_cookie_domain %s", value: words},
	"proxy-cookie-path":           {format: "proxy_cookie_path %s", value: words},
	"proxy-http-version":          {format: "proxy_http_version %s", value: regexp.MustCompile(`^1\.[01]$`)},
	"proxy-ssl-ciphers":           {format: "proxy_ssl_ciphers %s", value: oneWord},
	"proxy-ssl-name":              {format: "proxy_ssl_name %s", value: oneWord},
	"proxy-ssl-protocols":         {format: "proxy_ssl_protocols %s", value: words},
	"proxy-ssl-verify":            {format: "proxy_ssl_verify %s", value: boolean, onOff: true},
	"proxy-ssl-verify-depth":      {format: "proxy_ssl_verify_depth %s", value: number},
	"proxy-ssl-server-name":       {format: "proxy_ssl_server_name %s", value: boolean, onOff: true},
	"satisfy":                     {format: "satisfy %s", value: regexp.MustCompile(`^(all|any)$`)},
	"limit-rate":                  {format: "limit_rate %sk", value: number},
	"limit-rate-after":            {format: "limit_rate_after %sk", value: number},
	"enable-rewrite-log":          {format: "rewrite_log %s", value: boolean, onOff: true},
	"ssl-ciphers":                 {format: "ssl_ciphers %s", value: oneWord, inServer: true},
	"ssl-prefer-server-ciphers":   {format: "ssl_prefer_server_ciphers %s", value: boolean, onOff: true, inServer: true},
}

// read adds the directive to the settings.
func (d directive) read(s *settings, value string) (Outcome, string) {
	if !d.value.MatchString(value) {
		return NotCarried, "the value is not one that nginx accepts"
	}
	if d.onOff {
		value = strings.NewReplacer("true", "on", "false", "off").Replace(value)
	}
	statement := fmt.Sprintf(d.format, value)
	if d.inServer {
		s.tls = append(s.tls, statement+";")
	} else {
		s.location = append(s.location, statement+";")
	}
	return Changed, statement
}

// unsupported are annotations without a counterpart, with what to do instead.
var unsupported = map[string]string{
	"affinity":                                 "open-source nginx has no sticky cookies: use ip_hash or hash in an upstream of the endpoints (a headless Service), or sessionAffinity of the Service",
	"affinity-mode":                            "see affinity",
	"affinity-canary-behavior":                 "see affinity",
	"upstream-hash-by":                         "the upstream is the Service, which chooses the pod: use a headless Service and hash in an upstream",
	"upstream-hash-by-subset":                  "see upstream-hash-by",
	"upstream-hash-by-subset-size":             "see upstream-hash-by",
	"load-balance":                             "the upstream is the Service, which chooses the pod: use a headless Service and another method in an upstream",
	"canary-by-header":                         "see canary",
	"canary-by-header-value":                   "see canary",
	"canary-by-header-pattern":                 "see canary",
	"canary-by-cookie":                         "see canary",
	"canary-weight":                            "see canary",
	"canary-weight-total":                      "see canary",
	"ssl-passthrough":                          "use ssl_preread in a *.stream.conf file, on a port of its own, because the backend sees the TLS connection itself",
	"custom-http-errors":                       "use error_page and proxy_intercept_errors in the configuration",
	"default-backend":                          "use error_page and proxy_intercept_errors in the configuration",
	"custom-headers":                           "the headers are in a ConfigMap of the controller: use add_header in the configuration",
	"mirror-target":                            "use mirror and an internal location in the configuration",
	"mirror-request-body":                      "see mirror-target",
	"mirror-host":                              "see mirror-target",
	"enable-modsecurity":                       "the module is not part of nginx: use an image with it, and modsecurity on in the configuration",
	"enable-owasp-core-rules":                  "see enable-modsecurity",
	"modsecurity-snippet":                      "see enable-modsecurity",
	"modsecurity-transaction-id":               "see enable-modsecurity",
	"enable-opentelemetry":                     "use an image with the module, and otel_trace in the configuration",
	"opentelemetry-trust-incoming-span":        "see enable-opentelemetry",
	"opentelemetry-operation-name":             "see enable-opentelemetry",
	"enable-opentracing":                       "the module is no longer maintained: use OpenTelemetry",
	"enable-influxdb":                          "the module is no longer maintained: use the metrics of port 9113",
	"http2-push-preload":                       "nginx 1.25.1 removed server push",
	"auth-cache-key":                           "use proxy_cache in the location of the authentication",
	"auth-cache-duration":                      "use proxy_cache in the location of the authentication",
	"auth-keepalive":                           "use an upstream with keepalive for the authentication",
	"auth-keepalive-requests":                  "use an upstream with keepalive for the authentication",
	"auth-keepalive-timeout":                   "use an upstream with keepalive for the authentication",
	"auth-keepalive-share-vars":                "use an upstream with keepalive for the authentication",
	"auth-always-set-cookie":                   "use auth_request_set and add_header in the configuration",
	"auth-proxy-set-headers":                   "the headers are in a ConfigMap: use proxy_set_header in the location of the authentication",
	"enable-global-auth":                       "the address of the global authentication is in the ConfigMap of the controller (global-auth-url): pass it, too, and import again",
	"secure-backends":                          "use backend-protocol: HTTPS",
	"global-rate-limit":                        "limits are those of each pod: use limit-rps",
	"proxy-ssl-secret":                         "mount the Secret with spec.tls, and use proxy_ssl_certificate and proxy_ssl_trusted_certificate",
	"fastcgi-params-configmap":                 "use fastcgi_param in the configuration",
	"auth-tls-error-page":                      "use error_page 495 496 in the configuration",
	"session-cookie-name":                      "see affinity",
	"session-cookie-path":                      "see affinity",
	"session-cookie-domain":                    "see affinity",
	"session-cookie-expires":                   "see affinity",
	"session-cookie-max-age":                   "see affinity",
	"session-cookie-samesite":                  "see affinity",
	"session-cookie-secure":                    "see affinity",
	"session-cookie-change-on-failure":         "see affinity",
	"session-cookie-conditional-samesite-none": "see affinity",
}
