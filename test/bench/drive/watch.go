// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package drive

import (
	"context"
	"encoding/json"
	"fmt"
)

// Object has the fields of an object that the driver reads.
type Object struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Spec struct {
		Role      string `json:"role"`
		InReplyTo string `json:"inReplyTo"`
		Chat      string `json:"chat"`
		Content   string `json:"content"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// Watch calls see with each object of a collection, and again after changes, until ctx ends or see returns true. A
// watch that the API server ends is restarted, so an object may be seen twice.
func (c *Client) Watch(ctx context.Context, path string, see func(Object) (done bool)) error {
	for {
		version, done, err := c.list(ctx, path, see)
		if err != nil || done {
			return err
		}
		if done, err = c.follow(ctx, path, version, see); err != nil || done {
			return err
		}
	}
}

func (c *Client) list(ctx context.Context, path string, see func(Object) bool) (version string, done bool, err error) {
	var all struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []Object `json:"items"`
	}
	body, err := c.Open(ctx, path)
	if err != nil {
		return "", false, err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&all); err != nil {
		return "", false, fmt.Errorf("list %s: %w", path, err)
	}
	for _, item := range all.Items {
		done = done || see(item)
	}
	return all.Metadata.ResourceVersion, done, nil
}

// follow reads one watch to its end. Errors other than the end of ctx are dropped: the caller lists and watches
// again.
func (c *Client) follow(ctx context.Context, path, version string, see func(Object) bool) (bool, error) {
	body, err := c.Open(ctx, path+"?watch=true&resourceVersion="+version)
	if err != nil {
		return false, err
	}
	defer body.Close()
	events := json.NewDecoder(body)
	for {
		var event struct {
			Type   string `json:"type"`
			Object Object `json:"object"`
		}
		if err := events.Decode(&event); err != nil {
			return false, context.Cause(ctx)
		}
		switch event.Type {
		case "ERROR":
			return false, nil
		case "ADDED", "MODIFIED":
			if see(event.Object) {
				return true, nil
			}
		}
	}
}
