import { notFound } from '../../errors.ts';
import { readSources } from '../../ingest/sources/readSources.ts';
import type { Source } from '../../ingest/sources/source.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { Visit } from '../shell/route.ts';

/** Resolves with the source named by the path. Rejects with `not_found`. */
export async function findSource(eventLog: EventLog, { req, workspace }: Visit): Promise<Source> {
  const sources = await readSources(eventLog, workspace);
  const found = sources.find(({ id }) => id === req.params.source);
  if (found === undefined) throw notFound('Source');
  return found;
}
