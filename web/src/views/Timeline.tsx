// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo, useState } from 'react';
import type { SegmentKind } from '../api/history';
import type { Chat, Message } from '../api/types';
import { transcriptOf } from '../api/history';
import { clockSeconds, duration, firstWords } from '../model/format';
import { describe, draw, lanesOf, segmentNames, type Bar, type Part, type Picture } from '../model/timeline';
import { finished, flatten, type Tree } from '../model/tree';
import { badges, StatusDot } from '../parts/Badge';
import { Empty } from '../parts/Empty';
import { Icon } from '../parts/Icon';
import { RoleIcon, useRoleName } from '../parts/RoleIcon';
import { useSite } from '../state/context';
import { useNow } from '../state/hooks';
import { useTraces } from '../state/traces';
import { SegmentDialog } from './SegmentDialog';

const rowHeight = 36;
/** The width of the view box; the drawing is stretched to the available width. */
const width = 1000;

/** Draws what each agent did when: segments of runs, lines for delegations and results. A segment opens its call. */
export function Timeline({ tree, chat, ordered, inspect }: { tree: Tree; chat?: Chat; ordered: Message[]; inspect: (name: string) => void }) {
  const { namespace } = useSite();
  const nameOf = useLaneName();
  const messages = useMemo(() => ordered.filter(({ metadata, spec }) => tree.byTrigger.has(metadata.name) || (spec.content && (spec.role ?? 'User') === 'User')), [ordered, tree]);
  const [chosen, setChosen] = useState<string>();
  const [opened, setOpened] = useState<{ bar: Bar; part: Part }>();
  const message = messages.find(({ metadata }) => metadata.name === chosen) ?? (chosen === '*' ? undefined : messages.at(-1));
  const roots = message ? (tree.byTrigger.get(message.metadata.name) ?? []) : tree.roots;
  const plain = useMemo(() => lanesOf(chat && transcriptOf('chat', chat.metadata.name), roots), [chat?.metadata.name, roots]);
  const { traces, problem } = useTraces(namespace, plain.map(({ transcript, node }) => ({ transcript, stamp: node ? `${node.task.metadata.resourceVersion} ${node.agent?.metadata.resourceVersion}` : `${chat?.metadata.resourceVersion}` })));
  const live = chat?.status?.phase === 'Running' || chat?.status?.phase === 'Waiting' || flatten(roots).some((node) => !finished(node));
  const now = useNow(live, 500);
  const picture = useMemo(() => draw(plain.map((lane) => ({ ...lane, trace: traces.get(lane.transcript) })), now, message && Date.parse(message.metadata.creationTimestamp)), [plain, traces, now, message]);
  if (!picture) {
    return (
      <Empty icon="timeline" title={problem ? 'The trace cannot be read' : 'Nothing has run yet'} alert={problem !== undefined}>
        {problem ? problem.message : 'When agents work, the timeline shows what each of them does and what it waits for.'}
      </Empty>
    );
  }
  return (
    <div className="timeline" tabIndex={0} role="region" aria-label="Timeline">
      {messages.length > 1 && (
        <label className="timeline-pick">
          <span>Work for</span>
          <select value={message?.metadata.name ?? '*'} onChange={(event) => setChosen(event.target.value)}>
            {messages.map(({ metadata, spec }) => (
              <option key={metadata.name} value={metadata.name}>
                {(spec.content ?? '').slice(0, 80)}
              </option>
            ))}
            <option value="*">everything</option>
          </select>
        </label>
      )}
      {problem && (
        <p className="note waiting" role="status">
          <Icon name="alert" size={14} /> Only start and end are shown: {problem.message}
        </p>
      )}
      <div className="timeline-grid">
        <ol className="timeline-names">
          {picture.bars.map((bar) => {
            const { node, depth } = bar.lane;
            return (
              <li key={bar.lane.transcript} style={{ paddingInlineStart: depth * 18 }}>
                <button type="button" onClick={() => node && inspect(node.name)} disabled={!node || node.task.spec.type === 'Tool'} title={node?.task.spec.instruction}>
                  <RoleIcon role={node ? node.task.spec.role : 'orchestrator'} tool={node?.task.spec.type === 'Tool'} />
                  <span className="timeline-name">
                    {nameOf(bar)}
                    {node?.task.spec.instruction && <small>{firstWords(node.task.spec.instruction)}</small>}
                  </span>
                  <span className="timeline-time">{duration((bar.end - bar.start) * (picture.end - picture.begin))}</span>
                  {node && <StatusDot kind={bar.badge} label={badges[bar.badge].label} />}
                </button>
              </li>
            );
          })}
        </ol>
        <Chart picture={picture} nameOf={nameOf} open={(bar, part) => setOpened({ bar, part })} />
      </div>
      <ul className="legend" aria-label="Legend">
        {(Object.keys(segmentNames) as SegmentKind[]).map((kind) => (
          <li key={kind}>
            <span className={`swatch of-${kind.toLowerCase()}`} /> {segmentNames[kind].toLowerCase()}
          </li>
        ))}
      </ul>
      <Segments picture={picture} nameOf={nameOf} open={(bar, part) => setOpened({ bar, part })} />
      {opened && <SegmentDialog name={nameOf(opened.bar)} lane={opened.bar.lane} segment={opened.part.segment} inspect={inspect} onClose={() => setOpened(undefined)} />}
    </div>
  );
}

