// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
)

// observers are the progress callbacks of calls, by token. Progress does not extend a call's time limit.
type observers struct {
	mu      sync.Mutex
	last    int
	byToken map[string]func(tool.Progress)
}

// observe registers a callback and returns its token and the function that removes it.
func (o *observers) observe(observer func(tool.Progress)) (token string, forget func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byToken == nil {
		o.byToken = map[string]func(tool.Progress){}
	}
	o.last++
	token = strconv.Itoa(o.last)
	o.byToken[token] = observer
	return token, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.byToken, token)
	}
}

// notify passes a notification to the callback of its call. It holds the lock, so that no callback runs after its
// call returned.
func (o *observers) notify(params *sdk.ProgressNotificationParams) {
	token, ok := params.ProgressToken.(string)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if observer, ok := o.byToken[token]; ok {
		observer(tool.Progress{Done: params.Progress, Total: params.Total, Message: params.Message})
	}
}
