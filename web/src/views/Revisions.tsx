// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { diffRevisions, promoteRole, revisionsOf } from '../api/client';
import type { Revision, Revisions as All } from '../api/types';
import { reportedHunks } from '../model/diff';
import { brief, day } from '../model/format';
import { Dialog } from '../parts/Dialog';
import { DiffLines } from '../parts/DiffView';
import { useSite } from '../state/context';
import { useLoad, usePolled } from '../state/hooks';
import { EvaluationsOf } from './EvaluationsPage';
import { WhenLoaded } from './Loaded';

const states = { Current: 'current', Promoted: 'promoted', Previous: 'promoted before', Rejected: 'rolled back' };

/** The recorded revisions of a role: what changed between them, and which one runs begin with. */
export function Revisions({ role }: { role: string }) {
  const { namespace, person } = useSite();
  const [loaded, again] = usePolled(() => revisionsOf(namespace, role), [namespace, role]);
  return (
    <section className="panel revisions" aria-label="Revisions">
      <h2>Revisions</h2>
      <WhenLoaded loaded={loaded} again={again} what="revisions" problem="Revisions cannot be read">
        {(all) => <List role={role} all={all} onPromoted={again} />}
      </WhenLoaded>
      {person.may.readEvaluations && <EvaluationsOf role={role} />}
    </section>
  );
}

function List({ role, all: { items, gated, promoting }, onPromoted }: { role: string; all: All; onPromoted: () => void }) {
  const { person } = useSite();
  const [shown, setShown] = useState<string>();
  const [asked, setAsked] = useState<Revision>();
  const revisions = items ?? [];
  const promoted = revisions.find(({ states: has }) => has?.includes('Promoted'));
  const may = gated && person.may['promote/agentroles'];
  return (
    <>
      <p className="muted">
        {gated ? 'Runs begin with the promoted revision.' : 'Runs begin with the current revision. With promotion.mode Gated, they begin with the promoted one.'}
        {gated && !may && ' To promote a revision, you need the verb promote on the AgentRole.'}
      </p>
      {promoting && <p role="status">The operator has not handled the promotion of {brief(promoting)} yet.</p>}
      {revisions.length === 0 && <p className="muted">No revision is recorded yet.</p>}
      <ul className="plain">
        {revisions.map((revision, i) => {
          const { revision: digest, number, creationTime, states: has = [] } = revision;
          // A revision that waits is compared with the promoted one, others with the one before them.
          const base = gated && has.includes('Current') && promoted && promoted !== revision ? promoted : revisions[i + 1];
          return (
            <li key={digest} aria-label={`Revision ${number}`}>
              <span>
                {number}. <code title={digest}>{brief(digest)}</code> <time dateTime={creationTime}>{day(creationTime)}</time>
              </span>
              {has.map((state) => (
                <span key={state} className="source">
                  {states[state]}
                </span>
              ))}
              {base && (
                <button type="button" className="button small" aria-expanded={shown === digest} onClick={() => setShown(shown === digest ? undefined : digest)}>
                  Changes since {base.number}
                </button>
              )}
              {may && !has.includes('Promoted') && (
                <button type="button" className="button small" onClick={() => setAsked(revision)}>
                  {has.includes('Previous') ? 'Roll back' : 'Promote'}
                </button>
              )}
              {shown === digest && base && <Difference role={role} from={base.revision} to={digest} />}
            </li>
          );
        })}
      </ul>
      {asked && <Promote role={role} revision={asked} from={promoted} onPromoted={onPromoted} onClose={() => setAsked(undefined)} />}
    </>
  );
}

function Difference({ role, from, to }: { role: string; from: string; to: string }) {
  const { namespace } = useSite();
  const [loaded, again] = useLoad(() => diffRevisions(namespace, role, from, to), [namespace, role, from, to]);
  return (
    <div className="revision-diff">
      <WhenLoaded loaded={loaded} again={again} what="the difference" problem="The difference cannot be read">
        {(diff) => reportedHunks(diff).map((hunk, i) => <DiffLines key={i} lines={hunk.lines} label={`Changes from ${brief(from)} to ${brief(to)}`} />)}
      </WhenLoaded>
    </div>
  );
}

/** Promotes a revision, after the person has seen what changes. */
function Promote({ role, revision, from, onPromoted, onClose }: { role: string; revision: Revision; from?: Revision; onPromoted: () => void; onClose: () => void }) {
  const site = useSite();
  const back = revision.states?.includes('Previous') ?? false;
  const promote = async () => {
    onClose();
    try {
      await promoteRole(site.namespace, role, revision.revision);
      site.toast(`The promotion of revision ${revision.number} is requested.`);
    } catch (error) {
      site.toast((error as Error).message, 'error');
    }
    onPromoted();
  };
  return (
    <Dialog title={`${back ? 'Roll back to' : 'Promote'} revision ${revision.number}?`} onClose={onClose} wide>
      <div className="dialog-text">
        <p>New runs of {role} begin with it. Running trees keep the revisions that they began with.</p>
        {from && <Difference role={role} from={from.revision} to={revision.revision} />}
        <p className="muted">
          <code>{`kubectl nestor role ${back ? 'rollback' : 'promote'} ${role} ${brief(revision.revision)} -n ${site.namespace}`}</code>
        </p>
      </div>
      <footer className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Not now
        </button>
        <button type="button" className="button primary" onClick={() => void promote()}>
          {back ? 'Roll back' : 'Promote'}
        </button>
      </footer>
    </Dialog>
  );
}
