// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { ReactNode } from 'react';
import { MenuButton } from '../parts/BareHead';

/** The frame of a page other than a chat. */
export function Page({ title, subtitle, onMenu, children }: { title: string; subtitle?: string; onMenu: () => void; children: ReactNode }) {
  return (
    <main className="page" id="main" tabIndex={0}>
      <header className="page-head">
        <MenuButton onMenu={onMenu} />
        <div>
          <h1>{title}</h1>
          {subtitle && <p>{subtitle}</p>}
        </div>
      </header>
      <div className="page-body">{children}</div>
    </main>
  );
}
