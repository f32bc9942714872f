// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

// maxKeyBytes bounds a key in a file. Tokens of identities have a few kilobytes.
const maxKeyBytes = 64 << 10

// HasKey reports whether the requests to a provider have a key.
func HasKey(object *v1beta1.ModelProvider) bool {
	return object.Spec.APIKeyRef != nil || object.Spec.APIKeyFile != ""
}

// Key reads the API key of a provider, which is empty if it has none. The error for a missing key is a
// *resolve.Missing.
func (c *Clients) Key(ctx context.Context, object *v1beta1.ModelProvider) (string, error) {
	if ref := object.Spec.APIKeyRef; ref != nil {
		value, err := c.Finder.Secret(ctx, object.Namespace, *ref)
		return strings.TrimSpace(string(value)), err
	}
	if object.Spec.APIKeyFile == "" {
		return "", nil
	}
	return readKeyFile(c.KeyDir, object.Namespace, object.Spec.APIKeyFile)
}

// readKeyFile reads a key from the directory of a namespace. Each namespace has a directory of its own, because anyone
// who may create providers there can use its keys. Symbolic links that leave the directory are not followed.
func readKeyFile(dir, namespace, name string) (string, error) {
	if dir == "" {
		return "", missingKeyFile("This operator reads no keys from files: start it with --api-key-dir, or use apiKeyRef.")
	}
	file, err := os.OpenInRoot(path.Join(dir, namespace), name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", missingKeyFile(fmt.Sprintf("There is no file %s/%s below the operator's --api-key-dir: mount it there.", namespace, name))
	}
	if err != nil {
		return "", missingKeyFile(fmt.Sprintf("The operator cannot read the file %s/%s below its --api-key-dir.", namespace, name))
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxKeyBytes+1))
	key := strings.TrimSpace(string(data))
	if err != nil || key == "" || len(data) > maxKeyBytes {
		return "", missingKeyFile(fmt.Sprintf("The file %s/%s below the operator's --api-key-dir does not contain a key.", namespace, name))
	}
	return key, nil
}

func missingKeyFile(message string) error {
	return &resolve.Missing{Reason: v1beta1.ReasonAPIKeyFileNotFound, Message: message}
}
