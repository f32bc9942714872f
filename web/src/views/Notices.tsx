// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useCallback, useRef, useState } from 'react';
import type { Connection } from '../api/stream';
import { explainServer } from '../model/errors';
import { clock } from '../model/format';
import { ErrorText } from '../parts/ErrorText';
import { Icon } from '../parts/Icon';

interface Toast {
  id: number;
  text: string;
  kind: 'info' | 'error';
}

/** How long a notice is shown; errors stay until they are closed. */
const passing = 5000;

export function useToasts() {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const next = useRef(0);
  const close = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const show = useCallback(
    (text: string, kind: 'info' | 'error' = 'info') => {
      const id = next.current++;
      setToasts((all) => [...all.slice(-3), { id, text, kind }]);
      if (kind === 'info') setTimeout(() => close(id), passing);
    },
    [close],
  );
  return { toasts, show, close };
}

export function Toasts({ toasts, onClose }: { toasts: Toast[]; onClose: (id: number) => void }) {
  return (
    <div className="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <div key={toast.id} className={`toast ${toast.kind}`}>
          {toast.kind === 'error' && <Icon name="alert" size={14} />}
          {toast.kind === 'error' ? <ErrorText error={explainServer(toast.text)} /> : <span>{toast.text}</span>}
          <button type="button" className="button ghost icon-only small" aria-label="Close" onClick={() => onClose(toast.id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}

/** Reports that the page may be outdated, and that it reconnects automatically. */
export function ConnectionBanner({ connection }: { connection: Connection }) {
  if (connection.state === 'offline') {
    return (
      <p className="banner offline" role="status">
        <Icon name="alert" size={14} />
        <span>
          Offline: this is the state of {clock(connection.since)}. {connection.why} Retrying automatically.
        </span>
      </p>
    );
  }
  if (connection.state === 'refused' && !connection.refusal.signedOut) {
    return (
      <p className="banner failed" role="alert">
        <Icon name="alert" size={14} />
        <span>{connection.refusal.message}</span>
      </p>
    );
  }
  return null;
}
