// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// The fields that lists can be selected by.
const (
	// FieldName and FieldNamespace apply to all kinds.
	FieldName      = "metadata.name"
	FieldNamespace = "metadata.namespace"
	// FieldTranscriptKind, FieldTranscriptName and FieldTranscriptRoot select transcripts by the object of the agent and by
	// the root of the tree; FieldTranscriptLive=true selects those that have not ended.
	FieldTranscriptKind = "agent.kind"
	FieldTranscriptName = "agent.name"
	FieldTranscriptRoot = "agent.root"
	FieldTranscriptLive = "live"
	// FieldTranscriptSearch selects transcripts with an entry that contains all words of the value.
	FieldTranscriptSearch = "search"
	// FieldModelCallAgent selects model calls by the UID of their agent, FieldModelCallParent by the model call that started their
	// agents, the others by their own fields.
	FieldModelCallAgent  = "spec.agent"
	FieldModelCallParent = "spec.parent"
	FieldModelCallModel  = "spec.model"
	FieldModelCallPhase  = "status.phase"
	// FieldUsageBy selects usages by dimension; FieldUsageRole, FieldUsageChat and FieldUsageModel restrict what is summed.
	// FieldUsagePeriod divides the usages by time: Hour, Day or Month.
	FieldUsageBy     = "by"
	FieldUsageChat   = "chat"
	FieldUsageRole   = "role"
	FieldUsageModel  = "model"
	FieldUsagePeriod = "period"
	// FieldSince and FieldUntil bound when agents were created and calls started, as RFC 3339: since <= time < until.
	FieldSince = "since"
	FieldUntil = "until"
)

// fields are the fields that each kind can be selected by.
var fields = map[string][]string{
	"Transcript": {FieldName, FieldNamespace, FieldTranscriptKind, FieldTranscriptName, FieldTranscriptRoot, FieldTranscriptLive, FieldTranscriptSearch, FieldSince, FieldUntil},
	"ModelCall":  {FieldName, FieldNamespace, FieldModelCallAgent, FieldModelCallParent, FieldModelCallModel, FieldModelCallPhase, FieldSince, FieldUntil},
	"Usage":      {FieldName, FieldNamespace, FieldUsageBy, FieldUsageChat, FieldUsageRole, FieldUsageModel, FieldUsagePeriod, FieldSince, FieldUntil},
}

// addFieldLabels registers the fields of selectors with a scheme.
func addFieldLabels(scheme *runtime.Scheme) error {
	var errs []error
	for kind, known := range fields {
		errs = append(errs, scheme.AddFieldLabelConversionFunc(GroupVersion.WithKind(kind), func(label, value string) (string, string, error) {
			if !slices.Contains(known, label) {
				return "", "", fmt.Errorf("field selector %q: %ss can be selected by %s", label, kind, strings.Join(known, ", "))
			}
			return label, value, nil
		}))
	}
	return errors.Join(errs...)
}
