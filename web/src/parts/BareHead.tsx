// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { Icon } from './Icon';

/** Shows the sidebar on a narrow screen. */
export function MenuButton({ onMenu }: { onMenu: () => void }) {
  return (
    <button type="button" className="button ghost icon-only menu" aria-label="Show chats" onClick={onMenu}>
      <Icon name="menu" />
    </button>
  );
}

/** The head of a view that has no title of its own. */
export function BareHead({ onMenu }: { onMenu: () => void }) {
  return (
    <header className="chat-head bare">
      <MenuButton onMenu={onMenu} />
    </header>
  );
}
