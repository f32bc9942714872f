// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon';

/** Shown when there is no content: explains why, and what to do. Where it is all that a page shows (`page`), its title is that of the page. */
export function Empty({ icon, title, children, actions, alert = false, page = false }: { icon: IconName; title: string; children?: ReactNode; actions?: ReactNode; alert?: boolean; page?: boolean }) {
  const Title = page ? 'h1' : 'h2';
  return (
    <div className={`empty${alert ? ' alert' : ''}`} role={alert ? 'alert' : undefined}>
      <span className="empty-icon">
        <Icon name={icon} size={22} />
      </span>
      <Title>{title}</Title>
      {children && <div className="empty-text">{children}</div>}
      {actions && <div className="empty-actions">{actions}</div>}
    </div>
  );
}

/** Shown while content is loading. */
export function Loading({ what, lines = 3 }: { what: string; lines?: number }) {
  return (
    <div className="loading" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} className="skeleton" />
      ))}
    </div>
  );
}
