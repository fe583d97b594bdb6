import { ServiceError } from '../../errors.ts';
import type { KeyDirectory } from '../../principals/keys/KeyDirectory.ts';
import type { ApiKey } from '../../principals/keys/keyState.ts';
import type { Visit } from '../shell/route.ts';

/** The key of the path; `not_found` for one of another workspace too. */
export function findKey({ known }: KeyDirectory, { req, workspace }: Visit): ApiKey {
  const key = known.keys.get(String(req.params.id));
  if (key?.workspace === workspace) return key;
  throw new ServiceError('not_found', 'There is no such key in the workspace.');
}
