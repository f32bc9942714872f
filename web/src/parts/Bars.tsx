// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { ReactNode } from 'react';

export interface BarRow {
  key: string;
  label: ReactNode;
  /** The segments of the bar. */
  parts: { kind: 'first' | 'second' | 'success' | 'failed' | 'cancelled'; value: number; label: string }[];
  value: string;
  more?: ReactNode;
}

/** A chart of horizontal bars. It is a table with its numbers, so that screen readers can read it. */
export function Bars({ title, rows, empty }: { title: string; rows: BarRow[]; empty: string }) {
  const most = Math.max(1, ...rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0)));
  return (
    <section className="panel">
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p className="muted">{empty}</p>
      ) : (
        <table className="bars">
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <th scope="row">{row.label}</th>
                <td className="bar-cell">
                  <span className="bar-track" role="img" aria-label={row.parts.map((part) => part.label).join(', ')} title={row.parts.map((part) => part.label).join(', ')}>
                    {row.parts.map((part) => (
                      <span key={part.kind} className={`bar-part ${part.kind}`} style={{ width: `${(part.value / most) * 100}%` }} />
                    ))}
                  </span>
                </td>
                <td className="bar-value">{row.value}</td>
                {row.more !== undefined && <td className="bar-more">{row.more}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

export function Tile({ label, value, more }: { label: string; value: string; more?: string }) {
  return (
    <div className="tile">
      <span className="tile-label">{label}</span>
      <span className="tile-value">{value}</span>
      {more && <span className="tile-more">{more}</span>}
    </div>
  );
}
