// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from 'react';
import { fireTrigger, triggers, triggerMessages, triggerTasks } from '../api/client';
import type { Message, Task, Trigger } from '../api/types';
import { ago, day, duration, money, plural, tokens, whole } from '../model/format';
import { parseJson } from '../model/schema';
import { outcomeOf, runsOf, sourceOf, type Run } from '../model/triggers';
import { Badge } from '../parts/Badge';
import { DataView } from '../parts/DataView';
import { Dialog } from '../parts/Dialog';
import { Empty } from '../parts/Empty';
import { useSite } from '../state/context';
import { useNow, usePolled } from '../state/hooks';
import { hrefOf, useLink } from '../state/route';
import { Facts, itemsOf, quiet, Trouble, WhenLoaded } from './Loaded';
import { Page } from './Page';
import { EditLink, SetUp, TriggerSetup } from './Setup';

/** How many runs of a trigger are shown. */
const shownRuns = 10;

/** The triggers of a namespace, and their runs. */
export function TriggersPage({ onMenu, edit }: { onMenu: () => void; edit?: string }) {
  const { namespace } = useSite();
  const [loaded, again] = usePolled(() => loadAll(namespace), [namespace]);
  return (
    <Page title={edit === undefined ? 'Triggers' : edit || 'New trigger'} subtitle={edit === undefined ? 'Work that starts automatically: on a schedule, for webhooks, or when objects change' : 'Nothing is written until you apply it'} onMenu={onMenu}>
      <WhenLoaded loaded={loaded} again={again} what="triggers" problem="Triggers cannot be read">
        {(all) => (edit === undefined ? <All all={all} onFired={again} /> : <TriggerSetup name={edit} all={all.found} />)}
      </WhenLoaded>
    </Page>
  );
}

/** Runs that the person may not list are reported; the rest is shown. */
async function loadAll(namespace: string) {
  const at = performance.now();
  const [found, tasks, messages] = await Promise.all([triggers(namespace), quiet(triggerTasks(namespace)), quiet(triggerMessages(namespace))]);
  return { at, found, tasks, messages };
}

function All({ all: { at, found, tasks, messages }, onFired }: { all: Awaited<ReturnType<typeof loadAll>>; onFired: () => void }) {
  const problems = [tasks, messages].filter((list) => typeof list === 'string');
  if (found.length === 0) return <Empty icon="clock" title="No triggers yet" actions={<SetUp page="triggers">Set up a trigger</SetUp>}>An AgentTrigger starts a task, or writes to a chat, automatically.</Empty>;
  return (
    <>
      <p>
        <SetUp page="triggers">New trigger</SetUp>
      </p>
      {problems.map((problem) => (
        <p key={problem} className="note">
          {problem}
        </p>
      ))}
      {found.map((trigger) => (
        <TriggerPanel key={trigger.metadata.uid} at={at} trigger={trigger} tasks={itemsOf(tasks)} messages={itemsOf(messages)} onFired={onFired} />
      ))}
    </>
  );
}

