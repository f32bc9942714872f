// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { ReactNode } from 'react';
import { Badge } from '../parts/Badge';
import { Empty, Loading } from '../parts/Empty';
import { Icon } from '../parts/Icon';
import type { Condition } from '../api/types';
import type { Loaded } from '../state/hooks';

/** The content of a page: while it loads, if it cannot be read, and when it is there. */
export function WhenLoaded<T>({ loaded, again, what, problem, children }: { loaded: Loaded<T>; again: () => void; what: string; problem: string; children: (value: T) => ReactNode }) {
  switch (loaded.state) {
    case 'loading':
      return <Loading what={what} lines={6} />;
    case 'failed':
      return (
        <Empty alert icon="alert" title={problem} actions={<TryAgain again={again} />}>
          {loaded.error.message}
        </Empty>
      );
    case 'done':
      return children(loaded.value);
  }
}

export function TryAgain({ again }: { again: () => void }) {
  return (
    <button type="button" className="button" onClick={again}>
      Try again
    </button>
  );
}

/** A list that may not be readable: then it is the message of the problem, and the rest of the page is shown. */
export const quiet = <T,>(list: Promise<T[]>) => list.catch((error: Error) => error.message);

/** The items of such a list. */
export const itemsOf = <T,>(list: T[] | string): T[] => (typeof list === 'string' ? [] : list);

/** Terms with their values, without those that have none. */
export function Facts({ facts, className }: { facts: [string, ReactNode][]; className?: string }) {
  return (
    <dl className={className}>
      {facts.map(
        ([term, value]) =>
          value && (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** The condition Ready of an object, which a new one does not have yet. Without conditions, nothing is shown. */
export function Ready({ conditions, onlyTrouble = false }: { conditions?: Condition[]; onlyTrouble?: boolean }) {
  const ready = conditions?.find((condition) => condition.type === 'Ready');
  if (!conditions || (onlyTrouble && ready?.status !== 'False')) return null;
  if (!ready) return <Badge kind="pending" label="Not checked yet" />;
  if (ready.status === 'Unknown') {
    return (
      <span className="note">
        <Icon name="dots" size={14} /> <span>{ready.message || 'Being checked'}</span>
      </span>
    );
  }
  return ready.status === 'True' ? (
    <span className="badge badge-success">
      <Icon name="check" size={12} /> Ready
    </span>
  ) : (
    <Trouble>{ready.message || ready.reason}</Trouble>
  );
}

/** A problem of an object. */
export function Trouble({ children }: { children: ReactNode }) {
  return (
    <span className="note failed">
      <Icon name="alert" size={14} /> <span>{children}</span>
    </span>
  );
}
