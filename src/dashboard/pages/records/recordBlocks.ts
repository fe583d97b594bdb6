import type { CatalogEntry } from '../../../domain/records/catalog.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { type Blocked, MOST_LOOKED_AT, readBlocked } from '../../../modules/readiness/readBlocked.ts';
import { readCounts } from '../../../modules/readiness/readCounts.ts';
import { readProgress } from '../../../modules/readiness/readWorklist.ts';
import type { QueryPorts } from '../../../modules/records/queries/readRecord.ts';
import { asUnreadable, UnreadableError } from '../../../platform/errors.ts';
import { type Html, html } from '../../components/html.ts';
import { unlessBehind } from '../../components/recordQuery.ts';
import type { Visit } from '../../components/route.ts';
import { ruleTitle } from '../../components/ruleTitle.ts';
import { worklistPath } from '../../components/worklistPaths.ts';
import type { RecordPart } from './recordParts.ts';

/** The page does not wait longer for the worklist, which may be far behind. */
const WAIT_MS = 250;

/**
 * Resolves with how many encounters a patient, payer, provider or facility keeps from being billed, by which rules.
 * Nothing of the encounters is shown, so nothing is recorded.
 */
export async function recordBlocks(
  ports: QueryPorts,
  { workspace }: Visit,
  { kind }: CatalogEntry,
  id: string,
): Promise<RecordPart> {
  const read = async () => {
    const { isCurrent } = await readProgress(ports, workspace, WAIT_MS);
    const [blocked, tally] = await Promise.all([
      readBlocked(ports.readModels, workspace, { kind, id }),
      kind === patient.kind ? undefined : readCounts(ports.readModels, workspace, { [kind]: id }),
    ]);
    const path = (limits: Record<string, string>) =>
      worklistPath(workspace, { [`${kind}_id`]: id, ...limits });
    return html`<p>${countText(blocked)}</p>
${ruleList(blocked, tally && ((rule) => path({ rule })))}
${
  tally &&
  html`<p><a href="${path({ state: 'blocked' })}">All blocked encounters that depend on it</a>, for any reason: ${(tally.states.blocked ?? 0).toLocaleString('en-US')}</p>`
}
${!isCurrent && html`<p class="muted">These figures do not include every change yet.</p>`}`;
  };
  const found = await unlessBehind(read()).catch(asUnreadable);
  const isThere = found !== undefined && !(found instanceof UnreadableError);
  const body = isThere ? found : html`<p class="muted">This is not available right now.</p>`;
  return { body: html`<h2>What it blocks</h2>${body}`, accesses: [] };
}

function countText({ count, isWhole }: Blocked): string {
  if (!isWhole) return `Of the first ${MOST_LOOKED_AT} encounters that depend on it, it blocks ${count}.`;
  return count === 0 ? 'Blocks no encounters.' : `Blocks ${encounters(count)}.`;
}

/** Returns the rules with how many encounters do not meet them; `pathOf` is where each leads, if anywhere. */
function ruleList({ rules }: Blocked, pathOf?: (rule: string) => string): Html | undefined {
  const sorted = Object.entries(rules).toSorted(([, a], [, b]) => b - a);
  if (sorted.length === 0) return undefined;
  return html`<ul>${sorted.map(([rule, count]) => {
    const title = pathOf ? html`<a href="${pathOf(rule)}">${ruleTitle(rule)}</a>` : ruleTitle(rule);
    return html`<li>${title}: not met by ${encounters(count)}</li>`;
  })}</ul>`;
}

function encounters(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'encounter' : 'encounters'}`;
}
