// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo, useState } from 'react';
import { transcript } from '../api/client';
import type { Segment } from '../api/history';
import { clockSeconds, duration } from '../model/format';
import { describe, entriesOf, type Lane } from '../model/timeline';
import { itemsOf, rowsOf, type Item } from '../model/transcript';
import { Dialog } from '../parts/Dialog';
import { Loading } from '../parts/Empty';
import { EntryView } from '../parts/EntryView';
import { ErrorText } from '../parts/ErrorText';
import { explainServer } from '../model/errors';
import { useSite } from '../state/context';
import { useLoad, useNow } from '../state/hooks';

/** How many events of the transcript a segment shows at most, from the reply that requests its calls. */
const most = 500;

/** What an agent did in a segment of the timeline: the model call and its reply, or the tool calls with their results. */
export function SegmentDialog({ name, lane, segment, inspect, onClose }: { name: string; lane: Lane; segment: Segment; inspect: (name: string) => void; onClose: () => void }) {
  const { namespace } = useSite();
  const now = useNow(segment.endTime === undefined);
  const range = useMemo(() => entriesOf(segment, lane.trace ?? []), [segment, lane.trace]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [loaded] = useLoad(async () => (range ? ((await transcript(namespace, lane.transcript, { since: range.first - 1, limit: most })).entries ?? []).filter(({ seq }) => seq <= Math.max(range.last, range.first)) : []), [lane.transcript, range?.first, range?.last]);
  const items = useMemo(() => (loaded.state === 'done' ? itemsOf(rowsOf(loaded.value)).filter((item) => concerns(item, segment)) : []), [loaded, segment]);
  const toggle = (key: string) =>
    setClosed((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  const show = (agent: string) => {
    onClose();
    inspect(agent);
  };
  const took = (segment.endTime ? Date.parse(segment.endTime) : now) - Date.parse(segment.startTime);
  return (
    <Dialog title={`${name}: ${describe(segment)}`} onClose={onClose} wide>
      <div className="dialog-text segment-dialog" tabIndex={0} role="region" aria-label="Segment">
        <p className="facts">
          <span>from {clockSeconds(segment.startTime)}</span>
          <span>{segment.endTime ? duration(took) : `for ${duration(took)}`}</span>
          {segment.modelCall && <span className="mono">{segment.modelCall}</span>}
        </p>
        {loaded.state === 'loading' && range && <Loading what="the call" lines={3} />}
        {loaded.state === 'failed' && <ErrorText error={explainServer(loaded.error.message)} />}
        {items.map((item) => (
          <EntryView key={item.key} item={item} open={!closed.has(item.key)} onToggle={toggle} onInspect={show} />
        ))}
        {(segment.children?.length ?? 0) > 0 && (
          <p className="facts">
            <span>for</span>
            {segment.children!.map((child) => (
              <button key={child} type="button" className="chip" onClick={() => show(child)}>
                {child}
              </button>
            ))}
          </p>
        )}
      </div>
      {lane.node && (
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={() => show(lane.node!.name)}>
            Inspect
          </button>
        </footer>
      )}
    </Dialog>
  );
}

/** Reports whether an item is about the calls of a segment: other calls of the same reply are not shown. */
function concerns(item: Item, { kind, endSeq, toolCalls }: Segment): boolean {
  if (item.part === 'call' && kind !== 'Model') return toolCalls?.some(({ id }) => id === item.call.id) ?? false;
  return kind === 'Model' || item.row.entry.seq === endSeq || (item.row.entry.toolCalls?.some(({ id }) => toolCalls?.some((call) => call.id === id)) ?? false);
}
