// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from 'react';
import { createTask, describeSchedule } from '../api/client';
import type { Provider, Resource, ToolServer } from '../api/types';
import { type Form, getIn, type Spec } from '../model/form';
import { day, randomSuffix, slug } from '../model/format';
import { requesterOf } from '../model/requester';
import { providerForm, quotaForm, toolServerForm, triggerForm } from '../model/setup';
import { Code } from '../parts/Code';
import { Icon } from '../parts/Icon';
import { useSite } from '../state/context';
import { useSettled } from '../state/hooks';
import { go, hrefOf, type Route, useLink } from '../state/route';
import { type Edited, Editor } from './Editor';
import { Ready, Trouble } from './Loaded';

/** The link to the form of a new object. */
export function SetUp({ page, children }: { page: Route['page']; children: string }) {
  const { namespace } = useSite();
  return (
    <a className="button small" {...useLink(hrefOf({ namespace, page, edit: '' }))}>
      <Icon name="plus" size={14} /> {children}
    </a>
  );
}

/** The link to the form of an object. */
export function EditLink({ page, name, label }: { page: Route['page']; name: string; label?: string }) {
  const { namespace } = useSite();
  return (
    <a className="button small" {...useLink(hrefOf({ namespace, page, edit: name }))} aria-label={`Edit ${label ?? name}`}>
      <Icon name="edit" size={14} /> Edit
    </a>
  );
}

interface Of<T> {
  name: string;
  all: T[] | string;
}

/** The form of an object of a list. Without the list, it could replace an object that is not shown. */
export function Setup<T extends Resource & { spec: unknown }>({ form, page, name, all, below, more }: Of<T> & { form: Form; page: Route['page']; below?: Edited['below']; more?: (stored: T | undefined, spec: Spec, change: (spec: Spec) => void, name: string) => React.ReactNode }) {
  if (typeof all === 'string') return <p className="note">{all}</p>;
  const stored = all.find(({ metadata }) => metadata.name === name);
  return <Editor form={form} page={page} name={stored ? name : ''} stored={stored} below={below} more={more && ((spec, change, typed) => more(stored, spec, change, typed))} />;
}

export function ProviderSetup(of: Of<Provider>) {
  return <Setup {...of} form={providerForm} page="models" more={(stored) => stored && <TestProvider provider={stored} />} />;
}

/** Whether a provider answers, and a task that shows how its model does. */
function TestProvider({ provider: { metadata, status } }: { provider: Provider }) {
  return (
    <section className="panel" aria-label="Test it">
      <h2>Test it</h2>
      <p>
        <Ready conditions={status?.conditions ?? []} /> The operator calls the endpoint with the key when the provider changes.
      </p>
      <TestModel provider={metadata.name}>Run a task with the default model</TestModel>
    </section>
  );
}

/** Runs a task with the default model of a provider, and goes to it. */
export function TestModel({ provider, children }: { provider: string; children: string }) {
  const site = useSite();
  const ask = async () => {
    try {
      const task = await createTask(site.namespace, slug(`test ${provider}`, randomSuffix()), { type: 'Agent', role: 'general', modelProvider: provider, instruction: 'This is a test of the model. Reply with one short sentence.', ...requesterOf(site.person, ''), ttlSecondsAfterFinished: 86_400 });
      go(hrefOf({ namespace: site.namespace, run: task.metadata.name }));
    } catch (error) {
      site.toast((error as Error).message, 'error');
    }
  };
  if (!site.person.may.createTasks) return null;
  return (
    <button type="button" className="button small" aria-label={`${children}: ${provider}`} onClick={() => void ask()}>
      {children}
    </button>
  );
}

export function ToolServerSetup(of: Of<ToolServer>) {
  return <Setup {...of} form={toolServerForm} page="tools" more={(stored, spec, change) => stored && <Pin server={stored} spec={spec} change={change} />} />;
}

/** The tools that the operator found, and the acceptance of changed ones. */
function Pin({ server: { status }, spec, change }: { server: ToolServer; spec: Spec; change: (spec: Spec) => void }) {
  const changed = status?.conditions?.find(({ type, status: is }) => type === 'ToolsChanged' && is === 'True');
  const digest = status?.toolsDigest;
  return (
    <section className="panel" aria-label="Tools of the server">
      <h2>Try and pin</h2>
      <p>
        <Ready conditions={status?.conditions ?? []} /> {status?.toolCount ?? 0} tools. Each has a form to try it in the list of tools.
      </p>
      {changed && <Trouble>{changed.message}</Trouble>}
      {changed && digest && spec.acceptedToolsDigest !== digest && (
        <button type="button" className="button small" onClick={() => change({ ...spec, acceptedToolsDigest: digest })}>
          Accept the tools as they are now
        </button>
      )}
    </section>
  );
}

function timesOf(spec: Spec) {
  const cron = getIn(spec, ['schedule', 'cron']);
  return cron !== undefined && <NextTimes cron={String(cron)} timeZone={String(getIn(spec, ['schedule', 'timeZone']) ?? '')} />;
}

export function TriggerSetup(of: Of<Resource & { spec: unknown }>) {
  const { namespace } = useSite();
  return (
    <Setup
      {...of}
      form={triggerForm}
      page="triggers"
      below={{ 'schedule.cron': timesOf }}
      more={(_, spec, __, name) => spec.webhook !== undefined && <TryWebhook namespace={namespace} name={name || 'NAME'} />}
    />
  );
}

/** A schedule in words with its next times, as the server computed them. */
export function NextTimes({ cron, timeZone }: { cron: string; timeZone: string }) {
  const [wantedCron, wantedZone] = useSettled(`${cron}\n${timeZone}`).split('\n') as [string, string];
  const [answer, setAnswer] = useState<{ words: string; next: string[] } | { problem: string }>();
  useEffect(() => {
    let current = true;
    describeSchedule(wantedCron, wantedZone).then(
      (found) => current && setAnswer(found),
      (error: Error) => current && setAnswer({ problem: error.message }),
    );
    return () => {
      current = false;
    };
  }, [wantedCron, wantedZone]);
  return (
    <section className="next-times" aria-label="Next times" aria-live="polite">
      {answer && 'problem' in answer && <Trouble>{answer.problem}</Trouble>}
      {answer && 'words' in answer && (
        <>
          <p>
            <strong>{answer.words}</strong>, next at:
          </p>
          <ol className="plain">
            {answer.next.map((time) => (
              <li key={time}>
                <time dateTime={time}>{day(time)}</time>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

/** The address of a webhook, and the command that tries it. */
function TryWebhook({ namespace, name }: { namespace: string; name: string }) {
  return (
    <section className="panel" aria-label="Webhook">
      <h2>Send it a request</h2>
      <p className="muted">The gateway receives webhooks. Set its address and the token of the Secret:</p>
      <Code label="Command" language="sh" text={`curl -s "$NESTOR_GATEWAY/hooks/${namespace}/${name}" \\\n  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '{"status": "test"}'`} />
    </section>
  );
}

export const QuotaSetup = (of: Of<Resource & { spec: unknown }>) => <Setup {...of} form={quotaForm} page="usage" />;
