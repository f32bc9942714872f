// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// byteSize is a flag whose value is a quantity of bytes, such as 10Gi.
type byteSize int64

func (b *byteSize) String() string { return strconv.FormatInt(int64(*b), 10) }

func (b *byteSize) Set(text string) error {
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.Sign() < 0 {
		return fmt.Errorf("%q is not a number of bytes such as 10Gi", text)
	}
	*b = byteSize(quantity.Value())
	return nil
}
