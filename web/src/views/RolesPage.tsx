// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { catalog, roles } from '../api/client';
import type { Catalog, Condition, Role, RoleSpec } from '../api/types';
import { duration } from '../model/format';
import { roleForm } from '../model/setup';
import { Icon } from '../parts/Icon';
import { RoleIcon } from '../parts/RoleIcon';
import { useSite } from '../state/context';
import { joined, orProblem, useLoad, usePolled } from '../state/hooks';
import { Facts, itemsOf, Ready, WhenLoaded } from './Loaded';
import { Page } from './Page';
import { Editor } from './Editor';
import { Connect } from './Connect';
import { EffectivePrompt, Playground } from './Playground';
import { Revisions } from './Revisions';
import { EditLink, SetUp } from './Setup';
import { firstSentence } from './ToolsPage';

/** The roles of a namespace, or the editor of one role. */
export function RolesPage({ onMenu, edit }: { onMenu: () => void; edit?: string }) {
  const { namespace } = useSite();
  const [builtIn, again] = useLoad(catalog, []);
  const [polled] = usePolled(() => roles(namespace), [namespace]);
  return (
    <Page title={edit === undefined ? 'Roles' : edit || 'New role'} subtitle={edit === undefined ? 'The roles of this namespace' : 'A role as YAML. Nothing is written until you apply it'} onMenu={onMenu}>
      <WhenLoaded loaded={joined(builtIn, orProblem(polled))} again={again} what="roles" problem="Roles cannot be read">
        {([builtin, ours]) => (edit === undefined ? <Everything builtin={builtin} ours={ours} /> : <Edited name={edit} builtin={builtin} ours={ours} />)}
      </WhenLoaded>
    </Page>
  );
}

/** The built-in roles and those of the namespace, or why these cannot be listed. */
interface All {
  builtin: Catalog;
  ours: Role[] | string;
}

/** The editor. Without the roles of the namespace, it could replace one that is not shown. */
function Edited({ name, builtin, ours }: All & { name: string }) {
  if (typeof ours === 'string') return <p className="note">{ours}</p>;
  const stored = ours.find(({ metadata }) => metadata.name === name);
  const usual = builtin.roles.find((role) => role.name === name);
  return (
    <Editor
      form={roleForm}
      page="roles"
      name={name}
      stored={stored}
      usual={usual}
      more={(spec, _, typed) => (
        <>
          <Playground name={typed} spec={spec} stored={stored?.spec} builtIn={usual !== undefined} />
          {stored && <Revisions role={name} />}
        </>
      )}
    />
  );
}

function Everything({ builtin, ours }: All) {
  const own = itemsOf(ours);
  const known = new Map(builtin.roles.map((role) => [role.name, role]));
  const overridden = new Set(own.map((role) => role.metadata.name));
  return (
    <>
      <p>
        <SetUp page="roles">New role</SetUp>
      </p>
      {typeof ours === 'string' && <p className="note">{ours}</p>}
      <div className="cards">
        {own.map((role) => (
          <RoleCard key={role.metadata.name} name={role.metadata.name} spec={overlay(known.get(role.metadata.name), role.spec)} own={role.spec} source={sourceOf(role, known.has(role.metadata.name))} skills={role.status?.skills} conditions={role.status?.conditions} />
        ))}
        {builtin.roles
          .filter((role) => !overridden.has(role.name))
          .map((role) => (
            <RoleCard key={role.name} name={role.name} spec={role} source="built in" />
          ))}
      </div>
    </>
  );
}

/** The operator's namespace also has the built-in roles, as they were installed. */
function sourceOf({ metadata }: Role, changes: boolean) {
  if (metadata.labels?.['nestor.dev/built-in']) return 'built in';
  return changes ? 'changed here' : 'this namespace';
}

/** A role of the namespace contains only the differences to the built-in role of the same name. */
const overlay = (builtIn: RoleSpec | undefined, spec: RoleSpec): RoleSpec => ({ ...builtIn, ...spec, limits: { ...builtIn?.limits, ...spec.limits } });

function RoleCard({ name, spec, own = {}, source, skills, conditions }: { name: string; spec: RoleSpec; own?: unknown; source: string; skills?: NonNullable<Role['status']>['skills']; conditions?: Condition[] }) {
  const [prompt, setPrompt] = useState(false);
  const facts: [string, string | undefined][] = [
    ['Tools', spec.tools?.allow ? spec.tools.allow.join(', ') || 'none' : 'the built-in ones'],
    ['Delegates to', spec.delegation?.roles?.join(', ')],
    ['Skills', skills?.map((skill) => `${skill.name}: ${firstSentence(skill.description)}`).join(' ')],
    ['Reviewed by', spec.review?.role],
    ['Result data', Object.keys(spec.outputSchema?.properties ?? {}).join(', ')],
    ['Approval', { Always: 'every tool', Never: 'no tool', WriteTools: 'tools that change something' }[spec.approval?.mode ?? 'WriteTools']],
    ['As a tool', spec.asTool?.name],
    ['Limits', [spec.limits?.maxIterations && `${spec.limits.maxIterations} iterations`, spec.limits?.maxDurationSeconds && duration(spec.limits.maxDurationSeconds * 1000)].filter(Boolean).join(', ')],
    ['Model', spec.model],
  ];
  return (
    <article className="card" aria-label={spec.displayName ?? name}>
      <header>
        <RoleIcon role={name} large />
        <div>
          <h2>{spec.displayName ?? name}</h2>
          <span className="muted mono">{name}</span>
        </div>
        <span className="source">{source}</span>
      </header>
      {spec.description && <p>{spec.description}</p>}
      <Ready conditions={conditions} onlyTrouble />
      <Facts facts={facts} />
      {prompt && <EffectivePrompt role={name} spec={own} open />}
      <footer className="card-foot">
        {!prompt && (
          <button type="button" className="button small" aria-label={`Prompt of ${spec.displayName ?? name}`} onClick={() => setPrompt(true)}>
            <Icon name="eye" size={14} /> Prompt
          </button>
        )}
        <EditLink page="roles" name={name} label={spec.displayName} />
        <Connect role={name} label={spec.displayName ?? name} />
      </footer>
    </article>
  );
}
