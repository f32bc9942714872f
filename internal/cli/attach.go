// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/attachment"
)

// readAttachments reads the files that a message attaches, besides those that it already has. Everything that the API or the operator
// would refuse is an error here.
func readAttachments(already []v1beta1.Attachment, paths ...string) ([]v1beta1.Attachment, error) {
	var files []attachment.File
	for _, a := range already {
		files = append(files, attachment.File{Name: a.Name, MediaType: a.MediaType, Data: a.Data})
	}
	for _, path := range paths {
		file, err := readAttachment(path)
		if err != nil {
			return nil, usagef("attach %s: %v", path, err)
		}
		files = append(files, file)
	}
	if err := attachment.Check(files); err != nil {
		return nil, usagef("%v", err)
	}
	attachments := make([]v1beta1.Attachment, len(files))
	for i, f := range files {
		attachments[i] = v1beta1.Attachment{Name: f.Name, MediaType: f.MediaType, Data: f.Data}
	}
	return attachments, nil
}

// readAttachment reads one file. A larger file than a message may have is not read at all.
func readAttachment(path string) (attachment.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return attachment.File{}, err
	}
	if !info.Mode().IsRegular() {
		return attachment.File{}, errors.New("it is not a file")
	}
	if info.Size() > attachment.MaxBytes {
		return attachment.File{}, fmt.Errorf("it has %d KiB, and the attachments of a message have at most %d KiB together", info.Size()>>10, attachment.MaxBytes>>10)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return attachment.File{}, err
	}
	name := filepath.Base(path)
	mediaType, err := attachment.TypeOf(name, data)
	return attachment.File{Name: name, MediaType: mediaType, Data: data}, err
}
