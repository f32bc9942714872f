// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/test/bench/drive"
)

// APIServer has metrics of the API server: its writes by verb and resource, and the size of its storage.
type APIServer struct {
	Writes       map[string]int64
	StorageBytes int64
}

// ReadAPIServer scrapes the API server.
func ReadAPIServer(ctx context.Context, client *drive.Client) (APIServer, error) {
	body, err := client.Open(ctx, "/metrics")
	if err != nil {
		return APIServer{}, fmt.Errorf("read the API server's metrics: %w", err)
	}
	defer body.Close()
	return parseMetrics(body)
}

// writeVerbs are the verbs that write, as the API server names them.
var writeVerbs = map[string]bool{"POST": true, "PUT": true, "PATCH": true, "APPLY": true, "DELETE": true, "DELETECOLLECTION": true}

func parseMetrics(body io.Reader) (APIServer, error) {
	found := APIServer{Writes: map[string]int64{}}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, labels, value, ok := parseSample(lines.Text())
		if !ok {
			continue
		}
		switch name {
		case "apiserver_request_total":
			if key, ours := writeKey(labels); ours {
				found.Writes[key] += int64(value)
			}
		case "apiserver_storage_size_bytes":
			found.StorageBytes += int64(value)
		}
	}
	if err := lines.Err(); err != nil {
		return APIServer{}, fmt.Errorf("read the API server's metrics: %w", err)
	}
	return found, nil
}

// writeKey returns a key for a write by or for Nestor. Rejected ones count too, because they cost as much. Leases and
// other housekeeping of the control plane do not.
func writeKey(labels map[string]string) (string, bool) {
	ours := labels["group"] == "nestor.dev" || labels["resource"] == "events"
	if !ours || !writeVerbs[labels["verb"]] {
		return "", false
	}
	key := labels["verb"] + " " + labels["resource"]
	if sub := labels["subresource"]; sub != "" {
		key += "/" + sub
	}
	if code := labels["code"]; !strings.HasPrefix(code, "2") {
		key += " " + code
	}
	return key, true
}

// parseSample parses a line of the text format. The API server's label values have no escapes.
func parseSample(line string) (name string, labels map[string]string, value float64, ok bool) {
	if !strings.HasPrefix(line, "apiserver_request_total{") && !strings.HasPrefix(line, "apiserver_storage_size_bytes{") {
		return "", nil, 0, false
	}
	name, rest, _ := strings.Cut(line, "{")
	inside, number, found := strings.Cut(rest, "} ")
	value, err := strconv.ParseFloat(number, 64)
	if !found || err != nil {
		return "", nil, 0, false
	}
	labels = map[string]string{}
	for inside != "" {
		var key, text string
		if key, inside, found = strings.Cut(inside, `="`); !found {
			return "", nil, 0, false
		}
		text, inside, _ = strings.Cut(inside, `"`)
		labels[strings.TrimPrefix(key, ",")] = text
	}
	return name, labels, value, true
}
