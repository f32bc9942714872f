// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "os"

// WritePage writes the page.
func (r *Report) WritePage(path string) error { return os.WriteFile(path, nil, 0o644) }
