import { validate as isUuid } from 'uuid';
import { refusedRequestView } from '../../api/routes/requestSchemas.ts';
import type { AccessRecorded } from '../../modules/audit/recordAccess.ts';
import { findRefusedRequest, type RefusedRequest } from '../../modules/audit/requestLog.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { type Html, html } from '../components/html.ts';
import { requestPath } from '../components/requestPaths.ts';
import { time } from '../components/text.ts';
import type { RememberedSearch } from './rememberedSearches.ts';
import { reason } from './requestColumns.ts';

/**
 * Resolves with the refused request whose full id was entered in the general search, and the access to be recorded
 * before it is shown. Rejects with `unavailable`.
 */
export async function refusedRequestOf(
  ports: QueryPorts,
  workspace: string,
  { text, kind }: Pick<RememberedSearch, 'text' | 'kind'>,
): Promise<{ entry: RefusedRequest; access: AccessRecorded } | undefined> {
  if (kind !== undefined || !isUuid(text)) return undefined;
  const entry = await findRefusedRequest(ports, workspace, text.toLowerCase());
  return entry && { entry, access: { action: 'audit.read', query: { request_id: text.toLowerCase() } } };
}

/** Returns the line of results that leads to it. */
export function requestResult(workspace: string, entry: RefusedRequest): Html {
  const { id, method, route } = refusedRequestView(entry);
  return html`<p>Refused request <a href="/dashboard${requestPath(workspace, id)}">${method} ${route}</a>: ${reason(entry)}, ${time(entry.recordedAt)}</p>`;
}
