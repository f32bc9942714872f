// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { createContext, use, useSyncExternalStore } from 'react';
import type { Catalog, Person, Role, RoleSpec } from '../api/types';
import type { Snapshot, Store } from './store';

/** The context that is shared by all components. */
export interface Site {
  store: Store;
  person: Person;
  namespace: string;
  /** Shows a notice. */
  toast: (text: string, kind?: 'info' | 'error') => void;
  roles: (name: string | undefined) => RoleSpec & { name: string };
}

export const SiteContext = createContext<Site | undefined>(undefined);

export function useSite(): Site {
  const site = use(SiteContext);
  if (!site) throw new Error('no site around');
  return site;
}

export function useSnapshot(): Snapshot {
  const { store } = useSite();
  return useSyncExternalStore(store.subscribe, store.read);
}

/** Finds roles by name: those of the namespace take precedence over the built-in ones. */
export function roleFinder(catalog: Catalog | undefined, roles: Role[]): Site['roles'] {
  const known = new Map<string, RoleSpec & { name: string }>();
  for (const role of catalog?.roles ?? []) known.set(role.name, role);
  for (const role of roles) known.set(role.metadata.name, { ...known.get(role.metadata.name), ...role.spec, name: role.metadata.name });
  return (name) => known.get(name ?? '') ?? { name: name ?? '', displayName: name };
}
