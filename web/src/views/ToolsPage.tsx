// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { catalog, toolServers } from '../api/client';
import type { Condition, ToolInfo } from '../api/types';
import { pretty } from '../model/format';
import { useSite } from '../state/context';
import { joined, orProblem, useLoad, usePolled } from '../state/hooks';
import { Icon } from '../parts/Icon';
import { Code } from '../parts/Markdown';
import { Ready, Trouble, WhenLoaded } from './Loaded';
import { Page } from './Page';
import { EditLink, SetUp, ToolServerSetup } from './Setup';
import { TryTool } from './TryTool';

/** The tools of a namespace, with their schemas, and a form to call each. */
export function ToolsPage({ onMenu, edit }: { onMenu: () => void; edit?: string }) {
  const { namespace } = useSite();
  const [builtIn, again] = useLoad(catalog, []);
  const [polled] = usePolled(() => toolServers(namespace), [namespace]);
  return (
    <Page title={edit === undefined ? 'Tools' : edit || 'New tool server'} subtitle={edit === undefined ? 'The tools that agents of this namespace may have' : 'Nothing is written until you apply it'} onMenu={onMenu}>
      <WhenLoaded loaded={joined(builtIn, orProblem(polled))} again={again} what="tools" problem="Tools cannot be read">
        {([known, servers]) =>
          edit !== undefined ? (
            <ToolServerSetup name={edit} all={servers} />
          ) : (
          <>
            <p>
              <SetUp page="tools">New tool server</SetUp>
            </p>
            {typeof servers === 'string' ? (
              <p className="note">{servers}</p>
            ) : servers.length === 0 ? (
              <p className="muted">No tool servers in this namespace. A ToolServer adds the tools of an MCP server.</p>
            ) : (
              servers.map(({ metadata, status }) => (
                <ToolList key={metadata.name} title={metadata.name} prefix={`${metadata.name}__`} tools={status?.tools ?? []} conditions={status?.conditions ?? []} edit={metadata.name} />
              ))
            )}
            <ToolList title="Built in" tools={known.tools} />
            <ToolList title="Workspace" about="Agents with a workspace have these tools for its files." tools={known.workspaceTools} workspace />
          </>
        )
        }
      </WhenLoaded>
    </Page>
  );
}

function ToolList({ title, about, tools, prefix = '', conditions, workspace = false, edit }: { title: string; about?: string; tools: ToolInfo[]; prefix?: string; conditions?: Condition[]; workspace?: boolean; edit?: string }) {
  const changed = conditions?.find((condition) => condition.type === 'ToolsChanged' && condition.status === 'True');
  return (
    <section className="panel" aria-label={`Tools: ${title}`}>
      <h2>
        {title} <Ready conditions={conditions} /> {edit && <EditLink page="tools" name={edit} />}
      </h2>
      {about && <p className="muted">{about}</p>}
      {changed && <Trouble>{changed.message}</Trouble>}
      <ul className="tool-list">
        {tools.map((tool) => (
          <Tool key={tool.name} tool={tool} name={prefix + tool.name} workspace={workspace} />
        ))}
      </ul>
    </section>
  );
}

function Tool({ tool, name, workspace }: { tool: ToolInfo; name: string; workspace: boolean }) {
  const { person } = useSite();
  const [open, setOpen] = useState(false);
  const description = tool.description ?? '';
  const brief = firstSentence(description);
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Icon name="chevron" size={12} />
          <code>{name}</code>
          <span className="tool-about">{brief}</span>
          <span className={`source${tool.readOnly && !tool.withheld ? '' : ' writes'}`}>{tool.withheld ? 'withheld' : tool.readOnly ? 'read-only' : 'needs approval'}</span>
        </summary>
        {open && (
          <div className="tool-open">
            {description.length > brief.length && <p className="tool-description">{description}</p>}
            {tool.withheld ? (
              <p className="muted">This tool is withheld from agents until its change is accepted.</p>
            ) : person.may.createTasks ? (
              <TryTool name={name} tool={tool} workspace={workspace} />
            ) : (
              <p className="muted">You may not create tasks in this namespace, so you cannot try the tool.</p>
            )}
            {tool.schemaOmitted && <p className="muted">The schema of the arguments is not shown: it is too large, or contains characters that are not visible.</p>}
            {tool.inputSchema !== undefined && (
              <details className="numbers">
                <summary>Schema of the arguments</summary>
                <Code text={pretty(JSON.stringify(tool.inputSchema))} label={`Schema of ${name}`} />
              </details>
            )}
          </div>
        )}
      </details>
    </li>
  );
}

export const firstSentence = (text: string) => /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
