// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/tool"
)

// outputSchema returns the schema of the data that an agent submits, prepared for submit_result: that of its own
// object, otherwise that of its role. It is nil if there is none.
func outputSchema(name string, definition role.Role, own *runtime.RawExtension) (json.RawMessage, error) {
	if own == nil {
		own = definition.OutputSchema
	}
	if own == nil {
		return nil, nil
	}
	prepared, err := tool.OutputSchema(own.Raw)
	if err != nil {
		// The schema of a task is checked before its sub-agent is created.
		return nil, &resolve.Missing{Reason: v1beta1.ReasonInvalidSpec, Message: fmt.Sprintf("The outputSchema of the role %s cannot be used: %s.", name, err)}
	}
	return prepared, nil
}
