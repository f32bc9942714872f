// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo, useState } from 'react';
import type { Message } from '../api/types';
import { duration, firstWords } from '../model/format';
import { draw, type Bar, type Picture } from '../model/timeline';
import { elapsed, finished, flatten, type Tree } from '../model/tree';
import { badges } from '../parts/Badge';
import { Empty } from '../parts/Empty';
import { RoleIcon, useRoleName } from '../parts/RoleIcon';
import { useNow } from '../state/hooks';

const rowHeight = 36;
/** The width of the view box; the drawing is stretched to the available width. */
const width = 1000;

/** Draws when each agent ran: bars for runs, lines for delegations and results. */
export function Timeline({ tree, ordered, inspect }: { tree: Tree; ordered: Message[]; inspect: (name: string) => void }) {
  const roleName = useRoleName();
  const triggers = useMemo(() => ordered.filter((message) => tree.byTrigger.has(message.metadata.name)), [ordered, tree]);
  const [chosen, setChosen] = useState<string>();
  const trigger = chosen ?? triggers.at(-1)?.metadata.name ?? '';
  const roots = trigger === '*' ? tree.roots : (tree.byTrigger.get(trigger) ?? tree.roots);
  const now = useNow(flatten(roots).some((node) => !finished(node)), 500);
  const picture = useMemo(() => draw(roots, now), [roots, now]);
  const nameOf = (bar: Bar) => (bar.node.task.spec.type === 'Tool' ? bar.node.task.spec.tool! : roleName(bar.node.task.spec.role));
  if (!picture) {
    return (
      <Empty icon="timeline" title="Nothing has run yet">
        When the orchestrator delegates work, the timeline shows when each agent ran.
      </Empty>
    );
  }
  return (
    <div className="timeline" tabIndex={0} role="region" aria-label="Timeline">
      {triggers.length > 1 && (
        <label className="timeline-pick">
          <span>Work for</span>
          <select value={trigger} onChange={(event) => setChosen(event.target.value)}>
            {triggers.map((message) => (
              <option key={message.metadata.name} value={message.metadata.name}>
                {(message.spec.content ?? '').slice(0, 80)}
              </option>
            ))}
            <option value="*">everything</option>
          </select>
        </label>
      )}
      <div className="timeline-grid">
        <ol className="timeline-names">
          {picture.bars.map((bar) => (
            <li key={bar.node.name} style={{ paddingInlineStart: (bar.node.depth - 1) * 18 }}>
              <button type="button" onClick={() => inspect(bar.node.name)} disabled={bar.node.task.spec.type === 'Tool'} title={bar.node.task.spec.instruction}>
                <RoleIcon role={bar.node.task.spec.role} tool={bar.node.task.spec.type === 'Tool'} />
                <span className="timeline-name">
                  {nameOf(bar)}
                  {bar.node.task.spec.instruction && <small>{firstWords(bar.node.task.spec.instruction)}</small>}
                </span>
                <span className="timeline-time">{duration(elapsed(bar.node, now) ?? 0)}</span>
              </button>
            </li>
          ))}
        </ol>
        <Chart picture={picture} nameOf={nameOf} />
      </div>
      <ul className="legend" aria-label="Legend">
        <li>
          <span className="swatch running" /> running
        </li>
        <li>
          <span className="swatch idle" /> waits for those it delegated to
        </li>
        <li>
          <span className="swatch waiting" /> waits for you
        </li>
        <li>
          <span className="swatch success" /> done
        </li>
        <li>
          <span className="swatch failed" /> failed
        </li>
      </ul>
    </div>
  );
}

function Chart({ picture, nameOf }: { picture: Picture; nameOf: (bar: Bar) => string }) {
  const height = picture.bars.length * rowHeight;
  const middle = (row: number) => row * rowHeight + rowHeight / 2;
  const summary = picture.bars.map((bar) => `${nameOf(bar)}: ${badges[bar.badge].label.toLowerCase()}`).join('; ');
  return (
    <div className="timeline-chart">
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" style={{ height }} role="img" aria-label={`Timeline of ${picture.bars.length} runs. ${summary}`}>
        {picture.ticks.map((tick) => (
          <line key={tick.at} className="tick" x1={tick.at * width} x2={tick.at * width} y1={0} y2={height} />
        ))}
        {picture.links.map((link, i) => (
          <line key={i} className={`link ${link.kind}`} x1={link.at * width} x2={link.at * width} y1={middle(link.from)} y2={middle(link.to)} />
        ))}
        {picture.bars.map((bar) => (
          <g key={bar.node.name}>
            <rect className={`bar ${bar.badge}`} x={bar.start * width} y={middle(bar.row) - 8} width={Math.max(3, (bar.end - bar.start) * width)} height={16} rx={3}>
              <title>{`${nameOf(bar)} (${bar.node.name}): ${badges[bar.badge].label}`}</title>
            </rect>
            {bar.idle.map((span, i) => (
              <rect key={i} className="bar-idle" x={span.start * width} y={middle(bar.row) - 5} width={Math.max(1, (span.end - span.start) * width)} height={10} />
            ))}
          </g>
        ))}
      </svg>
      <div className="axis" aria-hidden="true">
        {picture.ticks.map((tick) => (
          <span key={tick.at} style={{ insetInlineStart: `${tick.at * 100}%` }}>
            {tick.label}
          </span>
        ))}
      </div>
    </div>
  );
}
