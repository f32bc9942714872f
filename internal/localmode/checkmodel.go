// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// modelTimeout is the maximum time for an endpoint to list its models.
const modelTimeout = 20 * time.Second

// checkModel lists the models that the key gives access to. A rejected key is an error, because nothing would work with
// it. An endpoint that does not respond is reported only: it may be started later.
func (l *Local) checkModel(ctx context.Context) error {
	m := l.options.Model
	target := wire.Endpoint{BaseURL: m.BaseURL, Timeout: modelTimeout, HTTPClient: &http.Client{}}
	if m.Key != "" {
		target.Key = func(context.Context) (string, error) { return m.Key, nil }
	}
	provider, err := endpoint.NewClient(m.API, target)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	_, err = provider.Models(ctx)
	var failure *model.Error
	if err == nil || !errors.As(err, &failure) && ctx.Err() == nil {
		return err
	}
	at := cmp.Or(m.BaseURL, string(m.API))
	switch {
	case failure == nil:
		l.Say("%s does not respond within %s: agents wait until it does", at, modelTimeout)
	case failure.Kind == model.Unauthorized || failure.Kind == model.NoKey:
		return fmt.Errorf("%s rejects the key: %s\nSet %s to a valid key, or unset it for the scripted model", at, failure.Message, keyVariable(m.API))
	case failure.Kind == model.Transient:
		l.Say("%s does not respond: %s; agents wait until it does", at, failure.Message)
	}
	return nil // not every compatible endpoint lists its models
}

// keyVariable returns the variable of the environment that holds the key for an API.
func keyVariable(api v1beta1.ModelAPI) string {
	for _, v := range vendors() {
		if v.api == api {
			return v.keyVariable
		}
	}
	return ""
}
