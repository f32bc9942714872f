// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { ReactNode } from 'react';
import { ceiling, sum } from '../model/usage';

export interface ChartSeries {
  key: string;
  /** A class that sets the colour. */
  kind: string;
  name: string;
  label?: ReactNode;
  values: number[];
}

/** How many labels fit below the columns of a chart. */
const shownLabels = 6;

/** A chart of stacked columns over time. Below it, the same numbers are in a table, which can be opened. */
export function TimeChart({ title, periods, series, format, empty, counts = false }: { title: string; periods: string[]; series: ChartSeries[]; format: (value: number) => string; empty: string; /** The values are numbers of things: there is no half of one. */ counts?: boolean }) {
  const totals = periods.map((_, i) => sum(series.map(({ values }) => values[i]!)));
  const highest = Math.max(0, ...totals);
  const top = ceiling(highest) + (counts ? ceiling(highest) % 2 : 0);
  const every = Math.ceil(periods.length / shownLabels);
  const most = totals.indexOf(highest);
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      {highest === 0 ? (
        <p className="muted">{empty}</p>
      ) : (
        <>
          <div className="time-chart">
            <div className="time-scale" aria-hidden="true">
              <span>{format(top)}</span>
              <span>{format(top / 2)}</span>
              <span>0</span>
            </div>
            <svg viewBox={`0 0 ${periods.length} 100`} preserveAspectRatio="none" role="img" aria-label={`${title}: ${format(sum(totals))} in ${periods.length} periods, at most ${format(highest)} (${periods[most]})`}>
              {[0, 50, 100].map((y) => (
                <line key={y} className="tick" x1={0} x2={periods.length} y1={y} y2={y} />
              ))}
              {periods.map((period, i) => (
                <Column key={period + String(i)} at={i} top={top} series={series} title={`${period}: ${format(totals[i]!)}${series.length > 1 ? series.filter(({ values }) => values[i]! > 0).map(({ name, values }) => `\n${name}: ${format(values[i]!)}`).join('') : ''}`} />
              ))}
            </svg>
            <div className="time-axis" aria-hidden="true">
              {periods.map((period, i) => (
                <span key={period + String(i)}>{(periods.length - 1 - i) % every === 0 ? period : ''}</span>
              ))}
            </div>
          </div>
          <ul className="legend">
            {series.map(({ key, kind, name, label }) => (
              <li key={key}>
                <span className={`swatch ${kind}`} /> {label ?? name}
              </li>
            ))}
          </ul>
          <details className="numbers">
            <summary>Show the numbers</summary>
            <Numbers periods={periods} series={series} totals={totals} format={format} title={title} />
          </details>
        </>
      )}
    </section>
  );
}

/** One column: the whole height is sensitive to the pointer, so that low columns can be read, too. */
function Column({ at, top, series, title }: { at: number; top: number; series: ChartSeries[]; title: string }) {
  let below = 0;
  return (
    <g className="column">
      <title>{title}</title>
      <rect className="column-area" x={at} y={0} width={1} height={100} />
      {series.map(({ key, kind, values }) => {
        const height = (values[at]! / top) * 100;
        below += height;
        return height > 0 && <rect key={key} className={kind} x={at + 0.14} width={0.72} y={100 - below} height={height} />;
      })}
    </g>
  );
}

function Numbers({ periods, series, totals, format, title }: { periods: string[]; series: ChartSeries[]; totals: number[]; format: (value: number) => string; title: string }) {
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={`Numbers of ${title}`}>
      <table className="number-table">
        <thead>
          <tr>
            <th scope="col">UTC</th>
            {series.map(({ key, name }) => (
              <th key={key} scope="col">
                {name}
              </th>
            ))}
            {series.length > 1 && <th scope="col">Total</th>}
          </tr>
        </thead>
        <tbody>
          {periods.map(
            (period, i) =>
              totals[i]! > 0 && (
                <tr key={period + String(i)}>
                  <th scope="row">{period}</th>
                  {series.map(({ key, values }) => (
                    <td key={key}>{format(values[i]!)}</td>
                  ))}
                  {series.length > 1 && <td>{format(totals[i]!)}</td>}
                </tr>
              ),
          )}
        </tbody>
      </table>
    </div>
  );
}
