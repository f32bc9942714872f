// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Explained } from '../model/errors';

/** An error in words, with the original text folded away. */
export function ErrorText({ error, before }: { error: Explained; before?: string }) {
  return (
    <div className="error-text">
      {before && <strong>{before}: </strong>}
      {error.title} {error.todo}
      {error.details && (
        <details className="error-details">
          <summary>Details</summary>
          <code>{error.details}</code>
        </details>
      )}
    </div>
  );
}
