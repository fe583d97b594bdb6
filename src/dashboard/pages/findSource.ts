import { readSources } from '../../modules/integrations/readSources.ts';
import type { Source } from '../../modules/integrations/source.ts';
import { notFound } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { Visit } from '../components/route.ts';

/** Resolves with the source named by the path. Rejects with `not_found`. */
export async function findSource(eventLog: EventLog, { req, workspace }: Visit): Promise<Source> {
  const sources = await readSources(eventLog, workspace);
  const found = sources.find(({ id }) => id === req.params.source);
  if (found === undefined) throw notFound('Source');
  return found;
}
