// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { catalog, providers, roles, toolServers } from '../api/client';
import type { Condition, Role, RoleSpec, ToolInfo } from '../api/types';
import { duration } from '../model/format';
import { Loading, Empty } from '../parts/Empty';
import { Icon } from '../parts/Icon';
import { RoleIcon } from '../parts/RoleIcon';
import { useSite } from '../state/context';
import { useLoad } from '../state/hooks';
import { Page } from './Page';

/** The roles, tools and model providers of a namespace. */
export function RolesPage({ onMenu }: { onMenu: () => void }) {
  const { namespace } = useSite();
  const [loaded, again] = useLoad(() => loadAll(namespace), [namespace]);
  return (
    <Page title="Roles and tools" subtitle="The roles, tools and model providers of this namespace" onMenu={onMenu}>
      {loaded.state === 'loading' && <Loading what="roles" lines={6} />}
      {loaded.state === 'failed' && (
        <Empty alert icon="alert" title="Roles cannot be read" actions={<button type="button" className="button" onClick={again}>Try again</button>}>
          {loaded.error.message}
        </Empty>
      )}
      {loaded.state === 'done' && <Everything all={loaded.value} />}
    </Page>
  );
}

/** Kinds that the person may not list are reported; the rest is shown. */
async function loadAll(namespace: string) {
  const quiet = <T,>(list: Promise<T[]>) => list.catch((error: Error) => error.message);
  const [builtin, ours, servers, models] = await Promise.all([catalog(), quiet(roles(namespace)), quiet(toolServers(namespace)), quiet(providers(namespace))]);
  return { builtin, ours, servers, models };
}

function Everything({ all: { builtin, ours, servers, models } }: { all: Awaited<ReturnType<typeof loadAll>> }) {
  const own = typeof ours === 'string' ? [] : ours;
  const known = new Map(builtin.roles.map((role) => [role.name, role]));
  const overridden = new Set(own.map((role) => role.metadata.name));
  return (
    <>
      <h2>Roles</h2>
      {typeof ours === 'string' && <p className="note">{ours}</p>}
      <div className="cards">
        {own.map((role) => (
          <RoleCard key={role.metadata.name} name={role.metadata.name} spec={overlay(known.get(role.metadata.name), role.spec)} source={known.has(role.metadata.name) ? 'changed here' : 'this namespace'} skills={role.status?.skills} conditions={role.status?.conditions} />
        ))}
        {builtin.roles
          .filter((role) => !overridden.has(role.name))
          .map((role) => (
            <RoleCard key={role.name} name={role.name} spec={role} source="built in" />
          ))}
      </div>
      <h2>Tools</h2>
      <ToolTable title="Built in" tools={builtin.tools} />
      {typeof servers === 'string' ? (
        <p className="note">{servers}</p>
      ) : servers.length === 0 ? (
        <p className="muted">No tool servers in this namespace. A ToolServer adds the tools of an MCP server.</p>
      ) : (
        servers.map((server) => (
          <ToolTable key={server.metadata.name} title={server.metadata.name} prefix={`${server.metadata.name}__`} tools={server.status?.tools ?? []} conditions={server.status?.conditions} />
        ))
      )}
      <h2>Model providers</h2>
      {typeof models === 'string' ? (
        <p className="note">{models}</p>
      ) : models.length === 0 ? (
        <p className="muted">No model providers in this namespace. Without one named default, chats use a shared one, or wait for one.</p>
      ) : (
        <ul className="plain">
          {models.map((provider) => (
            <li key={provider.metadata.name}>
              <span className="mono">{provider.metadata.name}</span>
              <span className="muted">{provider.spec.defaultModel}</span>
              <Ready conditions={provider.status?.conditions} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** A role of the namespace contains only the differences to the built-in role of the same name. */
const overlay = (builtIn: RoleSpec | undefined, spec: RoleSpec): RoleSpec => ({ ...builtIn, ...spec, limits: { ...builtIn?.limits, ...spec.limits } });

function RoleCard({ name, spec, source, skills, conditions }: { name: string; spec: RoleSpec; source: string; skills?: NonNullable<Role['status']>['skills']; conditions?: Condition[] }) {
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
          <h3>{spec.displayName ?? name}</h3>
          <span className="muted mono">{name}</span>
        </div>
        <span className="source">{source}</span>
      </header>
      {spec.description && <p>{spec.description}</p>}
      <Ready conditions={conditions} onlyTrouble />
      <dl>
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
    </article>
  );
}

function ToolTable({ title, tools, prefix = '', conditions }: { title: string; tools: ToolInfo[]; prefix?: string; conditions?: Condition[] }) {
  return (
    <section className="panel">
      <h3>
        {title} <Ready conditions={conditions} />
      </h3>
      <Changed conditions={conditions} />
      <ul className="tools">
        {tools.map((tool) => (
          <li key={tool.name}>
            <code>{prefix + tool.name}</code>
            <span>{firstSentence(tool.description ?? '')}</span>
            <span className={`source${tool.readOnly && !tool.withheld ? '' : ' writes'}`}>{tool.withheld ? 'withheld' : tool.readOnly ? 'read-only' : 'needs approval'}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const firstSentence = (text: string) => /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;

/** Reports that tools of a server differ from the pinned ones, and how to accept them. */
function Changed({ conditions }: { conditions?: Condition[] }) {
  const changed = conditions?.find((condition) => condition.type === 'ToolsChanged' && condition.status === 'True');
  if (!changed) return null;
  return (
    <span className="note failed">
      <Icon name="alert" size={14} /> <span>{changed.message}</span>
    </span>
  );
}

function Ready({ conditions, onlyTrouble = false }: { conditions?: Condition[]; onlyTrouble?: boolean }) {
  const ready = conditions?.find((condition) => condition.type === 'Ready');
  if (!ready || (onlyTrouble && ready.status === 'True')) return null;
  return ready.status === 'True' ? (
    <span className="badge badge-success">
      <Icon name="check" size={12} /> Ready
    </span>
  ) : (
    <span className="note failed">
      <Icon name="alert" size={14} /> <span>{ready.message || ready.reason}</span>
    </span>
  );
}
