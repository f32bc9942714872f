// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// health runs a health check in Argo CD's Lua interpreter and by its contract: the object is obj, and the script
// returns a table with a status. Argo CD itself is not used; it opens fewer Lua libraries, but the script needs only
// the basic one.
func health(script string, object map[string]any) (string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	lua.OpenBase(state)
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(script); err != nil {
		return "", fmt.Errorf("run the script: %w", err)
	}
	answer, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", errors.New("the script returns no table")
	}
	switch status := lua.LVAsString(answer.RawGetString("status")); status {
	case "Healthy", "Progressing", "Degraded", "Suspended":
		return status, nil
	default:
		return "", fmt.Errorf("Argo CD has no status %q", status)
	}
}

// value converts a part of an object for Lua.
func value(state *lua.LState, part any) lua.LValue {
	switch v := part.(type) {
	case map[string]any:
		table := state.NewTable()
		for name, field := range v {
			table.RawSetString(name, value(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(value(state, item))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}
