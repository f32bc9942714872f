// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package edit changes text by exact replacement: a list of (old, new) pairs, applied in order, all or nothing.
//
// Models reproduce a passage of a file far more reliably than they count lines or write diff headers, so an edit
// names only the text to replace. The text must occur exactly once, unless the edit selects an occurrence or all of
// them. The error of a rejected edit has what the model needs to correct it: the lines of the candidates, or the line
// that differs only in white space.
package edit
