// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Person, Task } from '../api/types';

/** Who requests a task. Groups count only for a tool of a server, which may be shared by another namespace. */
export function requesterOf({ user, groups }: Pick<Person, 'user' | 'groups'>, tool?: string): Pick<Task['spec'], 'user' | 'userGroups'> {
  return tool?.includes('__') && groups?.length ? { user, userGroups: groups } : { user };
}
