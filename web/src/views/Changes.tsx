// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo } from 'react';
import { archiveOf, Refusal, workspaceChanges } from '../api/client';
import type { ChangedFile, WorkspaceChanges } from '../api/history';
import { countsOf, parseUnified, type FileDiff } from '../model/diff';
import { explainServer } from '../model/errors';
import { clockSeconds, plural, visible, whole } from '../model/format';
import { DiffLines } from '../parts/DiffView';
import { Empty, Loading } from '../parts/Empty';
import { ErrorText } from '../parts/ErrorText';
import { Icon } from '../parts/Icon';
import { useSite } from '../state/context';
import { usePolled } from '../state/hooks';

/** How many files are open at first, and up to how many lines. */
const openFiles = 8;
const openLines = 300;

/** What was changed in the workspace of a chat or of a standalone task. */
export function Changes({ of }: { of: string }) {
  const { namespace } = useSite();
  const [loaded, again] = usePolled(() => workspaceChanges(namespace, of), [namespace, of], 15_000);
  if (loaded.state === 'loading') return <div className="changes"><Loading what="the changes" lines={6} /></div>;
  if (loaded.state === 'failed') return <div className="changes"><Trouble error={loaded.error} again={again} /></div>;
  return (
    <div className="changes" tabIndex={0} role="region" aria-label="Changes">
      <div className="changes-inner">
        <Head changes={loaded.value} of={of} again={again} />
        <Files changes={loaded.value} />
      </div>
    </div>
  );
}

function Trouble({ error, again }: { error: Error; again: () => void }) {
  const missing = error instanceof Refusal && error.notFound;
  return (
    <Empty
      icon={missing ? 'copy' : 'alert'}
      title={missing ? 'No changes to show' : 'The changes cannot be read'}
      alert={!missing}
      actions={
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
      }
    >
      <ErrorText error={explainServer(error.message)} />
    </Empty>
  );
}

const sources: Record<WorkspaceChanges['source'], string> = { Git: 'a git repository', EmptyDir: 'an empty directory', Directory: 'a directory of this machine', Claim: 'a volume' };

function Head({ changes, of, again }: { changes: WorkspaceChanges; of: string; again: () => void }) {
  const { namespace } = useSite();
  const { files, source, baseCommit, digest, captureTime, live, message, tooLarge, diffTruncated } = changes;
  const added = files.reduce((sum, file) => sum + (file.additions ?? 0), 0);
  const removed = files.reduce((sum, file) => sum + (file.deletions ?? 0), 0);
  const archived = source === 'EmptyDir' || baseCommit !== undefined;
  return (
    <header className="changes-head">
      <h2>
        {files.length === 0 ? 'No files were changed' : `${plural(files.length, 'file')} changed`}
        {added + removed > 0 && <Counts added={added} removed={removed} />}
      </h2>
      <p className="facts">
        <span>The workspace is {sources[source] ?? source}.</span>
        {baseCommit && (
          <span>
            Compared with <code>{baseCommit.slice(0, 12)}</code>.
          </span>
        )}
        {captureTime && <span>{live ? `Read from the running workspace at ${clockSeconds(captureTime)}.` : `Kept since ${new Date(captureTime).toLocaleString('en-GB')}; the workspace does not run now.`}</span>}
      </p>
      {digest && (
        <p className="facts">
          <span>
            Compare with the approval: <code className="digest">sha256 {digest}</code>
          </span>
        </p>
      )}
      <div className="changes-actions">
        <button type="button" className="button small" onClick={again}>
          <Icon name="restart" size={14} /> Read again
        </button>
        {archived && files.length > 0 && !tooLarge && (
          <a className="button small" href={archiveOf(namespace, of)} download={`${of}.${source === 'EmptyDir' ? 'tar' : 'patch'}`}>
            <Icon name="down" size={14} /> Download the {source === 'EmptyDir' ? 'files' : 'patch'}
          </a>
        )}
      </div>
      {tooLarge && <Note text={message || 'The changes are too large to be kept: they are lost when the workspace stops.'} />}
      {!tooLarge && message && <Note text={message} />}
      {shared[source] && files.length > 0 && <Note text={shared[source]} />}
      {diffTruncated && <Note text="The diff is longer than 1 MiB and cut off. The list of files is complete." />}
    </header>
  );
}

/** Workspaces that others can write to, too: what is listed may be theirs. */
const shared: Partial<Record<WorkspaceChanges['source'], string>> = {
  Directory: 'The directory is not a copy: files that other chats or programs changed in it are listed, too.',
  Claim: 'Others can use this volume: files that they changed are listed, too.',
};

const Note = ({ text }: { text: string }) => (
  <p className="note waiting">
    <Icon name="alert" size={14} /> <span>{text}</span>
  </p>
);

function Files({ changes }: { changes: WorkspaceChanges }) {
  const diffs = useMemo(() => new Map(parseUnified(changes.diff ?? '').map((file) => [file.path, file])), [changes.diff]);
  return (
    <ul className="changed-files">
      {changes.files.map((file, i) => (
        <li key={file.path}>
          <File file={file} diff={diffs.get(file.path)} first={i < openFiles} />
        </li>
      ))}
    </ul>
  );
}

const words: Record<ChangedFile['change'], string> = { Added: 'added', Modified: 'changed', Deleted: 'deleted', Renamed: 'renamed' };

function File({ file, diff, first }: { file: ChangedFile; diff?: FileDiff; first: boolean }) {
  const lines = diff?.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0) ?? 0;
  const counted = diff && countsOf(diff.hunks.flatMap((hunk) => hunk.lines));
  return (
    <details className={`changed-file ${file.change.toLowerCase()}`} open={first && lines > 0 && lines <= openLines}>
      <summary>
        <Icon name="chevron" size={12} />
        <span className={`change-kind ${file.change.toLowerCase()}`}>{words[file.change] ?? file.change}</span>
        <code className="changed-path">
          {file.from && <>{visible(file.from)} → </>}
          {visible(file.path)}
        </code>
        <Counts added={file.additions ?? counted?.added ?? 0} removed={file.deletions ?? counted?.removed ?? 0} />
      </summary>
      {diff?.hunks.map((hunk, i) => (
        <div key={i} className="hunk">
          {/^@@[^@]*@@ ./.test(hunk.head) && <p className="hunk-head">{visible(hunk.head)}</p>}
          <DiffLines lines={hunk.lines} label={`Changes of ${visible(file.path)}`} numbered />
        </div>
      ))}
      {lines === 0 && <p className="muted">{file.binary || diff?.binary ? 'This file is not text.' : file.change === 'Renamed' ? 'The content did not change.' : 'The content is empty, or is not part of the diff.'}</p>}
    </details>
  );
}

const Counts = ({ added, removed }: { added: number; removed: number }) => (
  <span className="counts" aria-label={`${whole(added)} lines added, ${whole(removed)} removed`} role="img">
    <span className="count-added">+{whole(added)}</span> <span className="count-removed">−{whole(removed)}</span>
  </span>
);
