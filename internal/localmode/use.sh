
# say TEXT: say something in the chat.
say() {
	nestor_text=$(printf '%s' "$*" | sed 's/\\/\\\\/g; s/"/\\"/g')
	printf '{"apiVersion":"nestor.dev/v1alpha1","kind":"AgentMessage","metadata":{"generateName":"%s-"},"spec":{"chat":"%s","content":"%s"}}' \
		"$NESTOR_CHAT" "$NESTOR_CHAT" "$nestor_text" | kubectl create -f -
}

# talk: show what was said in the chat.
talk() {
	kubectl get agentmessages -l "nestor.dev/chat=$NESTOR_CHAT" --sort-by=.metadata.creationTimestamp \
		-o go-template='{{range .items}}{{if .spec.content}}{{.spec.role}}: {{.spec.content}}{{"\n"}}{{end}}{{end}}'
}

# waiting: show what agents wait for.
waiting() {
	kubectl get agentchat "$NESTOR_CHAT" -o go-template='{{range .status.waiting}}{{.task}} waits ({{.kind}}): {{.text}}{{"\n"}}{{end}}'
}

# approve [TASK]: approve what a task wants to do, or all that wait.
approve() {
	nestor_user=$(kubectl auth whoami -o jsonpath='{.status.userInfo.username}')
	kubectl get agentchat "$NESTOR_CHAT" -o go-template='{{range .status.waiting}}{{if eq .kind "Approval"}}{{.task}} {{.argumentsDigest}} {{.toolCall}}{{"\n"}}{{end}}{{end}}' |
		while read -r nestor_task nestor_digest nestor_call; do
			[ -z "$1" ] || [ "$1" = "$nestor_task" ] || continue
			printf '{"apiVersion":"nestor.dev/v1alpha1","kind":"AgentMessage","metadata":{"generateName":"%s-"},"spec":{"chat":"%s","user":"%s","approval":{"task":"%s","toolCall":"%s","argumentsDigest":"%s","decision":"Approve"}}}' \
				"$NESTOR_CHAT" "$NESTOR_CHAT" "$nestor_user" "$nestor_task" "$nestor_call" "$nestor_digest" | kubectl create -f -
		done
}
