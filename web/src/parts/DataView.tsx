// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** The number of fields up to which the data is shown open. */
const few = 8;

/** Shows the structured part of a result. */
export const DataView = ({ data }: { data: Record<string, unknown> }) => (
  <details className="folded data" open={Object.keys(data).length <= few}>
    <summary>Data</summary>
    <pre tabIndex={0}>{JSON.stringify(data, null, 2)}</pre>
  </details>
);
