// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

type modelRequest struct {
	At             time.Time
	Status         int
	Error          string
	IdempotencyKey string
}

func (c *cluster) addScript(ctx context.Context, script string) {
	GinkgoHelper()
	Expect(c.core.CoreV1().RESTClient().Post().Namespace(modelNamespace).Resource("services").Name("scripted-model:http").
		SubResource("proxy").Suffix("_scripted", "script").Body([]byte(script)).Do(ctx).Error()).To(Succeed())
}

// requests returns the model's requests of agents whose UID has a prefix.
func (c *cluster) requests(ctx context.Context, prefix string) []modelRequest {
	GinkgoHelper()
	text, err := c.core.CoreV1().RESTClient().Get().Namespace(modelNamespace).Resource("services").Name("scripted-model:http").
		SubResource("proxy").Suffix("_scripted", "requests").Param("key", prefix).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	var record struct{ Requests []modelRequest }
	Expect(json.Unmarshal(text, &record)).To(Succeed())
	return record.Requests
}
