{{- /* The head of a policy: dict "root", "name" (a resource, unless "resource" is another one) and "operations". Validations follow. */}}
{{- define "nestor.policyHead" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ include "nestor.fullname" .root }}-{{ .name }}
  labels:
    {{- include "nestor.labels" .root | nindent 4 }}
    app.kubernetes.io/component: policies
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [nestor.dev]
        apiVersions: ["*"]
        operations: [{{ join ", " .operations }}]
        resources: [{{ default .name .resource | quote }}]
  # The operator may do all of this; so may those that restore what it has done.
  matchConditions:
    - name: not-the-operator
      expression: {{ printf "!(request.userInfo.username in %s)" (prepend .root.Values.policies.exemptUsers (include "nestor.operatorUser" .root) | toJson) | quote }}
{{- end }}

{{- /* What puts a policy to work: dict "root" and "name". */}}
{{- define "nestor.policyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ include "nestor.fullname" .root }}-{{ .name }}
  labels:
    {{- include "nestor.labels" .root | nindent 4 }}
    app.kubernetes.io/component: policies
spec:
  policyName: {{ include "nestor.fullname" .root }}-{{ .name }}
  validationActions: [Deny]
  {{- with .root.Values.watchNamespaces }}
  matchResources:
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: In
          values: {{ append . $.root.Release.Namespace | uniq | toJson }}
  {{- end }}
{{- end }}

{{- /* The Secret and the claim that the workspace of a chat or task names, and whether the requester may read them. */}}
{{- define "nestor.workspaceVariables" -}}
- name: workspaceSecret
  expression: "request.operation == 'DELETE' ? '' : object.?spec.?workspace.?git.?secretName.orValue('')"
- name: workspaceClaim
  expression: "request.operation == 'DELETE' ? '' : object.?spec.?workspace.?persistentVolumeClaim.?claimName.orValue('')"
{{- end }}

{{- /* dict "when": the CEL condition under which the requester must have the permissions; "in": the field that contains workspace. */}}
{{- define "nestor.workspaceValidations" -}}
- expression: >-
    !({{ .when }}) || variables.workspaceSecret == '' ||
    authorizer.group('').resource('secrets').namespace(request.namespace).name(variables.workspaceSecret).check('get').allowed()
  reason: Forbidden
  messageExpression: >-
    '{{ .in | default "spec" }}.workspace.git.secretName: you may not get the Secret ' + variables.workspaceSecret + ', so agents may not use it for you: ask for the right to get it, or leave it out'
- expression: >-
    !({{ .when }}) || variables.workspaceClaim == '' ||
    authorizer.group('').resource('persistentvolumeclaims').namespace(request.namespace).name(variables.workspaceClaim).check('get').allowed()
  reason: Forbidden
  messageExpression: >-
    '{{ .in | default "spec" }}.workspace.persistentVolumeClaim.claimName: you may not get the PersistentVolumeClaim ' + variables.workspaceClaim + ', so agents may not use it for you: ask for the right to get it'
{{- end }}

{{- /* Whether the requester may remove what the operator has made: administrators, the garbage collector and the namespace controller. */}}
{{- define "nestor.mayDelete" -}}
- name: mayDelete
  expression: authorizer.group('nestor.dev').resource('subagents').namespace(request.namespace).check('delete').allowed()
{{- end }}

{{- /* Who may vouch for content: dict "resource", "when" (an expression) and "field". */}}
{{- define "nestor.trustValidation" -}}
- expression: >-
    !({{ .when }}) ||
    authorizer.group('nestor.dev').resource('{{ .resource }}').namespace(request.namespace).name(object.metadata.?name.orValue('')).check('trust').allowed()
  reason: Forbidden
  message: "{{ .field }}: you may not trust this object: ask for the verb trust on {{ .resource }}, or leave {{ .field }} out"
{{- end }}

{{- /* The Secrets that the receivers of notifications name, if the requester sets or changes these. */}}
{{- define "nestor.notifyVariables" -}}
- name: receivers
  expression: >-
    request.operation == 'DELETE' || (request.operation == 'UPDATE' && object.?spec.?notify == oldObject.?spec.?notify) ? [] :
    object.?spec.?notify.orValue([])
- name: notifySecrets
  expression: >-
    (variables.receivers.map(r, r.?webhook.?urlKeyRef.?name.orValue('')) + variables.receivers.map(r, r.?webhook.?secretKeyRef.?name.orValue('')) +
    variables.receivers.map(r, r.?slack.?urlKeyRef.?name.orValue(''))).filter(name, name != '')
{{- end }}

{{- /* One validation for each Secret of at most four receivers, because an expression may ask the authorizer only twice. */}}
{{- define "nestor.notifyValidations" -}}
{{- range $i := until 8 }}
- expression: >-
    size(variables.notifySecrets) <= {{ $i }} ||
    authorizer.group('').resource('secrets').namespace(request.namespace).name(variables.notifySecrets[{{ $i }}]).check('get').allowed()
  reason: Forbidden
  messageExpression: >-
    'spec.notify: you may not get the Secret ' + variables.notifySecrets[{{ $i }}] + ', so notifications may not use it for you: ask for the right to get it'
{{- end }}
{{- end }}
