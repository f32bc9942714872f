// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

// turn draws the path of a message from a person to the answer.
func turn() *drawing {
	d := &drawing{
		file: "turn.svg", title: "A turn",
		description: "A person creates an AgentMessage. The operator appends the event and the intent of a model call to the ledger, calls the model, appends the reply and the intents of tool calls, " +
			"runs the tools, appends their results, and calls the model again until it answers. The answer is an AgentMessage.",
	}
	const person, api, operator, ledger, model, tool = 0, 1, 2, 3, 4, 5
	d.sequence(
		[]lane{{"box", "Person", "or a program"}, {"box", "API server", "permissions, policies"}, {"operator", "Operator", "controllers, engine"}, {"store", "Ledger", "SQL"}, {"box", "Model", "a provider"}, {"box", "Tool", "or a sub-agent"}},
		[]step{
			{person, api, "create AgentMessage"},
			{api, operator, "watch"},
			{operator, ledger, "append: message,|intent of the call"},
			{operator, model, "request: conversation, tools"},
			{model, operator, "reply, streamed"},
			{operator, ledger, "append: reply,|intents of its calls"},
			{operator, tool, "tool call, or a task"},
			{tool, operator, "result"},
			{operator, ledger, "append: result"},
			{operator, api, "AgentMessage, status"},
			{api, person, "watch: the answer"},
		},
		[]band{{2, "one iteration: repeated until a reply calls no tool"}, {9, "a killed operator continues after the last append"}})
	return d
}

// approval draws how a tool call waits for a person.
func approval() *drawing {
	d := &drawing{
		file: "approval.svg", title: "An approval",
		description: "A model asks for a tool call that needs approval. The operator records that the call waits, and shows tool, arguments and digest in the status. A person creates an AgentMessage with the decision and the digest. " +
			"The API server checks the permissions and the author; the operator checks that the call still waits, the digest and the separation of duties, records the decision, and runs or refuses the call.",
	}
	const model, operator, ledger, api, person = 0, 1, 2, 3, 4
	d.sequence(
		[]lane{{"box", "Model", "a provider"}, {"operator", "Operator", "controllers, engine"}, {"store", "Ledger", "SQL"}, {"box", "API server", "permissions, policies"}, {"box", "Person", "with own permissions"}},
		[]step{
			{model, operator, "reply: call write"},
			{operator, ledger, "append: it waits"},
			{operator, api, "status.waiting: tool, arguments, digest"},
			{api, person, "exact arguments"},
			{person, api, "AgentMessage:|decision, digest"},
			{api, api, "may create messages; author is spec.user"},
			{api, operator, "watch"},
			{operator, operator, "still waits? same digest? not a requester?"},
			{operator, ledger, "append: decision,|person, intent"},
			{operator, operator, "Approve: the tool runs. Deny: it does not."},
			{operator, ledger, "append: outcome"},
			{operator, model, "result, or the|denial and comment"},
		},
		[]band{{4, "while it waits: no goroutine, no slot; it survives restarts"}})
	return d
}

// stores draws the contents of etcd and of the ledger.
func stores() *drawing {
	d := &drawing{
		file: "ledger-and-etcd.svg", title: "etcd and the ledger", width: 960, height: 560,
		description: "etcd has the objects: spec is the intent, status a bounded view. The ledger has every event, model call and tool call. The operator folds the events of an agent into its state and projects the state to the status. " +
			"kubectl get reads etcd; the history API reads the ledger and checks the permissions of the caller with the API server.",
	}
	d.box("box", 30, 20, 900, 58, "People and programs", "kubectl · kubectl nestor · web page · GitOps")
	d.box("box", 30, 140, 380, 132, "etcd, behind the API server",
		"spec: what people want",
		"status: a bounded view of the state",
		"conditions, Events, owner references",
		"deleted with the chat; backed up with the cluster")
	d.box("store", 550, 140, 380, 132, "Ledger: SQLite or PostgreSQL",
		"events: an agent's state is their fold",
		"model calls and tool calls, byte for byte, with cost",
		"reservations of quotas, snapshots, shards",
		"kept for the retention time; backed up by you")
	d.arrow("both", "M220 80V138")
	d.text("note left", 232, 114, "get, watch, create")
	d.arrow("", "M740 138V80")
	d.text("note end", 728, 106, "history API: transcripts, modelcalls,")
	d.text("note end", 728, 124, "with the permissions of the caller")
	d.box("operator", 230, 380, 500, 106, "Operator",
		"1 append the event and the intents of its effects",
		"2 perform the effects: model calls, tool calls, child objects",
		"3 project the state to the status")
	d.arrow("", "M270 274V378")
	d.text("note left", 122, 338, "watch: new intent")
	d.arrow("", "M360 378V274")
	d.text("note left", 372, 338, "write: status, children")
	d.arrow("", "M600 378V274")
	d.text("note left", 612, 338, "append")
	d.arrow("", "M690 274V378")
	d.text("note left", 702, 338, "replay after a restart")
	d.text("", 480, 520, "Neither can be rebuilt from the other: back up both.")
	d.text("note", 480, 540, "After a restart the state, and with it the status, is computed from the events.")
	return d
}

// network draws the connections that a workspace's pod has.
func network() *drawing {
	d := &drawing{
		file: "workspace-network.svg", title: "The network of a workspace", width: 960, height: 560,
		description: "Only the operator may connect to the pod of a workspace, with the workspace's own token. The pod may connect only to the git server of its URL, at addresses that the operator resolved. " +
			"It reaches no name server, no metadata service, no API server and nothing else, unless workspace.egress lists it.",
	}
	d.box("operator", 30, 170, 220, 110, "Operator", "sends the tool calls", "of the agents, resolves the", "git server's name")
	d.box("core", 360, 30, 250, 390, "Pod of the workspace", "one for each chat or task", "")
	d.box("box", 380, 96, 210, 104, "clone", "runs first, then ends", "has the git credentials,", "which commands never see")
	d.box("box", 380, 216, 210, 122, "nestor-workspace", "read, write, patch, bash", "not root, no capabilities,", "read-only image,", "no service account token")
	d.text("note", 485, 366, "network policy of this pod:")
	d.text("note", 485, 384, "ingress from the operator,")
	d.text("note", 485, 402, "egress to the git server")
	d.arrow("", "M252 240H378")
	d.text("note", 306, 212, "MCP, with")
	d.text("note", 306, 230, "its own token")
	d.box("store", 710, 86, 220, 88, "Git server", "only the addresses that were", "resolved, at the URL's port")
	d.arrow("", "M612 130H708")
	for i, name := range []string{"Name servers", "Metadata service", "API server, other pods", "Internet"} {
		y := 206 + i*58
		d.box("box", 710, y, 220, 42, name)
		d.arrow("refused", bend(612, 277, 692, y+21))
	}
	d.box("box", 30, 340, 220, 62, "Other pods", "of the namespace")
	d.arrow("refused", "M252 371H338")
	d.text("", 480, 470, "workspace.egress of the chart adds destinations for all workspaces, such as a package registry and its name server.")
	d.text("note", 480, 492, "Without a git source there is no egress at all. Policies need a network plugin that enforces them.")
	d.text("note", 480, 512, "The namespace is the security boundary: who may create pods or Secrets in it can interfere with its workspaces.")
	return d
}
