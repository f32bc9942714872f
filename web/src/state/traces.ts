// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useReducer, useRef } from 'react';
import { trace } from '../api/client';
import type { Segment } from '../api/history';
import { extend } from '../model/timeline';

interface Kept {
  stamp: string;
  segments: Segment[];
}

/** How many traces are read at once. */
const parallel = 4;

/**
 * The traces of agents, by the names of their transcripts. One is read again, from its newest segment, when the stamp of its agent has changed.
 */
export function useTraces(namespace: string, wanted: { transcript: string; stamp: string }[]): { traces: ReadonlyMap<string, Segment[]>; problem?: Error } {
  const kept = useRef(new Map<string, Kept>());
  const latest = useRef(wanted);
  latest.current = wanted;
  const state = useRef<{ running: number; busy: Set<string>; problem?: Error; closed: boolean }>({ running: 0, busy: new Set(), closed: false });
  const [, changed] = useReducer((n: number) => n + 1, 0);

  useEffect(() => {
    state.current.closed = false;
    return () => {
      state.current.closed = true;
    };
  }, []);

  const stamps = wanted.map(({ transcript, stamp }) => `${transcript} ${stamp}`).join('\n');
  useEffect(() => {
    const now = state.current;
    const read = async (transcript: string, stamp: string) => {
      const before = kept.current.get(transcript)?.segments ?? [];
      try {
        const segments = extend(before, await trace(namespace, transcript, before.at(-1)?.seq));
        kept.current.set(transcript, { stamp, segments });
        now.problem = undefined;
      } catch (error) {
        kept.current.set(transcript, { stamp, segments: before });
        if ((error as { notFound?: boolean }).notFound !== true || transcript.startsWith('chat.')) now.problem = error as Error;
      }
    };
    const next = () => {
      while (!now.closed && now.running < parallel) {
        const outdated = latest.current.find(({ transcript, stamp }) => !now.busy.has(transcript) && kept.current.get(transcript)?.stamp !== stamp);
        if (!outdated) return;
        now.running++;
        now.busy.add(outdated.transcript);
        void read(outdated.transcript, outdated.stamp).then(() => {
          now.running--;
          now.busy.delete(outdated.transcript);
          if (!now.closed) changed();
          next();
        });
      }
    };
    next();
  }, [namespace, stamps]);

  return { traces: new Map([...kept.current].map(([transcript, { segments }]) => [transcript, segments])), problem: state.current.problem };
}
