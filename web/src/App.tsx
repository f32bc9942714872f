// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { Suspense, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { catalog, Refusal, roles, Unreachable, whoami } from './api/client';
import { transcriptOf } from './api/history';
import { liveAgents } from './model/live';
import { runsOf, viewOf, waitingOf } from './model/runs';
import { transcriptName } from './model/tree';
import type { Person } from './api/types';
import { BareHead } from './parts/BareHead';
import { Empty, Loading } from './parts/Empty';
import { roleFinder, SiteContext, useSite, useSnapshot, type Site } from './state/context';
import { documentTitle, useNotifications, visitedNamespaces } from './state/alerts';
import { useKeys, useLoad, useMedia, useSettled } from './state/hooks';
import { focusNextRequest } from './state/requests';
import { go, hrefOf, orchestrator, useLink, useRoute, type Route } from './state/route';
import { Store } from './state/store';
import { ConnectionBanner, Toasts, useToasts } from './views/Notices';
import { ChatPage } from './views/ChatPage';
import { Help } from './views/Help';
import { Home } from './views/Home';
import { Palette } from './views/Palette';
import { Sidebar, step } from './views/Sidebar';
import { SignIn } from './views/SignIn';
import { StateBanner } from './views/StateBanner';
import { later } from './views/later';

// Most people open a chat: the script of the other views is loaded when they are first shown.
const RunPage = later(() => import('./views/RunPage').then((view) => view.RunPage));
const RunsPage = later(() => import('./views/RunsPage').then((view) => view.RunsPage));
const RolesPage = later(() => import('./views/RolesPage').then((view) => view.RolesPage));
const ModelsPage = later(() => import('./views/ModelsPage').then((view) => view.ModelsPage));
const ToolsPage = later(() => import('./views/ToolsPage').then((view) => view.ToolsPage));
const PoliciesPage = later(() => import('./views/PoliciesPage').then((view) => view.PoliciesPage));
const EvaluationsPage = later(() => import('./views/EvaluationsPage').then((view) => view.EvaluationsPage));
const TriggersPage = later(() => import('./views/TriggersPage').then((view) => view.TriggersPage));
const UsagePage = later(() => import('./views/UsagePage').then((view) => view.UsagePage));

/** The page: signs the person in, then shows what they may see. */
export function App() {
  const route = useRoute();
  const [loaded, again] = useLoad(() => whoami(route?.namespace), [route?.namespace]);
  const person = loaded.state === 'done' ? loaded.value : undefined;
  useEffect(() => {
    if (!route && person) go(hrefOf({ namespace: person.namespace }), true);
  }, [route, person]);
  if (loaded.state === 'failed') return <Outside error={loaded.error} again={again} />;
  if (!person || !route || person.namespace !== route.namespace) {
    return (
      <main className="center" id="main">
        <Loading what="Nestor" />
      </main>
    );
  }
  return <Inside key={route.namespace} person={person} route={route} again={again} />;
}

/** Shown to a person who cannot sign in, or if the server does not answer. */
function Outside({ error, again }: { error: Error; again: () => void }) {
  if (error instanceof Refusal && error.signedOut) return <SignIn by={error.signIn ?? 'token'} reason={error.message} onDone={again} />;
  const retry = (
    <button type="button" className="button primary" onClick={again}>
      Try again
    </button>
  );
  return (
    <main className="center" id="main">
      <Empty page alert icon="alert" title={error instanceof Unreachable ? 'The server does not answer' : 'The cluster does not answer'} actions={retry}>
        {error.message}
      </Empty>
    </main>
  );
}

/** How many entries of a transcript are loaded at first. Of the chat's own transcript only the current reply is needed. */
const tail = 200;

