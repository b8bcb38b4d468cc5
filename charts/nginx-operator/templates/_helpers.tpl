{{- define "nginx-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "nginx-operator.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "nginx-operator.args" -}}
{{- $args := list }}
{{- if .Values.watchNamespaces }}
{{- $args = append $args (printf "--namespaces=%s" (join "," .Values.watchNamespaces)) }}
{{- $args = append $args "--conversion-webhook=false" }}
{{- end }}
{{- if or .Values.watchNamespaces (not .Values.metrics.enabled) }}
{{- $args = append $args "--metrics-bind-address=0" }}
{{- end }}
{{- if ne .Values.logLevel "info" }}
{{- $args = append $args (printf "--log-level=%s" .Values.logLevel) }}
{{- end }}
{{- $names := list }}
{{- range .Values.imagePullSecrets }}
{{- $names = append $names .name }}
{{- end }}
{{- if $names }}
{{- $args = append $args (printf "--image-pull-secrets=%s" (join "," $names)) }}
{{- end }}
{{- if ne .Values.platform "auto" }}
{{- $args = append $args (printf "--platform=%s" .Values.platform) }}
{{- end }}
{{- concat $args .Values.extraArgs | toYaml }}
{{- end }}

{{- define "nginx-operator.consoleArgs" -}}
{{- $args := list "console" }}
{{- if .Values.console.insecureHTTP }}
{{- $args = append $args "--insecure-http" }}
{{- end }}
{{- if .Values.console.hosts }}
{{- $args = append $args (printf "--hosts=%s" (join "," .Values.console.hosts)) }}
{{- end }}
{{- if .Values.console.clusterName }}
{{- $args = append $args (printf "--cluster-name=%s" .Values.console.clusterName) }}
{{- end }}
{{- if ne .Values.logLevel "info" }}
{{- $args = append $args (printf "--log-level=%s" .Values.logLevel) }}
{{- end }}
{{- toYaml $args }}
{{- end }}
