import { formatPosition } from '../../modules/eventStream/position.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import { type Html, html } from '../components/html.ts';
import { who } from '../components/principal.ts';
import { documentsPath, recordPath } from '../components/recordPaths.ts';
import { badge, code, time } from '../components/text.ts';
import { titleOf } from '../components/words.ts';
import { worklistPath } from '../components/worklistPaths.ts';
import type { FoundEvent, Missing } from './newestEvents.ts';

/** Maximum characters shown of a payload, so that several of them do not make the page too heavy. */
const MOST_SHOWN = 4_000;

const missingTexts: Record<Missing, string> = {
  erased: 'This event was erased.',
  unreadable: 'This version of the service cannot read this event.',
};

/** Who sees the events, and where. */
export interface Shown {
  workspace: string;
  /** Undefined in the de-identified view, which names nobody. */
  names: PrincipalNames | undefined;
}

/** Returns an event of the list: what, which record, when and who, and its payload, collapsed. */
export function eventLine(found: FoundEvent, shown: Shown): Html {
  const { kind, entry, event } = found;
  const position = formatPosition(entry.position);
  return html`<li id="event-${position}">
<p class="event-head">${
    typeof event === 'string'
      ? html`<strong>${titleOf(kind)}</strong> ${badge(event, 'neutral')}`
      : html`<strong>${event.type}</strong>`
  } ${shown.names ? subject(found, shown.workspace) : hiddenSubject(event)}</p>
<p class="muted">Position ${code(position)}${shown.names ? html` · ${time(entry.recordedAt)} · ${by(found, shown.names)}` : html` · ${entry.recordedAt.slice(0, 4)}`}</p>
${
  typeof event === 'string'
    ? html`<p>${missingTexts[event]}</p>`
    : html`<details><summary>Payload<span class="visually-hidden"> of ${position}</span></summary><pre tabindex="0"><code>${payload(event)}</code></pre></details>`
}
</li>`;
}

/**
 * Returns the link to the record, at the version that the event created; for readiness, to the encounter or to the
 * worklist.
 */
function subject({ kind, entry }: FoundEvent, workspace: string): Html {
  const { id = '', documentId, version } = entry;
  if (kind === 'readiness') {
    if (entry.id === undefined) return html`<a href="${worklistPath(workspace)}">all encounters</a>`;
    return html`<a href="/dashboard${recordPath(workspace, 'encounter', id)}">${id}</a>`;
  }
  const path =
    kind === 'document' ? documentsPath(workspace, id, documentId) : recordPath(workspace, kind, id);
  const query = kind === 'document' ? '' : `?version=${version}`;
  return html`<a href="/dashboard${path}${query}">${documentId ?? id}</a> <span class="muted">version ${version}</span>`;
}

function hiddenSubject(event: FoundEvent['event']): Html {
  if (typeof event === 'string') return html``;
  return html`${code(event.subject)} <span class="muted">version ${event.data.version}</span>`;
}

function by({ entry: { principal } }: FoundEvent, names: PrincipalNames): Html {
  return who({ ...principal, name: names.nameOf(principal) ?? null });
}

function payload(event: object): string {
  const text = JSON.stringify(event, null, 2);
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}…\nThe rest is not shown.`;
}