function Inside({ person, route, again }: { person: Person; route: Route; again: () => void }) {
  const { namespace } = person;
  const [store] = useState(() => new Store());
  const toasts = useToasts();
  const [known] = useLoad(() => Promise.all([catalog(), roles(namespace).catch(() => [])]), [namespace]);
  const find = useMemo(() => roleFinder(known.state === 'done' ? known.value[0] : undefined, known.state === 'done' ? known.value[1] : []), [known]);
  const site = useMemo<Site>(() => ({ store, person, namespace, toast: toasts.show, roles: find }), [store, person, namespace, toasts.show, find]);
  const agent = useSyncExternalStore(store.subscribe, () => route.agent && (route.agent === orchestrator ? transcriptOf('chat', route.chat ?? '') : transcriptName(store.read().tasks, route.agent)));
  const running = useSettled(useSyncExternalStore(store.subscribe, () => ((route.chat || route.run) && person.may.readTranscripts ? liveAgents(store.read().tasks).join(' ') : '')));
  const [visited] = useState(() => visitedNamespaces(namespace));
  useEffect(() => {
    if (!person.may.readChats) return;
    const transcripts = person.may.readTranscripts && route.chat ? [{ name: transcriptOf('chat', route.chat), tail: 100 }] : [];
    if (agent && transcripts[0]?.name !== agent) transcripts.push({ name: agent, tail });
    for (const other of running.split(' ')) if (other && transcriptOf('subagent', other) !== agent) transcripts.push({ name: transcriptOf('subagent', other), tail: 1 });
    store.listen({ namespace, chat: route.chat, task: route.run, transcripts, runs: visited });
  }, [store, namespace, person.may, route.chat, route.run, agent, running, visited]);
  useEffect(() => () => store.stop(), [store]);
  return (
    <SiteContext value={site}>
      <Frame route={route} person={person} again={again} />
      <Toasts toasts={toasts.toasts} onClose={toasts.close} />
    </SiteContext>
  );
}

function Frame({ route, person, again }: { route: Route; person: Person; again: () => void }) {
  const { chats, connection, inbox } = useSnapshot();
  const waiting = useMemo(() => waitingOf(runsOf(inbox.chats, inbox.tasks)), [inbox]);
  const chat = chats.find((known) => known.metadata.name === route.chat);
  const place = chat ? viewOf(chat).title : (route.chat ?? route.run);
  useNotifications(waiting, inbox.synced);
  useEffect(() => {
    document.title = documentTitle(waiting.length, place);
  }, [waiting.length, place]);
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  const address = hrefOf(route);
  const last = useRef(address);
  useEffect(() => {
    if (last.current !== address) setMenu(false);
    last.current = address;
  }, [address]);
  // The menu covers a narrow window only: a wide one shows the chats beside the content.
  const narrow = useMedia('(max-width: 860px)');
  useEffect(() => setMenu(false), [narrow]);
  const onMenu = useCallback(() => setMenu((open) => !open), []);
  useKeys({
    n: () => go(hrefOf({ namespace: person.namespace })),
    r: () => go(hrefOf({ namespace: person.namespace, page: 'runs' })),
    j: () => step(chats, person.namespace, route.chat, 1),
    k: () => step(chats, person.namespace, route.chat, -1),
    w: () => focusNextRequest() || go(hrefOf({ namespace: person.namespace, page: 'runs' })),
    '?': () => setHelp(true),
  });
  if (connection.state === 'refused' && connection.refusal.signedOut) return <SignIn by={person.signIn} reason={connection.refusal.message} onDone={again} />;
  return (
    <div className={`frame${menu ? ' menu-open' : ''}`}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Sidebar route={route} onHelp={() => setHelp(true)} />
      {menu && <button type="button" className="scrim" aria-label="Hide chats" onClick={() => setMenu(false)} />}
      <div className="content">
        <ConnectionBanner connection={connection} />
        {connection.state !== 'offline' && <StateBanner namespace={person.namespace} />}
        <Suspense fallback={<LoadingView />}>{person.namespaceMissing ? <NoNamespace person={person} again={again} onMenu={onMenu} /> : !person.may.readChats ? <NoRights person={person} again={again} onMenu={onMenu} /> : <Content route={route} onMenu={onMenu} />}</Suspense>
      </div>
      {help && <Help onClose={() => setHelp(false)} />}
      <Palette />
    </div>
  );
}

