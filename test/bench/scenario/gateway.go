// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nestor-dev/nestor/test/bench/drive"
	"github.com/nestor-dev/nestor/test/bench/report"
)

// gatewayRuns is the number of runs over each API.
const gatewayRuns = 100

// Gateway compares short runs over the OpenAI door with the same runs over the Kubernetes API. The runs alternate, one
// at a time, so that both are measured at the same machine load.
func Gateway(runs int) Scenario {
	s := Scenario{
		Name: "gateway", Agents: 2 * runs, Tool: CalculatorTool, warm: "Success", gateway: true,
		Title: fmt.Sprintf(
			"%d runs of one model call over the OpenAI door, and as many over the Kubernetes API, by turns", runs),
		script: head(0) + chain +
			`- {match: {lastMessage: '/^Work/'}, reply: {toolCalls: [{name: submit_result, arguments: {result: Work done.}}]}}` +
			"\n",
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		began := time.Now()
		token, err := r.stack.Token(ctx, namespace, "program", "nestor-runner")
		if err == nil {
			user := "system:serviceaccount:" + namespace + ":program"
			err = r.stack.AwaitRole(ctx, namespace, user, "nestor-runner")
		}
		if err != nil {
			return err
		}
		all := &samples{values: map[string][]float64{}}
		for i := range runs + gatewayWarmUps {
			overAPI, err := r.runOverAPI(ctx, i)
			if err != nil {
				return err
			}
			overDoor, err := r.runOverDoor(ctx, token)
			if err != nil {
				return err
			}
			if i >= gatewayWarmUps {
				all.add([]sample{{report.LatencyOverAPI, overAPI}, {report.LatencyOverDoor, overDoor}})
			}
		}
		result.WallSeconds = time.Since(began).Seconds()
		result.Latencies = all.distributions()
		api, door := result.Latencies[report.LatencyOverAPI], result.Latencies[report.LatencyOverDoor]
		result.Figures = append(result.Figures,
			report.Figure{Name: report.FigureDoor, Value: door.P95 - api.P95, Unit: "ms"},
			report.Figure{Name: "what the door adds to a run, p50", Value: door.P50 - api.P50, Unit: "ms"})
		return nil
	}
	return s
}

// gatewayWarmUps is the number of runs that are not counted: they open connections.
const gatewayWarmUps = 5

// runOverAPI creates a task and watches it until it has succeeded.
func (r *harness) runOverAPI(ctx context.Context, number int) (time.Duration, error) {
	name := fmt.Sprintf("direct-%d", number)
	body := fmt.Appendf(nil, `{"apiVersion":"nestor.dev/v1beta1","kind":"AgentTask","metadata":{"name":%q},`+
		`"spec":{"type":"Agent","role":%q,"instruction":"Submit"}}`, name, workerRole)
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return r.api.Watch(ctx, tasksPath, func(o drive.Object) bool {
			return o.Metadata.Name == name && o.Status.Phase == "Success"
		})
	})
	group.Go(func() error {
		_, err := r.api.Write(ctx, http.MethodPost, tasksPath, body)
		return err
	})
	err := group.Wait()
	return time.Since(began), err
}

// runOverDoor runs the same over the OpenAI door.
func (r *harness) runOverDoor(ctx context.Context, token string) (time.Duration, error) {
	body := fmt.Appendf(nil, `{"model":"%s/%s","messages":[{"role":"user","content":"Submit"}]}`, namespace, workerRole)
	began := time.Now()
	url := r.stack.GatewayURL + "/v1/chat/completions"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("run over the door: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(text, []byte("Work done."))) {
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	if err != nil {
		return 0, fmt.Errorf("run over the door: %w", err)
	}
	return time.Since(began), nil
}