function useLaneName(): (bar: Bar) => string {
  const roleName = useRoleName();
  return ({ lane: { node } }) => (!node ? 'Orchestrator' : node.task.spec.type === 'Tool' ? node.task.spec.tool! : roleName(node.task.spec.role));
}

interface Opens {
  picture: Picture;
  nameOf: (bar: Bar) => string;
  open: (bar: Bar, part: Part) => void;
}

/** The drawing. It is one picture for assistive technology; Segments has the same as a table. */
function Chart({ picture, nameOf, open }: Opens) {
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
          <g key={bar.lane.transcript}>
            {bar.parts.length === 0 && <rect className={`bar ${bar.badge}`} x={bar.start * width} y={middle(bar.row) - 8} width={Math.max(3, (bar.end - bar.start) * width)} height={16} rx={3} />}
            {bar.parts.map((part) => {
              const { segment, start, end, took } = part;
              const low = segment.kind === 'Idle' || segment.kind === 'Children' || segment.kind === 'Queue';
              return (
                <rect
                  key={segment.seq}
                  className={`part of-${segment.kind.toLowerCase()}`}
                  x={start * width}
                  y={middle(bar.row) - (low ? 3 : 9)}
                  width={Math.max(2, (end - start) * width)}
                  height={low ? 6 : 18}
                  onClick={() => open(bar, part)}
                >
                  <title>{`${nameOf(bar)}: ${describe(segment)}, ${duration(took)}`}</title>
                </rect>
              );
            })}
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

/** The segments as a table, for the keyboard and for assistive technology. */
function Segments({ picture, nameOf, open }: Opens) {
  const [shown, setShown] = useState(false);
  if (picture.bars.every(({ parts }) => parts.length === 0)) return null;
  return (
    <details className="numbers" onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>Show the segments</summary>
      {shown && (
        <div className="table-scroll" tabIndex={0} role="region" aria-label="Segments">
          <table className="number-table">
            <thead>
              <tr>
                <th scope="col">Agent</th>
                <th scope="col">Segment</th>
                <th scope="col">From</th>
                <th scope="col">Duration</th>
              </tr>
            </thead>
            <tbody>
              {picture.bars.flatMap((bar) =>
                bar.parts.map((part) => (
                  <tr key={`${bar.lane.transcript}/${part.segment.seq}`}>
                    <th scope="row">{nameOf(bar)}</th>
                    <td>
                      <button type="button" className="link-button" onClick={() => open(bar, part)}>
                        {describe(part.segment)}
                      </button>
                    </td>
                    <td>{clockSeconds(part.segment.startTime)}</td>
                    <td>{duration(part.took)}</td>
                  </tr>
                )),
              )}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
