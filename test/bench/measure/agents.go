// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nestor-dev/nestor/test/bench/drive"
)

const ours = "/apis/nestor.dev/v1beta1/namespaces/default/"

// agentRate measures how many agents per second the API server can start and end: with the writes of an agent of five
// tool turns, made by the same users and with as many watches as in a scenario, but without any work. No operator
// that makes these writes can be faster.
func agentRate(ctx context.Context, person, operator *drive.Client, name string, each time.Duration) (float64, error) {
	watching, stop := context.WithCancel(ctx)
	watchers, watching := errgroup.WithContext(watching)
	watch := func(client *drive.Client, kind string) {
		watchers.Go(func() error {
			events, err := client.Open(watching, "/apis/nestor.dev/v1beta1/"+kind+"?watch=true")
			if err != nil {
				return err
			}
			defer events.Close()
			_, err = io.Copy(io.Discard, events)
			return err
		})
	}
	watch(person, "agenttasks")
	watch(operator, "agenttasks")
	watch(operator, "subagents")
	agents, err := rate(ctx, each, func(ctx context.Context, writer, turn int) error {
		return writeAgent(ctx, person, operator, fmt.Sprintf("%s-%d-%d", name, writer, turn))
	})
	stop()
	if stopped := watchers.Wait(); !errors.Is(stopped, context.Canceled) {
		err = errors.Join(err, stopped)
	}
	return agents, err
}

func writeAgent(ctx context.Context, person, operator *drive.Client, name string) error {
	const spec = `"type":"Agent","role":"worker","instruction":"Work."`
	task, err := person.Write(ctx, http.MethodPost, ours+"agenttasks", object("AgentTask", name, "", spec, ""))
	if err != nil {
		return err
	}
	subSpec := fmt.Sprintf(`"task":"%s","role":"worker","instruction":"Work.","depth":1,"limits":{"maxDepth":2,"maxIterations":1000,"maxDurationSeconds":86400}`, name)
	sub, err := operator.Write(ctx, http.MethodPost, ours+"subagents", object("SubAgent", name, owned("AgentTask", name, metadataField(task, "uid")), subSpec, ""))
	if err != nil {
		return err
	}
	at := version(task)
	if _, err := operator.Write(ctx, http.MethodPut, ours+"agenttasks/"+name+"/status", object("AgentTask", name, at, spec, taskStatus(name))); err != nil {
		return err
	}
	_, err = operator.Write(ctx, http.MethodPut, ours+"subagents/"+name+"/status", object("SubAgent", name, version(sub), subSpec, subAgentStatus()))
	return err
}

func object(kind, name, metadata, spec, status string) []byte {
	if status != "" {
		status = `,"status":{` + status + `}`
	}
	return fmt.Appendf(nil, `{"apiVersion":"nestor.dev/v1beta1","kind":"%s","metadata":{"name":"%s"%s},"spec":{%s}%s}`, kind, name, metadata, spec, status)
}

func version(answer []byte) string {
	return `,"resourceVersion":"` + resourceVersion(answer) + `"`
}

func owned(kind, name, uid string) string {
	return fmt.Sprintf(`,"labels":{"nestor.dev/role":"worker"},"ownerReferences":[{"apiVersion":"nestor.dev/v1beta1","kind":"%s","name":"%s","uid":"%s","controller":true,"blockOwnerDeletion":true}]`,
		kind, name, uid)
}

// ended is the common part of the statuses of a succeeded task and sub-agent.
const ended = `"iterations":6,"result":{"summary":"Work done."},"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:01Z",` +
	`"usage":{"promptTokens":921,"completionTokens":55,"totalTokens":976,"modelCalls":6},` +
	`"conditions":[{"type":"Succeeded","status":"True","reason":"Success","message":"The run ended with a result.","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:01Z"}]`

func taskStatus(name string) string {
	return ended + `,"phase":"Success","durationSeconds":1,"subAgent":"` + name + `"`
}

// subAgentStatus returns a status with as many messages and calls as that of an agent of five tool turns.
func subAgentStatus() string {
	var messages, calls []string
	for i := range 4 {
		messages = append(messages, fmt.Sprintf(`{"time":"2026-01-01T00:00:00Z","role":"Assistant","seq":%d}`, 5+2*i),
			fmt.Sprintf(`{"time":"2026-01-01T00:00:00Z","role":"Tool","seq":%d,"toolCall":"call_3sw1nfb146qt5_%d","content":"21"}`, 6+2*i, i))
	}
	for i := range 6 {
		calls = append(calls, fmt.Sprintf(`{"id":"call_3sw1nfb146qt5_%d","tool":"calculator","arguments":{"expression":"%[1]d * 7"},"phase":"Success","result":"21","time":"2026-01-01T00:00:00Z"}`, i))
	}
	return ended + `,"phase":"Completed","messages":[` + strings.Join(messages, ",") + `],"toolCalls":[` + strings.Join(calls, ",") + `]`
}
