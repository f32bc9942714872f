// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// expectGolden compares text with a file in testdata, or rewrites the file with -update.
func expectGolden(file, text string) {
	GinkgoHelper()
	path := filepath.Join("testdata", file)
	if *update {
		Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	}
	golden, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(text).To(Equal(string(golden)), "%s differs: run go test ./test/api -update and read the difference", path)
}
