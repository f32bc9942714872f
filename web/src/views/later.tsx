// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { lazy, type ComponentType } from 'react';
import { Empty } from '../parts/Empty';

/**
 * Returns a view whose script is loaded when it is first shown. After an upgrade of the server, the script of an open page no longer exists:
 * the view then asks the person to reload.
 */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return lazy(async () => ({ default: await load().catch(() => Outdated) }));
}

function Outdated() {
  const reload = (
    <button type="button" className="button primary" onClick={() => location.reload()}>
      Reload
    </button>
  );
  return (
    <main className="center" id="main">
      <Empty alert icon="alert" title="This view cannot be loaded" actions={reload}>
        The server does not answer, or has another version than this page.
      </Empty>
    </main>
  );
}
