// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from 'react';
import { problems, type Problem } from '../api/state';
import { clock } from '../model/format';
import { Icon } from '../parts/Icon';
import '../styles/state.css';

/** How often the page asks for the state while it is visible. */
const interval = 3000;

/** How many problems are shown before the others are folded away. */
const shownAtFirst = 2;

const keyOf = (problem: Problem) => `${problem.kind}/${problem.object ?? ''}`;

/** The problems of a namespace. It asks while the page is visible, and at once when the person returns to it. */
function useProblems(namespace: string): Problem[] {
  const [found, setFound] = useState<Problem[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    const look = async () => {
      clearTimeout(timer);
      if (asking || stop.signal.aborted || document.hidden) return;
      asking = true;
      try {
        const now = await problems(namespace, stop.signal);
        if (!stop.signal.aborted) setFound(now);
      } catch {
        // Another banner reports that the server does not answer. What was known stays.
      }
      asking = false;
      if (!stop.signal.aborted) timer = setTimeout(look, interval);
    };
    void look();
    document.addEventListener('visibilitychange', look);
    window.addEventListener('focus', look);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
      window.removeEventListener('focus', look);
    };
  }, [namespace]);
  return found;
}

/** Shows what keeps agents from working, and what to do about it. */
export function StateBanner({ namespace }: { namespace: string }) {
  return <Problems found={useProblems(namespace)} />;
}

export function Problems({ found }: { found: Problem[] }) {
  const [all, setAll] = useState(false);
  const [hidden, setHidden] = useState('');
  const keys = found.map(keyOf).join(' ');
  if (found.length === 0 || hidden === keys) return <div role="status" aria-label="State of the system" />;
  const shown = all ? found : found.slice(0, shownAtFirst);
  return (
    <div className="state" role="status" aria-label="State of the system">
      <ul>
        {shown.map((problem) => (
          <li key={keyOf(problem)} className={problem.severity}>
            <Icon name="alert" size={14} />
            <p>
              <strong>{problem.message}</strong> <span>{problem.todo}</span>
              {problem.startTime && <small> Since {clock(problem.startTime)}.</small>}
            </p>
          </li>
        ))}
      </ul>
      <div className="state-actions">
        {found.length > shownAtFirst && (
          <button type="button" className="button ghost small" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? 'Show less' : `${found.length - shownAtFirst} more`}
          </button>
        )}
        <button type="button" className="button ghost small" onClick={() => setHidden(keys)}>
          Hide
        </button>
      </div>
    </div>
  );
}
