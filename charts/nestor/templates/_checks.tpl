{{- /* What values.schema.json cannot say in words that help. */}}
{{- define "nestor.checks" -}}
{{- $sqlite := not (include "nestor.postgres" .) }}
{{- if and $sqlite (gt (int .Values.replicas) 1) }}
{{- fail (printf "replicas is %d, but a SQLite ledger is a file that one operator writes: set replicas to 1, or ledger.postgres.existingSecret to use PostgreSQL" (int .Values.replicas)) }}
{{- end }}
{{- if and $sqlite .Values.autoscaling.enabled }}
{{- fail "autoscaling.enabled is true, but a SQLite ledger is a file that one operator writes: set ledger.postgres.existingSecret to use PostgreSQL" }}
{{- end }}
{{- $most := int (ternary .Values.autoscaling.maxReplicas .Values.replicas .Values.autoscaling.enabled) }}
{{- $shards := regexFind "--shards=[0-9]+" (join " " .Values.extraArgs) | trimPrefix "--shards=" | default "32" | int }}
{{- if and (not $sqlite) (gt $most $shards) }}
{{- fail (printf "%d replicas share %d shards, so some would have nothing to do: set --shards=%d or more in extraArgs" $most $shards $most) }}
{{- end }}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) }}
{{- fail "autoscaling.minReplicas is greater than autoscaling.maxReplicas" }}
{{- end }}
{{- if and $sqlite (eq .Values.ledger.sqlite.volume "Ephemeral") .Values.ledger.sqlite.existingClaim }}
{{- fail "ledger.sqlite.volume is Ephemeral, so the ledger is in the pod, and ledger.sqlite.existingClaim names a volume: choose one" }}
{{- end }}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) }}
{{- fail "serviceAccount.create is false: name the operator's service account in serviceAccount.name, since the policies must know it" }}
{{- end }}
{{- if and .Values.web.ingress.enabled (not .Values.web.enabled) }}
{{- fail "web.ingress.enabled needs the web page: set web.enabled" }}
{{- end }}
{{- if and .Values.web.ingress.enabled (not .Values.web.ingress.host) }}
{{- fail "web.ingress.enabled needs the page's host name: set web.ingress.host" }}
{{- end }}
{{- if and .Values.web.ingress.enabled (not .Values.web.ingress.tlsSecretName) (not .Values.web.tlsElsewhere) }}
{{- fail "people send their tokens to the web page, so it must be reached over TLS: set web.ingress.tlsSecretName, or web.tlsElsewhere if something before the Ingress speaks TLS" }}
{{- end }}
{{- if and .Values.web.enabled (ne .Values.web.service.type "ClusterIP") (not .Values.web.tlsElsewhere) }}
{{- fail (printf "people send their tokens to the web page, so it must be reached over TLS, which a Service of type %s does not speak: %sset web.tlsElsewhere if something before it speaks TLS" .Values.web.service.type (ternary "" "use web.ingress, or " .Values.web.ingress.enabled)) }}
{{- end }}
{{- with .Values.web.oidc }}
{{- if and .issuer (or (not $.Values.web.enabled) (not .clientID) (not .existingSecret) (not (include "nestor.webURL" $))) }}
{{- fail "web.oidc.issuer needs the web page, its URL, a client and keys for sessions: set web.enabled, web.url (or web.ingress), web.oidc.clientID and web.oidc.existingSecret" }}
{{- end }}
{{- end }}
{{- if and .Values.gateway.enabled (not .Values.history.enabled) }}
{{- fail "gateway.enabled needs the history API, whose certificate and transcripts the gateway uses: set history.enabled" }}
{{- end }}
{{- range .Values.triggers.watch }}
{{- range .resources }}
{{- if or (eq . "secrets") (contains "*" .) (contains "/" .) }}
{{- fail (printf "triggers.watch must not contain %s: triggers never see Secrets, so name each resource, without subresources" .) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) }}
{{- fail "metrics.serviceMonitor.enabled needs metrics: set metrics.enabled" }}
{{- end }}
{{- if and .Values.metrics.prometheusRule.enabled (not .Values.metrics.enabled) }}
{{- fail "metrics.prometheusRule.enabled has alerts on metrics: set metrics.enabled" }}
{{- end }}
{{- if and .Values.telemetry.captureContent (not .Values.telemetry.endpoint) }}
{{- fail "telemetry.captureContent says what traces have, but they go nowhere: set telemetry.endpoint" }}
{{- end }}
{{- if and .Values.modelProvider.create (not .Values.modelProvider.baseURL) (has .Values.modelProvider.spec.api (list "OpenAI" "OpenAIResponses")) }}
{{- fail "modelProvider.create needs an endpoint: set modelProvider.baseURL, such as https://api.openai.com/v1, or modelProvider.spec.api to Anthropic, Gemini, Bedrock or Vertex" }}
{{- end }}
{{- if and .Values.modelProvider.apiKey .Values.modelProvider.existingSecret.name }}
{{- fail "modelProvider.apiKey and modelProvider.existingSecret.name both give the key: choose one" }}
{{- end }}
{{- if and .Values.modelProvider.apiKey (not .Values.modelProvider.create) }}
{{- fail "modelProvider.apiKey is set, but no ModelProvider is made: set modelProvider.create" }}
{{- end }}
{{- end }}
