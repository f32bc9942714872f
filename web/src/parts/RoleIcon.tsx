// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useSite } from '../state/context';
import { Icon } from './Icon';

/** The icon of a role: its emoji, or the first letter of its name. */
export function RoleIcon({ role, tool = false, large = false }: { role?: string; tool?: boolean; large?: boolean }) {
  const { roles } = useSite();
  const { icon, displayName, name } = roles(role);
  return (
    <span className={`role-icon${large ? ' large' : ''}`} aria-hidden="true">
      {tool ? <Icon name="tool" size={large ? 18 : 14} /> : isPicture(icon) ? icon : (displayName || name || '?').slice(0, 1).toUpperCase()}
    </span>
  );
}

const isPicture = (icon: string | undefined): icon is string => icon !== undefined && /\p{Extended_Pictographic}/u.test(icon);

export function useRoleName() {
  const { roles } = useSite();
  return (role: string | undefined) => {
    const { displayName, name } = roles(role);
    return displayName || name || 'Agent';
  };
}
