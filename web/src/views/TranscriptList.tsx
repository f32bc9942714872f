// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { transcript as load } from '../api/client';
import { sticks } from '../model/stick';
import { heightOf, itemsOf, type Row, type TranscriptState } from '../model/transcript';
import { EntryView, StreamingView } from '../parts/EntryView';
import { Icon } from '../parts/Icon';
import { useSite } from '../state/context';

/** How many sequence numbers the next older page covers. Not every number is an entry, so a page may have fewer entries. */
const page = 300;

/**
 * The rows of a transcript. Only visible rows are in the document, so ten thousand cost no more than twenty; older rows
 * are loaded when the person scrolls up to them, or until there is the entry to be shown first.
 */
export function TranscriptList({ transcript, entry, rows, state, filtered, onInspect, onFork }: { transcript: string; entry?: number; rows: Row[]; state: TranscriptState; filtered: boolean; onInspect: (name: string) => void; onFork?: (seq: number) => void }) {
  const site = useSite();
  const scroller = useRef<HTMLDivElement>(null);
  const [loading, setLoading] = useState(false);
  const [away, setAway] = useState(false);
  const stuck = useRef(true);
  const top = useRef(0);
  const first = useRef<string>(undefined);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const items = useMemo(() => itemsOf(rows), [rows]);
  const count = items.length + (state.streaming && !filtered ? 1 : 0);
  const list = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => heightOf(items[index]),
    overscan: 6,
    getItemKey: useCallback((index: number) => items[index]?.key ?? 'streaming', [items]),
  });

  const older = useCallback(async () => {
    const start = state.entries[0]?.seq;
    if (loading || state.complete || start === undefined) return;
    setLoading(true);
    try {
      const since = Math.max(0, start - page - 1);
      const { entries = [] } = await load(site.namespace, transcript, { since, limit: page });
      site.store.prependOlder(transcript, entries, since === 0 || entries[0]?.kind === 'Started');
    } catch (error) {
      site.toast((error as Error).message, 'error');
    } finally {
      setLoading(false);
    }
  }, [loading, state.complete, state.entries, site, transcript]);

  // Older rows push the others down: the visible rows must stay where they are.
  const total = list.getTotalSize();
  const before = useRef({ total, count });
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return;
    if (first.current !== undefined && items[0]?.key !== first.current && count > before.current.count && !stuck.current) box.scrollTop += total - before.current.total;
    first.current = items[0]?.key;
    before.current = { total, count };
    if (stuck.current) box.scrollTop = box.scrollHeight;
    top.current = box.scrollTop;
  }, [items, total, count]);

  const scrolled = () => {
    const box = scroller.current!;
    stuck.current = sticks(box, { stuck: stuck.current, top: top.current });
    top.current = box.scrollTop;
    setAway(!stuck.current);
    if (box.scrollTop < 400) void older();
  };
  // A page that does not fill the view has nothing to scroll.
  useEffect(() => {
    const box = scroller.current;
    if (box && box.scrollHeight <= box.clientHeight) void older();
  }, [older, total]);

  // The result of a tool has no row of its own: it is in the row before it.
  const wanted = entry === undefined ? -1 : items.findLastIndex(({ row }) => row.entry.seq <= entry);
  const found = entry !== undefined && (state.complete || (state.entries[0]?.seq ?? Infinity) <= entry) ? items[wanted]?.row.key : undefined;
  const reached = useRef(entry === undefined);
  useEffect(() => {
    if (reached.current) return;
    stuck.current = false;
    if (found === undefined) {
      void older();
      return;
    }
    reached.current = true;
    list.scrollToIndex(items.findIndex(({ row }) => row.key === found), { align: 'center' });
  }, [found, items, older, list]);

  const toggle = useCallback((key: string) => {
    stuck.current = false;
    setOpened((open) => {
      const next = new Set(open);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }, []);
  return (
    <div className="transcript-frame">
      <div className="transcript" ref={scroller} onScroll={scrolled} tabIndex={0} role="log" aria-label="Transcript" aria-busy={loading} aria-live="off">
        {loading && <p className="transcript-older" role="status">Loading earlier entries</p>}
        <div className="transcript-rows" style={{ height: total }}>
          {list.getVirtualItems().map(({ key, index, start }) => {
            const item = items[index];
            return (
              <div key={key} ref={list.measureElement} data-index={index} className={`transcript-row ${item?.part ?? 'words'}${found !== undefined && item?.row.key === found ? ' found' : ''}`} style={{ transform: `translateY(${start}px)` }}>
                {item ? <EntryView item={item} open={opened.has(item.key)} onToggle={toggle} onInspect={onInspect} onFork={onFork} /> : <StreamingView streaming={state.streaming!} />}
              </div>
            );
          })}
        </div>
      </div>
      {away && (
        <button
          type="button"
          className="button small to-end"
          onClick={() => {
            stuck.current = true;
            list.scrollToIndex(count - 1, { align: 'end' });
          }}
        >
          <Icon name="down" size={14} /> Latest
        </button>
      )}
    </div>
  );
}
