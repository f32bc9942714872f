// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// callKind is the second part of the keys of calls, which are UID/model/CALL/ATTEMPT and UID/tool/CALL/ID.
type callKind string

const (
	modelCallKind callKind = "/model"
	toolCallKind  callKind = "/tool"
)

// rowKey returns the key of a call in its row, which has the number of the agent: /CALL/ATTEMPT for the agent's own
// calls, and the whole key for any other form.
func (k callKind) rowKey(agent, key string) string {
	if rest, ok := strings.CutPrefix(key, agent+string(k)); ok && strings.HasPrefix(rest, ledger.KeySeparator) {
		return text(rest)
	}
	return text(key)
}

func (w *where) hasKey(kind callKind, key string) {
	agent, _, _ := strings.Cut(key, ledger.KeySeparator)
	w.conditions = append(w.conditions, "(agent = "+agentID(w.arg(text(agent)))+" AND row_key = "+w.arg(kind.rowKey(agent, key))+
		" OR substr(row_key, 1, 1) <> '/' AND row_key = "+w.arg(text(key))+")")
}

// agentID returns an expression for the number of the agent whose UID is an argument.
func agentID(arg string) string { return "(SELECT id FROM agents WHERE uid = " + arg + ")" }

func (w *where) ofAgent(uid string) {
	if uid != "" {
		w.conditions = append(w.conditions, "agent = "+agentID(w.arg(text(uid))))
	}
}