function TriggerPanel({ at, trigger, tasks, messages, onFired }: { at: number; trigger: Trigger; tasks: Task[]; messages: Message[]; onFired: () => void }) {
  const now = useNow(true, 15_000);
  const { name } = trigger.metadata;
  const { spec, status = {} } = trigger;
  const runs = runsOf(trigger, tasks, messages);
  const facts: [string, string | undefined][] = [
    ['Source', sourceOf(spec)],
    ['Starts', spec.task ? `a task of the role ${spec.task.role}` : `a message to the chat ${spec.message?.chat}`],
    ['Next', status.nextScheduleTime && `${day(status.nextScheduleTime)} (in ${until(status.nextScheduleTime, now)})`],
    ['Last', status.lastFiredTime && `${day(status.lastFiredTime)} (${ago(status.lastFiredTime, now)})`],
    ['Firings', [plural(status.firings ?? 0, 'firing'), `${whole(status.active?.length ?? 0)} active`, `${whole(status.dropped ?? 0)} dropped`].join(', ')],
    ['Last drop', status.lastDrop && `${day(status.lastDrop.time)}: ${status.lastDrop.message || status.lastDrop.reason}`],
  ];
  return (
    <section className="panel trigger" aria-label={`Trigger ${name}`}>
      <header className="trigger-head">
        <h2 className="mono">{name}</h2>
        <State trigger={trigger} />
        <Fire at={at} trigger={trigger} onFired={onFired} />
        <EditLink page="triggers" name={name} />
      </header>
      <Facts className="trigger-facts" facts={facts} />
      {runs.length === 0 ? (
        <p className="muted">No runs.</p>
      ) : (
        <ul className="runs" aria-label={`Runs of ${name}`}>
          {runs.slice(0, shownRuns).map((run) => (
            <RunItem key={run.name} run={run} now={now} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** How long until a time: in days if they are many. */
function until(time: string, now: number): string {
  const left = Math.max(0, Date.parse(time) - now);
  return left < 2 * 86_400_000 ? duration(left) : plural(Math.floor(left / 86_400_000), 'day');
}

function State({ trigger }: { trigger: Trigger }) {
  const ready = trigger.status?.conditions?.find((condition) => condition.type === 'Ready');
  if (trigger.spec.suspend) return <Badge kind="cancelled" label="Suspended" />;
  if (!ready) return <Badge kind="pending" label="Not checked yet" />;
  if (ready.status === 'True') return <Badge kind="success" label="Ready" />;
  return (
    <Trouble>
      {ready.reason}: {ready.message}
    </Trouble>
  );
}

function RunItem({ run, now }: { run: Run; now: number }) {
  const { namespace } = useSite();
  const link = useLink(run.chat ? hrefOf({ namespace, chat: run.chat }) : hrefOf({ namespace, run: run.name }));
  const { status } = run.task ?? {};
  const facts = [
    status?.durationSeconds !== undefined && duration(status.durationSeconds * 1000),
    status?.iterations && plural(status.iterations, 'iteration'),
    status?.usage?.totalTokens && `${tokens(status.usage.totalTokens)} tokens`,
    status?.usage?.modelCalls && `cost ${money(status.usage.costMicros, status.usage.currency)}`,
    `firing ${run.firing}`,
  ].filter(Boolean);
  return (
    <li>
      <details>
        <summary>
          <Badge kind={run.badge} label={run.chat && run.badge === 'success' ? 'Handled' : undefined} />
          <span className="run-text">{run.text ?? run.name}</span>
          <span className="run-time" title={day(run.time)}>
            {ago(run.time, now)}
          </span>
        </summary>
        <p className="run-facts">
          <a {...link}>{run.chat ? `chat ${run.chat}` : run.name}</a>
          {facts.map((fact) => (
            <span key={String(fact)}>{fact}</span>
          ))}
        </p>
        {run.result?.details && <p className="run-details">{run.result.details}</p>}
        {run.result?.data && <DataView data={run.result.data} />}
      </details>
    </li>
  );
}

/** The button that fires a trigger, as it was read at a time. Webhooks and watches get an input for their expressions. */
function Fire({ at, trigger, onFired }: { at: number; trigger: Trigger; onFired: () => void }) {
  const site = useSite();
  const { name } = trigger.metadata;
  const [request, setRequest] = useState<{ id: string; since: number }>();
  const [asking, setAsking] = useState(false);
  // What was read before the request does not have it.
  const outcome = request && at >= request.since ? outcomeOf(trigger, request.id) : undefined;
  useEffect(() => {
    if (!outcome || outcome.state === 'waiting') return;
    setRequest(undefined);
    if (outcome.state === 'fired') site.toast(`${name} fired.`);
    else site.toast(`${name} did not fire: ${outcome.reason}`, 'error');
  }, [outcome?.state]);
  if (!site.person.may.fireTriggers) return null;
  const fire = async (input: { body?: unknown; object?: unknown }) => {
    try {
      const { id } = await fireTrigger(site.namespace, name, input);
      setRequest({ id, since: performance.now() });
      setAsking(false);
      onFired();
    } catch (error) {
      site.toast((error as Error).message, 'error');
    }
  };
  const input = trigger.spec.webhook ? 'body' : trigger.spec.watch ? 'object' : undefined;
  return (
    <>
      <button type="button" className="button small" aria-label={`Fire ${name}`} disabled={request !== undefined} onClick={() => (input ? setAsking(true) : void fire({}))}>
        {request === undefined ? 'Fire' : 'Firing'}
      </button>
      {asking && input && <InputDialog name={name} input={input} onFire={fire} onClose={() => setAsking(false)} />}
    </>
  );
}

function InputDialog({ name, input, onFire, onClose }: { name: string; input: 'body' | 'object'; onFire: (input: { body?: unknown; object?: unknown }) => Promise<void>; onClose: () => void }) {
  const [text, setText] = useState('{}');
  const value = parse(text);
  return (
    <Dialog title={`Fire ${name}`} onClose={onClose}>
      <div className="dialog-text">
        <label className="fire-input">
          <span>The {input} that the expressions see, as JSON</span>
          <textarea className="input mono" rows={8} value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} />
        </label>
        {value.problem && <p className="note failed">{value.problem}</p>}
      </div>
      <footer className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button primary" disabled={value.problem !== undefined} onClick={() => void onFire({ [input]: value.json })}>
          Fire
        </button>
      </footer>
    </Dialog>
  );
}

function parse(text: string): { json?: unknown; problem?: string } {
  try {
    return { json: parseJson(text) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
