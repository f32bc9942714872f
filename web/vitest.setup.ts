// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Tests wait until something is shown, not for a time: on a machine that does much else, a second is not enough.
if (typeof document !== 'undefined') (await import('@testing-library/react')).configure({ asyncUtilTimeout: 60_000 });

export {};