function LoadingView() {
  return (
    <main className="center" id="main">
      <Loading what="the view" />
    </main>
  );
}

function Content({ route, onMenu }: { route: Route; onMenu: () => void }) {
  switch (route.page) {
    case 'chat':
      return <ChatPage key={route.chat} route={{ ...route, chat: route.chat! }} onMenu={onMenu} />;
    case 'runs':
      return <RunsPage onMenu={onMenu} />;
    case 'run':
      return <RunPage key={route.run} route={{ ...route, run: route.run! }} onMenu={onMenu} />;
    case 'roles':
      return <RolesPage key={route.edit} edit={route.edit} onMenu={onMenu} />;
    case 'models':
      return <ModelsPage key={route.edit} edit={route.edit} onMenu={onMenu} />;
    case 'tools':
      return <ToolsPage key={route.edit} edit={route.edit} onMenu={onMenu} />;
    case 'policies':
      return <PoliciesPage key={route.edit} edit={route.edit} onMenu={onMenu} />;
    case 'evaluations':
      return <EvaluationsPage key={route.evaluation} name={route.evaluation} onMenu={onMenu} />;
    case 'triggers':
      return <TriggersPage key={route.edit} edit={route.edit} onMenu={onMenu} />;
    case 'usage':
      return <UsagePage key={route.edit} edit={route.edit} onMenu={onMenu} />;
    case 'unknown':
      return <Unknown onMenu={onMenu} />;
    default:
      return <Home onMenu={onMenu} />;
  }
}

/** Shown for an address that leads nowhere. */
function Unknown({ onMenu }: { onMenu: () => void }) {
  const { namespace } = useSite();
  const home = useLink(hrefOf({ namespace }));
  return (
    <main className="chat-main" id="main">
      <BareHead onMenu={onMenu} />
      <Empty page icon="search" title="Page not found" actions={<a className="button primary" {...home}>To the start page</a>}>
        <p>
          Nothing is at <code>{location.pathname}</code>.
        </p>
      </Empty>
    </main>
  );
}

/** Shown for a namespace that does not exist. */
function NoNamespace({ person: { namespace }, again, onMenu }: { person: Person; again: () => void; onMenu: () => void }) {
  return (
    <main className="chat-main" id="main">
      <BareHead onMenu={onMenu} />
      <Empty
        page
        alert
        icon="search"
        title="Namespace not found"
        actions={
          <button type="button" className="button" onClick={again}>
            Try again
          </button>
        }
      >
        <p>
          There is no namespace <strong>{namespace}</strong> in this cluster. Choose another one in the sidebar, or create it:
        </p>
        <pre className="code">
          <code>{`kubectl create namespace ${namespace}`}</code>
        </pre>
      </Empty>
    </main>
  );
}

/** Shown to a person without permissions in this namespace. */
function NoRights({ person, again, onMenu }: { person: Person; again: () => void; onMenu: () => void }) {
  return (
    <main className="chat-main" id="main">
      <BareHead onMenu={onMenu} />
      <Empty
        page
        alert
        icon="key"
        title={`You may not see the chats of ${person.namespace}`}
        actions={
          <button type="button" className="button" onClick={again}>
            Try again
          </button>
        }
      >
        <p>
          You are signed in as <strong>{person.user}</strong>. Choose another namespace in the sidebar, or ask a cluster administrator to grant you the role nestor-user in {person.namespace}:
        </p>
        <pre className="code">
          <code>{`kubectl create rolebinding nestor-user -n ${person.namespace} \\\n  --clusterrole=nestor-user --user=${person.user}`}</code>
        </pre>
      </Empty>
    </main>
  );
}
